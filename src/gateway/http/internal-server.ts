import { createServer, type Server, type ServerResponse } from "node:http";

import type { Exposition } from "../../kernel/index.ts";
import { drainingResponse } from "./connections.ts";
import type { Readiness } from "./readiness.ts";

/**
 * Serves `/metrics`, `/livez` (also `/healthz`) and `/readyz`, which shows each check if the query
 * is `?verbose`. Has no authentication, so it listens on loopback unless configured otherwise.
 */
export function createInternalServer(options: {
  readonly metrics: Pick<Exposition, "scrape">;
  readonly readiness: Pick<Readiness, "isReady" | "isDraining" | "report">;
}): Server {
  const { metrics, readiness } = options;
  const ServerResponse = drainingResponse(() => readiness.isDraining);
  return createServer({ ServerResponse }, (request, response) => {
    const [path, query] = (request.url ?? "").split("?", 2);
    if (path === "/livez" || path === "/healthz") {
      return send(response, { status: 200, body: "ok\n" });
    }
    if (path === "/readyz") {
      const status = readiness.isReady ? 200 : 503;
      if (!new URLSearchParams(query).has("verbose")) {
        return send(response, { status, body: readiness.isReady ? "ok\n" : "not ready\n" });
      }
      const body = `${JSON.stringify(readiness.report())}\n`;
      return send(response, { status, body, contentType: "application/json" });
    }
    if (path !== "/metrics") return send(response, { status: 404, body: "not found\n" });
    metrics.scrape(request.headers.accept).then(
      (scrape) => send(response, { status: 200, ...scrape }),
      () => send(response, { status: 500, body: "the metrics are not available\n" }),
    );
  });
}

function send(
  response: ServerResponse,
  answer: {
    readonly status: number;
    readonly body: string | Buffer;
    readonly contentType?: string;
  },
): void {
  response.statusCode = answer.status;
  response.setHeader("content-type", answer.contentType ?? "text/plain");
  response.end(answer.body);
}
