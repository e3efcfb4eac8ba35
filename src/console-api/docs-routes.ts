import { readFile } from "node:fs/promises";

import type { FastifyInstance } from "fastify";

import { sendAnswer } from "./answer-request.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { PublicDocument } from "./public-document.ts";

const KEPT_SECONDS = 60;

/** What is written for programmers and their tools: the gateway's OpenAPI document. */
export function docsRoutes(app: FastifyInstance, deps: ConsoleDeps): void {
  // Made on first use: the address is known once the listener is open.
  let document: Promise<PublicDocument> | undefined;
  app.get("/api/openapi-v1.json", async (request, reply) => {
    document ??= gatewayDocument(deps);
    return sendAnswer(request, reply, await document);
  });
}

/** As it is published with the program, at the address of this installation. */
async function gatewayDocument(deps: ConsoleDeps): Promise<PublicDocument> {
  const published = JSON.parse(await readFile(deps.openApiFile, "utf8")) as object;
  const servers = [{ url: deps.gatewayUrl() }];
  return PublicDocument.of({ ...published, servers }, KEPT_SECONDS);
}
