import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { assert, asyncProperty, constantFrom, jsonValue, nat } from "fast-check";
import { describe, expect, test } from "vitest";

import { ended } from "../support/books.ts";
import { runs } from "../support/depth.ts";
import { DEV_MANIFESTS } from "../support/dev-models.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { codeFor, firstScreen, guideSnippets, ROOT, type GuideSnippet } from "../support/guides.ts";
import { bearer, httpCall, textAt, type HttpAnswer, type HttpCall } from "../support/http-call.ts";
import { PublishedApi } from "../support/openapi.ts";
import { newFolder } from "../support/run-folder.ts";

const gateway = withGateway({
  manifests: DEV_MANIFESTS,
  settings: {
    orgRequestsPerMinute: 100_000,
    keyRequestsPerMinute: 100_000,
    concurrentRequests: 100,
  },
});
const account = withAccount(gateway, "100.00", { requestsPerMinute: 100_000 });
/** An account that no other test limits, spends the credit of, or has refused too often. */
const reader = withAccount(gateway, "100.00", { requestsPerMinute: 100_000 });
const api = new PublishedApi();

/** Calls a route by its name in the document; `path` has the id or the query that it needs. */
async function call(name: string, path: string, sent: HttpCall = {}): Promise<HttpAnswer> {
  const [method = ""] = name.split(" ");
  const headers = { ...bearer(account.key), ...sent.headers };
  const answer = await httpCall(gateway.url + path, { ...sent, method, headers });
  const problems = api.problemsOf(name, answer);
  expect({ name, sent: sent.body, problems }).toMatchObject({ problems: [] });
  return answer;
}
const say = { messages: [{ role: "user", content: "Say hello" }] };
const BODIES: Readonly<Record<string, object>> = {
  "POST /v1/chat/completions": { model: "sim/both", max_tokens: 16, ...say },
  "POST /v1/messages": { model: "sim/both", max_tokens: 16, ...say },
  "POST /v1/messages/count_tokens": { model: "sim/both", ...say },
  "POST /v1/images/generations": { model: "sim/image", prompt: "a red bicycle", quality: "low" },
  "POST /images/generations": { model: "sim/image", prompt: "a red bicycle", quality: "low" },
  "POST /v1/videos": { model: "sim/video", prompt: "waves", seconds: 4 },
  "POST /v1/decisions": {
    model: "sim/decide",
    state: "The shop is down.",
    questions: { urgent: { schema: { type: "boolean" }, instructions: "Is it urgent?" } },
  },
  "POST /v1/route": { model: "sim/both", max_tokens: 16, ...say },
  "POST /api/admission-limits": { scope: "key", rpm: 50_000 },
};

function pathOf(name: string): string {
  const [, path = ""] = name.split(" ");
  return path === "/v1/route" ? "/v1/route?for=chat" : path;
}

describe("every answer of the gateway is one that its OpenAPI document allows", () => {
  test("when a request is served", async () => {
    const served = new Map<string, HttpAnswer>();
    for (const [name, body] of Object.entries(BODIES)) {
      const answer = await call(name, pathOf(name), { body });
      expect({ name, status: answer.status, text: answer.text.slice(0, 300) }).toMatchObject({
        status: 200,
      });
      served.set(name, answer);
    }
    const requestId = String(served.get("POST /v1/messages")?.headers["x-request-id"]);
    await ended(gateway, account, requestId);
    const video = textAt(served.get("POST /v1/videos")?.json, "id");
    const streamed = { ...BODIES["POST /v1/chat/completions"], stream: true };
    const reads: readonly (readonly [string, string, HttpCall?])[] = [
      ["POST /v1/chat/completions", "/v1/chat/completions", { body: streamed }],
      ["GET /v1/videos/{id}", `/v1/videos/${video}`],
      ["GET /v1/models", "/v1/models"],
      ["GET /v1/models", "/v1/models", { headers: { "anthropic-version": "2023-06-01" } }],
      ["GET /v1/models/{id}", "/v1/models/sim/both"],
      ["GET /v1/usage", "/v1/usage"],
      ["GET /v1/usage", "/v1/usage?group_by=model"],
      ["GET /v1/usage", "/v1/usage?format=csv"],
      ["GET /v1/limits", "/v1/limits?model=sim/both"],
      ["GET /v1/generation", `/v1/generation?id=${requestId}`],
    ];
    for (const [name, path, sent] of reads) expect((await call(name, path, sent)).status).toBe(200);
  });

  test("when a request is refused: no key, no such record, an invalid body", async () => {
    for (const name of Object.keys(BODIES)) {
      const bodies = [{ body: "{" }, { body: [] }, { body: {} }, { body: "x".repeat(11_000_000) }];
      const answers = await Promise.all(bodies.map((sent) => call(name, pathOf(name), sent)));
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 413]);
      const nobody = { body: {}, headers: { authorization: "Bearer nobody" } };
      expect((await call(name, pathOf(name), nobody)).status).toBe(401);
    }
    for (const [name, path] of [
      ["GET /v1/videos/{id}", "/v1/videos/video_0"],
      ["GET /v1/videos/{id}/content", "/v1/videos/video_0/content"],
      ["GET /v1/models/{id}", "/v1/models/no/such"],
      ["GET /v1/generation", "/v1/generation?id=none"],
      ["GET /v1/limits", "/v1/limits?model=none"],
    ] as const) {
      expect((await call(name, path)).status).toBe(404);
    }
    for (const query of ["limit=0", "group_by=moon", "from=never", "format=xml", "cursor=1"]) {
      expect((await call("GET /v1/usage", `/v1/usage?${query}`)).status).toBe(400);
    }
  });

  test("when a field has any JSON value", async () => {
    const names = constantFrom(...Object.keys(BODIES));
    await assert(
      asyncProperty(names, nat(), jsonValue({ maxDepth: 2 }), async (name, at, value) => {
        const body = BODIES[name] ?? {};
        const fields = [...Object.keys(body), "provider", "stream", "temperature", "tools", "n"];
        const field = fields[at % fields.length] ?? "model";
        const answer = await call(name, pathOf(name), { body: { ...body, [field]: value } });
        expect(answer.status).not.toBe(500);
      }),
      { numRuns: runs(150) },
    );
  });
});

describe("the OpenAPI document describes the body of a call as the gateway reads it", () => {
  test.each([
    ["POST /v1/chat/completions", "ChatRequest"],
    ["POST /v1/messages", "MessagesRequest"],
  ])("%s requires the same fields, and takes the same temperatures", async (name, schema) => {
    const { required = [], properties = {} } = api.document.components.schemas[schema] ?? {};
    const body = BODIES[name] ?? {};
    const headers = bearer(reader.key);
    const statusWith = async (fields: object): Promise<number> =>
      (await call(name, pathOf(name), { headers, body: { ...body, ...fields } })).status;
    for (const field of Object.keys(body)) {
      const status = await statusWith({ [field]: undefined });
      expect({ field, status }).toEqual({ field, status: required.includes(field) ? 400 : 200 });
    }
    const most = properties["temperature"]?.maximum ?? 0;
    expect(await statusWith({ temperature: most })).toBe(200);
    expect(await statusWith({ temperature: most + 0.1 })).toBe(400);
  });

  test("with every control of the object `provider`", async () => {
    const name = "POST /v1/chat/completions";
    const body = { ...BODIES[name], provider: { nothing: 1 } };
    const refused = await call(name, pathOf(name), { headers: bearer(reader.key), body });
    const [, known = ""] = /; use (.*)$/.exec(textAt(refused.json, "error.message")) ?? [];
    const { properties = {} } = api.document.components.schemas["RoutingControls"] ?? {};
    expect(known.split(/, | or /).toSorted()).toEqual(Object.keys(properties).toSorted());
  });
});

const run = promisify(execFile);
const all = guideSnippets();

describe("the code of the guides and of the README's first screen", () => {
  test("is in curl, Python and TypeScript, and in no other language", () => {
    expect(new Set(all.map(({ language }) => language))).toEqual(new Set(["sh", "python", "ts"]));
    expect(all.length).toBeGreaterThan(40);
    expect(firstScreen().map(({ language }) => language)).toEqual(["sh", "python", "ts"]);
  });

  test("runs in a shell as it is copied, with a key in the environment", async () => {
    const shells = all.filter(({ language }) => language === "sh");
    // The snippets run one after another, because all at once can exceed a pool's limit.
    for (const snippet of shells) {
      const output = await inShell(snippet);
      const isError = /"error":\s*\{/.test(output);
      const isAnswer = /^(\{|data: |HTTP)/.test(output);
      expect({ name: snippet.name, isError, isAnswer, output }).toMatchObject({
        isError: snippet.code.includes("no/such-model"),
        isAnswer: snippet.code.includes("curl"),
      });
    }
  });

  test("runs in Node as it is copied, with the official libraries", async () => {
    const folder = newFolder("guides");
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    const scripts = all.filter(({ language }) => language === "ts");
    for (const [index, snippet] of scripts.entries()) {
      writeFileSync(join(folder, `${index}.ts`), codeFor(snippet, gateway.url));
    }
    writeFileSync(join(folder, "all.ts"), ALL);
    const count = String(scripts.length);
    const { stdout } = await run(process.execPath, ["--import", "tsx", "all.ts", count], {
      cwd: folder,
      env: { ...process.env, TOKEN_MARKET_KEY: reader.key },
    });
    const failed = (JSON.parse(stdout.split("\n").at(-2) ?? "[]") as [number, string][]).map(
      ([index, reason]) => `${scripts[index]?.name}: ${reason}`,
    );
    expect(failed).toEqual([]);
    expect(stdout.split("\n").length).toBeGreaterThan(scripts.length);
  });
});

/** Runs every script of its folder in one process, because starting a process takes a second. */
const ALL = `
const failed: [number, string][] = [];
await Promise.all(
  Array.from({ length: Number(process.argv[2]) }, async (_, index) => {
    try {
      await import(\`./\${index}.ts\`);
    } catch (error) {
      failed.push([index, String(error)]);
    }
  }),
);
console.log(JSON.stringify(failed));
`;

async function inShell(snippet: GuideSnippet): Promise<string> {
  const { stdout } = await run("bash", ["-euc", codeFor(snippet, gateway.url)], {
    env: { ...process.env, TOKEN_MARKET_KEY: reader.key },
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}
