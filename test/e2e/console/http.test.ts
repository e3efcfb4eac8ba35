import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { describe, expect, onTestFinished, test } from "vitest";

import { ROUTES } from "../../../src/account/console-api/contract.ts";
import type { RouteContract } from "../../../src/account/console-api/contract/shared.ts";
import { BODY_BYTES_MAX, WRITE_IDLE_TIMEOUT_MS } from "../../../src/kernel/core/constants.ts";
import { addKey } from "../../support/add-key.ts";
import { until } from "../../support/books.ts";
import { quickOrDeep } from "../../support/depth.ts";
import { simulatorManifest, STANDARD_MANIFESTS, textModel } from "../../support/gateway.ts";
import { at, httpCall, listAt, textAt, type HttpCall } from "../../support/http-call.ts";
import { REQUEST_ID } from "../../support/refusals.ts";
import { withProviderConsole, withPerson } from "./provider-fixture.ts";

const HIDDEN = simulatorManifest({
  provider: "hidden",
  dialect: "wire_a",
  isPrivate: true,
  models: [textModel("secret/private")],
});
const STAGED = simulatorManifest({
  provider: "staging",
  dialect: "wire_a",
  models: [textModel("secret/staged", { is_ready: false })],
});
const DATED = simulatorManifest({
  provider: "prov-dated",
  dialect: "wire_b",
  models: [
    textModel("dated/old", { released: "2025-01-01" }),
    textModel("dated/new", { released: "2026-05-01", display_name: "Zulu" }),
    textModel("dated/same", { released: "2026-05-01", display_name: "Alpha" }),
  ],
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const fixture = withProviderConsole({
  settings: { arrivingBytesMax: BODY_BYTES_MAX },
  manifests: [...STANDARD_MANIFESTS, HIDDEN, STAGED, DATED],
});
const ann = withPerson(fixture, "ann");

function call(path: string, more: HttpCall = {}): ReturnType<typeof httpCall> {
  return httpCall(fixture.url + path, more);
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

describe("paths that the console does not own", () => {
  const paths = ["/login", "/v1/chat/completions", "/api/console/nothing", "/auth/nothing"];
  test.each(paths)("%s is a JSON 404 for every method, even for a browser", async (path) => {
    for (const method of METHODS) {
      const answer = await call(path, { method, headers: { accept: "text/html" } });
      expect({ method, status: answer.status }).toEqual({ method, status: 404 });
      expect(answer.headers["content-type"]).toContain("application/json");
      const code = method === "HEAD" ? undefined : "not_found";
      expect(at(answer.json, "error.code")).toBe(code);
    }
  });
});

/** Unusual parts of paths: `..`, bytes that are no text, incomplete escapes, other notations. */
const ODD_PARTS = [
  ..."../x|%2e%2e|%2e%2e/x|..%2fx|..%5cx|%00|x%00y|a\\..\\b|%|%zz|%ff|%c0%ae|%ed%a0%80|\xe9|/|//evil.example".split(
    "|",
  ),
  ..."/|.|./|%2f|*|:id|{id}|;x|%0d%0ax|%20|~|^|__proto__|constructor|toString|[]|%F0%9F%98%80|-1|1e999".split(
    "|",
  ),
  "a".repeat(3_000),
];

/** All odd parts; in a quick run every twelfth, starting one further at each call. */
function* oddPartsInTurn(): Generator<readonly string[]> {
  const step = quickOrDeep(12, 1);
  for (let turn = 0; ; turn += 1) yield ODD_PARTS.filter((_, index) => (index + turn) % step === 0);
}

/** The part of each path before its first variable, and each folder above it. */
function prefixesOf(paths: readonly string[]): readonly string[] {
  const found = new Set(["/"]);
  for (const path of paths) {
    const parts = path.split(/[:{*]/, 1)[0]?.split("/") ?? [];
    for (let size = 1; size < parts.length; size += 1)
      found.add(`${parts.slice(0, size).join("/")}/`);
  }
  return [...found];
}

/** Sends the path unchanged, while `fetch` would normalize it. */
async function statusOf(
  base: string,
  asked: { readonly method: string; readonly path: string },
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const { hostname, port } = new URL(base);
  return await new Promise((resolve) => {
    const sent = request({ hostname, port, agent: false, headers, ...asked }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0));
    });
    sent.once("error", () => resolve(599)).end(asked.method === "POST" ? "{}" : undefined);
  });
}

describe("an unusual path", () => {
  async function failuresOf(
    base: string,
    asked: readonly (readonly [method: string, path: string])[],
    headers: Readonly<Record<string, string>>,
  ): Promise<readonly string[]> {
    const failures: string[] = [];
    const waiting = [...asked];
    const askOn = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [method, path] = next;
        const status = await statusOf(base, { method, path }, headers);
        if (status >= 500) failures.push(`${method} ${path}: ${status}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, askOn));
    const errors = fixture.gateway
      .log()
      .split("\n")
      .filter((line) => line.includes('"level":50'));
    return [...failures, ...errors];
  }

  test("below any route of the console or the gateway gets no 5xx and logs no error", async () => {
    const routes = Object.keys(ROUTES).map((name) => name.split(" ") as [string, string]);
    const outside = ["assets", "auth", "webhooks", "playground/v1", "docs", "v1", "models"];
    const prefixes = prefixesOf([
      ...routes.map(([, path]) => path),
      ...outside.map((of) => `/${of}/x`),
    ]);
    const turns = oddPartsInTurn();
    const oddParts = (): readonly string[] => turns.next().value ?? [];
    const below = prefixes.flatMap((prefix) =>
      oddParts().map((part) => ["GET", prefix + part] as const),
    );
    const within = routes
      .filter(([, path]) => path.includes(":"))
      .flatMap(([method, path]) =>
        oddParts().map((part) => [method, path.replaceAll(/:\w+/g, () => part)] as const),
      );
    const asked = routes.flatMap(([method, path]) => {
      const { query } =
        (ROUTES as Readonly<Record<string, RouteContract>>)[`${method} ${path}`] ?? {};
      const names = query && "properties" in query ? Object.keys(query.properties as object) : [];
      return names.flatMap((name) =>
        oddParts().map(
          (part) => [method, `${path.replaceAll(/:\w+/g, "x")}?${name}=${part}`] as const,
        ),
      );
    });
    expect(await failuresOf(fixture.url, below, { accept: "text/html" })).toEqual([]);
    const session = {
      cookie: ann.browser.header(new URL(fixture.url)),
      origin: fixture.url,
      "content-type": "application/json",
    };
    expect(await failuresOf(fixture.url, [...within, ...asked], session)).toEqual([]);
    const { key } = await addKey(fixture.gateway.backend, ann.orgId);
    const ofGateway = [
      "/v1/models/",
      "/v1/videos/",
      "/v1/generation?id=",
      "/v1/limits?model=",
      "/v1/",
    ];
    const calls = ofGateway.flatMap((path) =>
      oddParts().flatMap((part) => [["GET", path + part] as const, ["POST", path + part] as const]),
    );
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    expect(await failuresOf(fixture.gateway.url, calls, headers)).toEqual([]);
  });
});

describe("every answer", () => {
  const calls: readonly { path: string; status: number; how?: HttpCall }[] = [
    { path: "/api/models.json", status: 200 },
    { path: "/api/console/keys", status: 403, how: { method: "POST" } },
    { path: "/login", status: 404, how: { method: "POST" } },
    { path: "/auth/start", status: 303 },
    { path: "/models/%zz", status: 400 },
  ];
  test.each(calls)(
    "$path ($status) has a request id, the security headers and no CORS header",
    async (asked) => {
      const { status, headers } = await call(asked.path, asked.how);
      expect(status).toBe(asked.status);
      expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["referrer-policy"]).toBe("no-referrer");
      expect(headers["cross-origin-opener-policy"]).toBe("same-origin");
      expect(headers["permissions-policy"]).toContain("clipboard-write=(self)");
      expect(headers["content-security-policy"]).toContain("default-src 'none'");
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
      expect(headers["strict-transport-security"]).toBeUndefined();
      expect(Object.keys(headers).filter((name) => name.includes("access-control"))).toEqual([]);
    },
  );

  test("has a request id made by the console, whatever the browser sends", async () => {
    const answer = await call("/api/models.json", { headers: { "x-request-id": "mine" } });
    expect(answer.headers["x-request-id"]).toMatch(REQUEST_ID);
  });

  test("about a person is marked no-store", async () => {
    for (const route of ["session", "keys", "billing", "limits", "requests.csv", "export.json"]) {
      const answer = await ann.ask(`GET /api/console/${route}`);
      expect(answer.headers["cache-control"]).toBe("no-store");
    }
  });
});

test("a connection whose client does not read its answers gets the write-idle timeout", async () => {
  const served = new Set<Socket>();
  const note = (started: unknown): void => {
    served.add((started as { readonly socket: Socket }).socket);
  };
  subscribe("http.server.request.start", note);
  const client = connect(Number(new URL(fixture.url).port), "127.0.0.1").pause();
  onTestFinished(() => {
    unsubscribe("http.server.request.start", note);
    client.destroy();
  });
  // These answers are more than the system buffers for a client that does not read.
  client.write("GET /api/openapi-v1.json HTTP/1.1\r\nhost: a\r\n\r\n".repeat(400));
  const isStuck = ({ remotePort, writableNeedDrain }: Socket): boolean =>
    remotePort === client.localPort && writableNeedDrain;
  const stuck = await until("an answer does not leave", () => [...served].find(isStuck));
  expect(stuck.timeout).toBe(WRITE_IDLE_TIMEOUT_MS);
});

describe("a body", () => {
  test.each<[string, string, number]>([
    ["that is no JSON", "{", 400],
    ["with a member __proto__", '{"name":"a","__proto__":{"rpm":1}}', 400],
    ["of more than a megabyte", `{"name":"${"n".repeat(1_100_000)}"}`, 413],
  ])("%s is refused with a message and the request id", async (_, text, status) => {
    const body = Buffer.from(text, "latin1");
    const answer = await ann.ask("POST /api/console/keys", { body });
    expect(answer.status).toBe(status);
    expect(textAt(answer.json, "error.message")).not.toBe("");
    expect(textAt(answer.json, "request_id")).toBe(answer.headers["x-request-id"]);
  });

  test("of more than a megabyte gets a 413 even if it is chunked and declares no length", async () => {
    const answer = await call("/webhooks/stripe", {
      method: "POST",
      body: Buffer.alloc(1_100_000, 97),
      chunked: true,
    });
    expect(answer.status).toBe(413);
  });
});

test.each(["/webhooks/stripe", "/alerts/link", "/auth/sign-out", "/nothing"])(
  "an unauthenticated body in one-byte chunks for %s keeps no buffer for each chunk in memory",
  async (path) => {
    const chunks: WeakRef<object>[] = [];
    const note = (started: unknown): void => {
      const { request: arriving } = started as { readonly request: IncomingMessage };
      const push = arriving.push.bind(arriving);
      arriving.push = (chunk: Buffer | null, ...rest) => {
        if (chunk !== null) chunks.push(new WeakRef(chunk));
        return push(chunk, ...rest);
      };
    };
    subscribe("http.server.request.start", note);
    const client = connect(Number(new URL(fixture.url).port), "127.0.0.1").resume();
    onTestFinished(() => {
      unsubscribe("http.server.request.start", note);
      client.destroy();
    });
    const head = `POST ${path} HTTP/1.1\r\nhost: a\r\norigin: ${fixture.url}\r\n`;
    client.write(`${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`);
    client.write("1\r\n \r\n".repeat(2_000));
    await until("the chunks have arrived", () => chunks.length === 2_000);
    collectGarbage();
    expect(chunks.filter((each) => each.deref() !== undefined).length).toBeLessThan(20);
  },
);

test("unfinished bodies of unauthenticated clients are refused with 503 beyond their memory bound", async () => {
  const begun = Array.from({ length: 12 }, () => {
    const client = connect(Number(new URL(fixture.url).port), "127.0.0.1");
    const head = "POST /webhooks/stripe HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n";
    client.write(head + "n".repeat(999_999));
    let text = "";
    client.on("data", (bytes: Buffer) => (text += bytes.toString()));
    onTestFinished(() => void client.destroy());
    return () => text;
  });
  const isRefused = (text: () => string): boolean => text().includes("HTTP/1.1 503");
  expect(await until("one is refused", () => begun.some(isRefused))).toBe(true);
});

describe("the public catalog", () => {
  test("names no private or staged listing and none of their providers", async () => {
    for (const path of ["/api/models.json", "/api/catalog.json", "/api/providers.json"]) {
      const { status, text } = await call(path);
      expect(status).toBe(200);
      for (const word of ["secret/", "hidden", "staging"]) expect(text).not.toContain(word);
    }
  });

  test("orders models by release date and name, and marks each price that is defaulted", async () => {
    const catalog = await call("/api/catalog.json");
    const ids = [
      "dated/same",
      "dated/new",
      "dated/old",
      "test/a",
      "test/b",
      "test/ba",
      "test/both",
    ];
    expect(listAt(catalog.json, "models").map((model) => at(model, "id"))).toEqual(ids);
    expect((await call("/api/models.json")).json).toEqual({ models: ids });
    const model = listAt(catalog.json, "models").find((each) => at(each, "id") === "test/both");
    expect(listAt(model, "providers").map((each) => at(each, "provider"))).toEqual([
      "prov-a",
      "prov-b2",
    ]);
    expect(at(model, "providers.0")).toMatchObject({
      prices: {
        prompt: "1",
        cached_prompt: "1",
        cache_write: "1",
        completion: "10",
        internal_reasoning: "10",
      },
      defaulted: ["cached_prompt", "cache_write", "internal_reasoning"],
      prompt_logging: "none",
    });
  });

  test("has no figures of all customers by default", async () => {
    const { json } = await call("/api/listing-figures.json");
    expect(json).toEqual({ is_shown: false, listings: [], providers: [] });
  });

  test("has OpenAPI documents that name the console's and the gateway's address", async () => {
    const [own, gateway] = [await call("/api/openapi.json"), await call("/api/openapi-v1.json")];
    expect(at(own.json, "servers.0.url")).toBe(fixture.url);
    expect(at(gateway.json, "servers.0.url")).toBe(fixture.gateway.url);
  });

  test.each(["/api/catalog.json", "/api/models.json"])(
    "at %s can be cached, and is not sent again while it is unchanged",
    async (path) => {
      const answer = await call(path);
      expect(answer.headers["cache-control"]).toMatch(/^public, max-age=\d+$/);
      const etag = String(answer.headers.etag);
      for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await call(path, { headers: { "if-none-match": tag } });
        expect([tag, again.status, again.text]).toEqual([tag, 304, ""]);
      }
      expect((await call(path, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
      expect((await call(path, { method: "HEAD" })).text).toBe("");
    },
  );
});
