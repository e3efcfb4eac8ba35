import { createServer, type Server, type ServerResponse } from "node:http";

import type { Registry } from "prom-client";

/** The internal listener, on loopback unless a setting says otherwise: `/metrics`, `/healthz`, `/readyz`. */
export function createInternalServer(options: {
  readonly registry: Registry;
  readonly ready: () => boolean;
}): Server {
  return createServer((request, response) => {
    const path = request.url?.split("?", 1)[0];
    if (path === "/healthz") return send(response, { status: 200, body: "ok\n" });
    if (path === "/readyz") {
      const up = options.ready();
      return send(response, { status: up ? 200 : 503, body: up ? "ok\n" : "not ready\n" });
    }
    if (path !== "/metrics") return send(response, { status: 404, body: "not found\n" });
    options.registry.metrics().then(
      (body) => send(response, { status: 200, body, contentType: options.registry.contentType }),
      () => send(response, { status: 500, body: "the metrics could not be read\n" }),
    );
  });
}

function send(
  response: ServerResponse,
  answer: { readonly status: number; readonly body: string; readonly contentType?: string },
): void {
  response.statusCode = answer.status;
  response.setHeader("content-type", answer.contentType ?? "text/plain");
  response.end(answer.body);
}
