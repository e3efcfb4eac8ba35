import { afterAll, beforeAll, expect, test } from "vitest";

import { NO_ABUSE_MONITOR } from "../src/gateway/abuse/unusual-use.ts";
import { openServing } from "../src/app/open-serving.ts";
import { CatalogHolder, compileCatalog } from "../src/catalog/compile-catalog.ts";
import { parseManifestFiles } from "../src/catalog/catalog-input.ts";
import { loadConfig } from "../src/kernel/config/load-config.ts";
import { microUsd } from "../src/kernel/core/money.ts";
import { systemClock } from "../src/kernel/core/time.ts";
import { gatewayRoutes, type StoredDeps } from "../src/gateway/http/gateway-routes.ts";
import { anthropicMessages } from "../src/formats/wire/anthropic-messages/index.ts";
import { openaiChat } from "../src/formats/wire/openai-chat/index.ts";
import { WireTable } from "../src/formats/wire/wires.ts";
import { simulatorManifest, textModel } from "./support/gateway.ts";
import { httpCall, type HttpAnswer } from "./support/http-call.ts";
import { Listeners } from "./support/http-listener.ts";
import { withServer } from "./support/local-server.ts";
import { modelServer, type PlayedRequest } from "./support/model-servers.ts";
import { plainWire } from "./support/plain-wire.ts";
import { openRecipe } from "./support/recipe.ts";
import { TRUSTED_LISTINGS } from "./support/plain-ports.ts";

/*
 * A chat wire is one value and one entry of a table. Here a program whose table has a third wire
 * serves that wire's clients and calls its providers, over real sockets.
 */
const table = new WireTable(openaiChat, anthropicMessages, plainWire);

/** The answers of a provider by the path of its wire: "hi", for 3 prompt and 2 output tokens. */
const PROVIDERS: Readonly<Record<string, { readonly json: string; readonly stream: string }>> = {
  "/v1/chat/completions": {
    json:
      '{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],' +
      '"usage":{"prompt_tokens":3,"completion_tokens":2}}',
    stream:
      'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}],' +
      '"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
  },
  "/v1/plain": {
    json: '{"text":"hi","tokens":[3,2]}',
    stream: 'data: {"text":"hi"}\n\ndata: {"tokens":[3,2]}\n\n',
  },
};

const requests: PlayedRequest[] = [];
const provider = withServer(() =>
  modelServer(({ path, body: { stream } }) => {
    const type = stream === true ? "text/event-stream" : "application/json";
    const body = PROVIDERS[path]?.[stream === true ? "stream" : "json"];
    return { headers: { "content-type": type }, body };
  }, requests),
);
let url = "";
const listeners = new Listeners();

beforeAll(async () => {
  url = await openGateway(`${provider.url}/v1`);
});
afterAll(() => listeners.close());

async function openGateway(baseUrl: string): Promise<string> {
  const loaded = loadConfig({ flags: { allowPrivateUpstreams: true }, env: {} });
  if (loaded.kind === "invalid") throw new Error(loaded.problems.join("\n"));
  const { config } = loaded;
  const { ledger, limits } = openRecipe(systemClock, []).deps;
  const closed = { kind: "closed", debitMicroUsd: microUsd(DEBIT), overrun: false } as const;
  const { serve } = openServing(
    { config, env: { TEST_PROVIDER_KEY: "sk-1" }, clock: systemClock, wires: table },
    {
      usage: NO_ABUSE_MONITOR,
      standing: TRUSTED_LISTINGS,
      catalog: new CatalogHolder(catalogOf(baseUrl)),
      ledger: { ...ledger, close: () => Promise.resolve(closed) },
      limits: { store: limits, sharedHealth: undefined },
    },
  );
  const routes = gatewayRoutes(serve, { videos: {} } as StoredDeps, table);
  return (await listeners.listen([], { routes })).url;
}

/** Returns a catalog: a provider on wire_a for `test/chat`, one on `plainWire` for `test/plain`. */
function catalogOf(baseUrl: string): CatalogHolder["current"] {
  const listed = { chat: "wire_a", plain: plainWire.id } as const;
  const manifests = Object.entries(listed).flatMap(([id, dialect]) => {
    const models = [textModel(`test/${id}`)];
    const text = JSON.stringify(
      simulatorManifest({ provider: id, dialect: "wire_a", baseUrl, models }),
    );
    const parsed = parseManifestFiles([{ file: id, text }]);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
    // The schema does not know the third wire, so it is set after the manifest is parsed.
    return parsed.manifests.map(({ file, manifest, sha256 }) => ({
      file,
      sha256,
      manifest: { ...manifest, endpoint: { ...manifest.endpoint, dialect } },
    }));
  });
  const compiled = compileCatalog({ manifests, hasKey: () => true, today: "2026-01-01" });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.issues));
  return compiled.catalog;
}

/** 3 input tokens at one dollar per million, and 2 output tokens at ten dollars per million. */
const DEBIT = 23n;
const COST = 0.000023;
const plainBody = { model: "test/chat", text: "hello", max_tokens: 5 };
const chatBody = { messages: [{ role: "user", content: "hello" }], max_tokens: 5 };

async function post(path: string, body: object): Promise<HttpAnswer> {
  return await httpCall(url + path, { body });
}

test("a client of a third wire is answered, whole and streamed, by a provider of wire_a", async () => {
  const { status, json } = await post("/v1/plain", plainBody);
  expect({ status, json }).toEqual({
    status: 200,
    json: { text: "hi", model: "test/chat", tokens: [3, 2], cost: COST },
  });
  expect(requests.at(-1)).toMatchObject({
    path: "/v1/chat/completions",
    headers: { authorization: "Bearer sk-1" },
    body: { messages: [{ role: "user", content: "hello" }], max_tokens: 5 },
  });
  const { text, headers } = await post("/v1/plain", { ...plainBody, stream: true });
  expect(headers["content-type"]).toContain("text/event-stream");
  expect(text).toBe(`data: {"text":"hi"}\n\ndata: {"tokens":[3,2],"cost":${COST.toFixed(6)}}\n\n`);
  const { body } = requests.at(-1) ?? {};
  expect(body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
});

test.each([false, true])(
  "a client of a third wire is served by a provider of the same wire, stream: %s",
  async (stream) => {
    const { status, text } = await post("/v1/plain", { ...plainBody, model: "test/plain", stream });
    expect(status).toBe(200);
    expect(text).toContain('"text":"hi"');
    expect(text).toContain('"tokens":[3,2]');
    expect(requests.at(-1)).toMatchObject({
      path: "/v1/plain",
      headers: { "x-plain-key": "sk-1", "x-plain-version": "1" },
      body: { text: "hello" },
    });
  },
);

test("a client of a third wire is refused in that wire's shape, and the dry run lists the wire", async () => {
  const refused = await post("/v1/plain", { ...plainBody, model: "test/none" });
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(refused.json).toEqual({
    problem: "model_unavailable",
    message: expect.any(String) as unknown,
  });
  const { json } = await post("/v1/route?for=none", plainBody);
  expect(JSON.stringify(json)).toContain("chat, messages, plain, images, videos or decisions");
});

test("a provider of a third wire answers a client of wire_a and streams to a client of wire_b", async () => {
  const asChat = await post("/v1/chat/completions", { ...chatBody, model: "test/plain" });
  expect(asChat.status).toBe(200);
  expect(asChat.json).toMatchObject({
    choices: [{ message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 2, cost: COST },
  });
  expect(requests.at(-1)).toMatchObject({
    path: "/v1/plain",
    body: { text: "hello", max_tokens: 5 },
  });
  const { text } = await post("/v1/messages", { ...chatBody, model: "test/plain", stream: true });
  expect(text).toContain('"delta":{"type":"text_delta","text":"hi"}');
  expect(text).toContain('"output_tokens":2');
  expect(text).toContain("event: message_stop");
});
