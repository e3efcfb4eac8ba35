import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import type { FastifyInstance, FastifyReply } from "fastify";

import { sendAnswer } from "./answer-request.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { PublicDocument } from "./public-document.ts";

const KEPT_SECONDS = 60;
/** The gateway's address in the text of the guides; it is replaced by that of this installation. */
const WRITTEN_FOR = "http://127.0.0.1:8080";

export function docsRoutes(app: FastifyInstance, deps: ConsoleDeps): void {
  serveDocument(app, "/api/openapi-v1.json", () => readDocument(deps, "v1", deps.gatewayUrl()));
  serveDocument(app, "/api/openapi.json", () => readDocument(deps, "console", deps.consoleUrl()));
  app.get("/docs/:file", async (request, reply) => {
    const { file } = request.params as { readonly file: string };
    const [, name] = /^([a-z-]+)\.md$/.exec(file) ?? [];
    const text = name === undefined ? undefined : await guideText(deps, name);
    return text === undefined ? reply.callNotFound() : sendText(reply, "text/markdown", text);
  });
  app.get("/llms.txt", async (_request, reply) =>
    sendText(reply, "text/plain", await listForModels(deps)),
  );
  app.get("/llms-full.txt", async (_request, reply) =>
    sendText(reply, "text/plain", await allGuides(deps)),
  );
}

/**
 * Reads the document at the first request, because its server's address is known once that listens.
 * After a failure, the next request reads it again.
 */
function serveDocument(
  app: FastifyInstance,
  path: string,
  read: () => Promise<PublicDocument>,
): void {
  let document: Promise<PublicDocument> | undefined;
  app.get(path, async (request, reply) => {
    document ??= read().catch((fault: unknown) => {
      document = undefined;
      throw fault;
    });
    return sendAnswer(request, reply, await document);
  });
}

async function allGuides(deps: ConsoleDeps): Promise<string> {
  const guides = await readGuides(deps);
  const root = deps.consoleUrl();
  return guides.map(({ name, text }) => `Source: ${root}/docs/${name}.md\n${text}`).join("\n\n");
}

async function readDocument(
  { schemaDir }: ConsoleDeps,
  name: "v1" | "console",
  url: string,
): Promise<PublicDocument> {
  const file = join(schemaDir, `openapi-${name}.json`);
  const published = JSON.parse(await readFile(file, "utf8")) as object;
  const servers = [{ url }];
  return PublicDocument.of({ ...published, servers }, KEPT_SECONDS);
}

async function guideText(deps: ConsoleDeps, name: string): Promise<string | undefined> {
  const file = join(deps.staticDir, "guides", `${name}.md`);
  const text = await readFile(file, "utf8").catch(() => undefined);
  return text?.replaceAll(WRITTEN_FOR, deps.gatewayUrl());
}

async function readGuides(deps: ConsoleDeps) {
  const files = await readdir(join(deps.staticDir, "guides")).catch(() => []);
  const names = files.toSorted((a, b) => (a < b ? -1 : 1)).map((file) => file.replace(/\.md$/, ""));
  return await Promise.all(
    names.map(async (name) => ({ name, text: (await guideText(deps, name)) ?? "" })),
  );
}

/** Lists the guides by title in the format of llmstxt.org, for language models. */
async function listForModels(deps: ConsoleDeps): Promise<string> {
  const root = deps.consoleUrl();
  const lines = (await readGuides(deps)).map(({ name, text }) => {
    const [, title = name] = /^# (.*)/.exec(text) ?? [];
    return `- [${title}](${root}/docs/${name}.md)`;
  });
  return `# Token Market

> One virtual key and one prepaid balance for many AI models, at ${deps.gatewayUrl()}.
> Chat in the formats of chat completions and messages, images, videos and decisions.

## Guides

${lines.join("\n")}

## Reference

- [OpenAPI 3.1 of the gateway](${root}/api/openapi-v1.json)
- [Models with prices](${root}/api/catalog.json)
`;
}

function sendText(reply: FastifyReply, type: string, text: string): FastifyReply {
  return reply
    .header("cache-control", `public, max-age=${KEPT_SECONDS}`)
    .type(`${type}; charset=utf-8`)
    .send(text);
}
