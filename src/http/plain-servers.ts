import { createServer, type Server, type ServerResponse } from "node:http";

import type { Registry } from "prom-client";

import type { Catalog } from "../catalog/catalog.ts";

/** The internal listener, on loopback: `/metrics`, `/healthz`, `/readyz`. */
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

/** The console's address. Today it serves one public document: the list of model ids. */
export function createConsoleServer(catalog: { readonly current: Catalog }): Server {
  return createServer((request, response) => {
    const path = request.url?.split("?", 1)[0];
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead || path !== "/api/models.json") {
      return send(response, { status: 404, body: "not found\n" });
    }
    const etag = `"${catalog.current.buildId}"`;
    response.setHeader("etag", etag);
    response.setHeader("cache-control", "public, max-age=60");
    if (isKept(request.headers["if-none-match"], etag)) {
      return send(response, { status: 304, body: "" });
    }
    const models = catalog.current.models.map((model) => model.id);
    const body = JSON.stringify({ models });
    return send(response, { status: 200, body, contentType: "application/json" });
  });
}

/** Is `etag` among the tags a client has kept? A weak tag is as good as a strong one here. */
function isKept(header: string | undefined, etag: string): boolean {
  const tags = header?.split(",").map((tag) => tag.trim().replace(/^W\//, "")) ?? [];
  return tags.includes(etag) || tags.includes("*");
}

function send(
  response: ServerResponse,
  answer: { readonly status: number; readonly body: string; readonly contentType?: string },
): void {
  response.statusCode = answer.status;
  response.setHeader("content-type", answer.contentType ?? "text/plain");
  response.end(answer.body);
}
