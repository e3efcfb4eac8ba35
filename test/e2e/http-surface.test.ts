import { describe, expect, test } from "vitest";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer, type HttpCall } from "../support/http-call.ts";
import { rawHttp } from "../support/raw-http.ts";
import { accountState, expectRefusal, REQUEST_ID } from "../support/refusals.ts";

/** An address other than the default. */
const INTERNAL_HOST = "127.0.0.2";
const gateway = withGateway({ settings: { internalHost: INTERNAL_HOST } });
const account = withAccount(gateway, "25.00");

async function ask(path: string, call: HttpCall = {}): Promise<HttpAnswer> {
  return await httpCall(gateway.url + path, call);
}

async function askWithKey(path: string, call: HttpCall = {}): Promise<HttpAnswer> {
  return await ask(path, { ...call, headers: { ...bearer(account.key), ...call.headers } });
}

const EXPOSED =
  "x-request-id, request-id, x-tm-provider, x-tm-attempts, x-tm-remaining-rpm, " +
  "x-tm-remaining-tpm, x-tm-queue-ms, x-tm-dropped-params, retry-after";

describe("routes that do not exist", () => {
  test.each([
    ["GET", "/"],
    ["POST", "/v1/responses"],
    ["DELETE", "/login"],
    ["GET", "/v1/chat/completions"],
    ["GET", "/api/admission-limits"],
    ["POST", "/v1/chat/completions/"],
    ["POST", "/V1/chat/completions"],
    ["POST", "//v1/chat/completions"],
    ["POST", "/v1/chat%2Fcompletions"],
    ["GET", "/v1/models/%zz"],
    ["GET", "/metrics"],
    ["GET", "/.env"],
  ])("%s %s is a 404 in the wire_a shape, and reaches no provider", async (method, path) => {
    const calls = gateway.simulator.counts().total;
    const call = method === "GET" ? { method } : { method, body: chatBody("test/a") };
    const answer = await askWithKey(path, call);
    expectRefusal(answer, { status: 404, code: "not_found", message: "no route" });
    expect(at(answer.json, "error.code")).toBe("not_found");
    expect(answer.headers["x-tm-error-origin"]).toBeUndefined();
    expect(gateway.simulator.counts().total).toBe(calls);
  });

  test.each([
    ["GET", "/v1/messages"],
    ["DELETE", "/v1/messages/batches"],
  ])("%s %s is a 404 in the wire_b shape", async (method, path) => {
    const answer = await askWithKey(path, { method });
    expectRefusal(answer, { status: 404, code: "not_found" });
    expect(answer.json).toMatchObject({
      type: "error",
      error: { type: "not_found_error", error_type: "not_found" },
    });
  });
});

describe("probes", () => {
  test("HEAD / answers 200 without a key", async () => {
    const answer = await ask("/", { method: "HEAD" });
    expect(answer).toMatchObject({ status: 200, text: "" });
  });

  test("only the internal listener shows the metrics", async () => {
    await askWithKey("/v1/chat/completions", { body: chatBody("test/a") });
    // The listener uses the address of its setting, because scrapers are not on loopback.
    expect(new URL(gateway.running.internalUrl).hostname).toBe(INTERNAL_HOST);
    const answer = await httpCall(`${gateway.running.internalUrl}/metrics`);
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toContain("text/plain");
    expect(answer.text).toMatch(/^# HELP /m);
    expect(answer.text).toContain('route="/v1/chat/completions"');
    expect(answer.text).not.toContain("tm_vk_");
    expect((await ask("/metrics")).status).toBe(401);
    expect((await httpCall(`${gateway.running.consoleUrl}/metrics`)).status).toBe(404);
    expect((await httpCall(`${gateway.running.internalUrl}/v1/models`)).status).toBe(404);
  });
});

describe("browsers", () => {
  test.each(["/v1/chat/completions", "/nope"])(
    "a preflight for %s is answered without a key",
    async (path) => {
      for (const origin of ["https://app.example.com", "null"]) {
        const answer = await ask(path, {
          method: "OPTIONS",
          headers: {
            origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type, x-stainless-lang",
          },
        });
        expect(answer).toMatchObject({ status: 204, text: "" });
        expect(answer.headers["access-control-allow-origin"]).toBe("*");
        // The list of headers is fixed and does not echo the request.
        expect(answer.headers["access-control-allow-headers"]).toBe(
          "authorization, content-type, x-api-key, *",
        );
        expect(answer.headers["access-control-allow-methods"]).toContain("POST");
        expect(answer.headers).not.toHaveProperty("access-control-allow-credentials");
      }
    },
  );

  test("every kind of answer exposes exactly the documented headers to browsers", async () => {
    const origin = { origin: "https://app.example.com" };
    const answers = [
      await askWithKey("/v1/models", { headers: origin }),
      await askWithKey("/v1/chat/completions", { body: chatBody("test/a"), headers: origin }),
      await askWithKey("/v1/chat/completions", {
        body: chatBody("test/a", { stream: true }),
        headers: origin,
      }),
      await askWithKey("/v1/chat/completions", { body: "no JSON", headers: origin }),
      await ask("/v1/models", { headers: origin }),
      await ask("/login", { headers: origin }),
      await ask("/v1/models", { method: "OPTIONS", headers: origin }),
    ];
    expect(answers.map((each) => each.status)).toEqual([200, 200, 200, 400, 401, 404, 204]);
    for (const { headers } of answers) {
      expect(headers["access-control-expose-headers"]).toBe(EXPOSED);
      expect(headers["access-control-allow-origin"]).toBe("*");
      expect(headers).not.toHaveProperty("access-control-allow-credentials");
    }
    expect(EXPOSED).not.toContain("x-tm-error-code");
  });

  test("the console sends no CORS headers to other origins", async () => {
    const answer = await httpCall(`${gateway.running.consoleUrl}/api/models.json`, {
      headers: { origin: "https://app.example.com" },
    });
    expect(Object.keys(answer.headers).filter((name) => name.includes("access-control"))).toEqual(
      [],
    );
  });
});

describe("request ids", () => {
  test("are made by the gateway, whatever the client or the provider sends", async () => {
    const own = { "x-request-id": "mine", "request-id": "mine" };
    for (const model of ["test/a", "test/b"]) {
      const call = { body: chatBody(model), headers: own };
      const { headers, status } = await askWithKey("/v1/chat/completions", call);
      expect(status).toBe(200);
      expect(headers["x-request-id"]).toMatch(REQUEST_ID);
      expect(headers["request-id"]).toBe(headers["x-request-id"]);
    }
    const calls = gateway.simulator.calls().slice(-2);
    expect(calls).toHaveLength(2);
    for (const call of calls) {
      expect(JSON.stringify(call.headers)).not.toContain("mine");
    }
    const refused = await ask("/v1/models", { headers: own });
    expect(refused.headers["x-request-id"]).toMatch(REQUEST_ID);
  });
});

test.each([
  ["test/a", true],
  ["test/b", false],
])(
  "an answer of %s, stream %s, has the gateway's own headers only, whatever the provider sends",
  async (model, stream) => {
    const allowed = new Set(
      (
        "x-request-id request-id content-type content-length transfer-encoding date connection " +
        "keep-alive cache-control x-accel-buffering access-control-allow-origin " +
        "access-control-expose-headers x-tm-provider x-tm-attempts x-tm-remaining-rpm " +
        "x-tm-remaining-tpm x-tm-error-code x-tm-error-origin x-tm-upstream-status"
      ).split(" "),
    );
    for (const fault of ["retry_after:77", "content_type:application/x-odd"]) {
      const messages = [{ role: "user", content: `[[fault:${fault}]] Hello` }];
      const body = chatBody(model, { stream, messages });
      const { headers } = await askWithKey("/v1/chat/completions", { body });
      const foreign = Object.keys(headers).filter((name) => !allowed.has(name));
      expect({ fault, foreign }).toEqual({ fault, foreign: [] });
      expect(headers["content-type"]).toMatch(/^(application\/json|text\/event-stream)/);
    }
  },
);

/* Requests that a proxy could parse differently from the gateway must not be served. */

const BODY = JSON.stringify(chatBody("test/both"));
const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = "Transfer-Encoding: chunked";
const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

interface Shape {
  readonly line?: string;
  /** Header lines that follow those of the host and the key; no content-length is added. */
  readonly headers: readonly string[];
  readonly body?: string;
  readonly host?: string;
}

function requestText(shape: Shape): string {
  const lines = [
    shape.line ?? "POST /v1/chat/completions HTTP/1.1",
    shape.host ?? "Host: gateway",
    "Authorization: Bearer {key}",
    "Content-Type: application/json",
    "Connection: close",
    ...shape.headers,
  ];
  return `${lines.filter((line) => line !== "").join("\r\n")}\r\n\r\n${shape.body ?? BODY}`;
}

/** Sends these bytes with the account's key in place of `{key}`. */
function sendRaw(bytes: string | Buffer): ReturnType<typeof rawHttp> {
  const isText = typeof bytes === "string";
  return rawHttp(gateway.url, isText ? bytes.replaceAll("{key}", account.key) : bytes);
}

/** A second request, hidden in the body of the first. */
const SMUGGLED = `0\r\n\r\n${requestText({ headers: [LENGTH] })}`;

const refused: readonly (readonly [string, Shape])[] = [
  ["chunks and a length", { headers: [CHUNKED, LENGTH], body: CHUNKS }],
  [
    "a length and chunks that hide a second request",
    { headers: ["Content-Length: 6", CHUNKED], body: SMUGGLED },
  ],
  ["the same length twice", { headers: [LENGTH, LENGTH] }],
  ["a list of lengths", { headers: [`Content-Length: ${BODY.length}, 5`] }],
  ["a length of 40 digits", { headers: [`Content-Length: ${"9".repeat(40)}`] }],
  ["a space before the colon", { headers: ["Transfer-Encoding : chunked"], body: CHUNKS }],
  ["an unknown encoding", { headers: ["Transfer-Encoding: xchunked"], body: CHUNKS }],
  ["a folded header", { headers: [LENGTH, "X-Folded: a\r\n b"] }],
  ["a bare CR in a value", { headers: [LENGTH, "X-Bad: a\rX-Injected: b"] }],
  [
    "a chunk length that is not a number",
    { headers: [CHUNKED], body: `zz\r\n${BODY}\r\n0\r\n\r\n` },
  ],
  ["a chunk length of 20 hex digits", { headers: [CHUNKED], body: `${"f".repeat(20)}\r\n${BODY}` }],
  ["no host", { host: "", headers: [LENGTH] }],
  [
    "two keys in Authorization",
    { headers: [LENGTH, "Authorization: Bearer tm_vk_of_another_caller"] },
  ],
  ["two keys in x-api-key", { headers: [LENGTH, "X-Api-Key: a", "X-Api-Key: b"] }],
  ["a compressed body in chunks", { headers: ["Transfer-Encoding: gzip, chunked"], body: CHUNKS }],
  ["a lower-case method", { line: "post /v1/chat/completions HTTP/1.1", headers: [LENGTH] }],
  ["headers over 16 KB", { headers: [LENGTH, `X-Long: ${"a".repeat(20_000)}`] }],
];

describe("bytes that two parsers could read differently", () => {
  test("a request without a host gets a documented error with its request id", async () => {
    const { text } = await sendRaw(requestText({ host: "", headers: [LENGTH] }));
    expect(text).toMatch(/^HTTP\/1\.1 400 .*\r\nx-tm-error-code: invalid_request\r\n/is);
    expect(text).toMatch(/"message":"the header host is missing; [^"]+".*"request_id":"/);
  });

  test.each(refused)(
    "%s: a 400 or a closed connection, and nothing is dispatched",
    async (_what, shape) => {
      const before = await accountState(gateway, account);
      const answer = await sendRaw(requestText(shape));
      expect(answer.closed).toBe(true);
      expect(answer.statuses.length).toBeLessThanOrEqual(1);
      for (const status of answer.statuses) expect([400, 431]).toContain(status);
      expect(answer.text).not.toContain("You said");
      expect(await accountState(gateway, account)).toEqual(before);
    },
  );

  test("bare line feeds and another protocol close the connection, and nothing is dispatched", async () => {
    const before = await accountState(gateway, account);
    for (const bytes of [
      requestText({ headers: [LENGTH] }).replaceAll("\r\n", "\n"),
      requestText({ headers: [LENGTH, "X-Bad: a\nX-Injected: b"] }),
      requestText({ headers: [CHUNKED], body: CHUNKS.replaceAll("\r\n", "\n") }),
      Buffer.from("160301010001000000", "hex"),
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]) {
      const answer = await sendRaw(bytes);
      expect(answer.closed).toBe(true);
      expect(answer.text).not.toContain("You said");
      for (const status of answer.statuses) expect(status).toBe(400);
    }
    expect(await accountState(gateway, account)).toEqual(before);
  });
});

describe("paths are not normalised", () => {
  test.each(["/v1/chat/../chat/completions", "http://x/v1/models?x"])(
    "%s is a 404",
    async (path) => {
      const line = `POST ${path} HTTP/1.1`;
      const calls = gateway.simulator.counts().total;
      const answer = await sendRaw(requestText({ line, headers: [LENGTH] }));
      expect(answer.statuses).toEqual([404]);
      expect(gateway.simulator.counts().total).toBe(calls);
    },
  );
});

describe("methods and targets that the gateway does not serve", () => {
  test.each(["CONNECT example.com:443", "TRACE /v1/models", "OPTIONS *"])(
    "%s closes the connection, and nothing is dispatched",
    async (line) => {
      const before = await accountState(gateway, account);
      const bytes = requestText({ line: `${line} HTTP/1.1`, headers: [], body: "" });
      const answer = await sendRaw(bytes);
      expect(answer.closed).toBe(true);
      for (const status of answer.statuses) expect([204, 400, 404, 405]).toContain(status);
      expect(await accountState(gateway, account)).toEqual(before);
    },
  );
});

describe("an unusual but valid HTTP request", () => {
  test("is served when its body comes in chunks of one byte", async () => {
    const chunks = BODY.replaceAll(/./g, (byte) => `1\r\n${byte}\r\n`);
    const bytes = requestText({ headers: [CHUNKED], body: `${chunks}0\r\n\r\n` });
    expect((await sendRaw(bytes)).statuses).toEqual([200]);
  });

  test("is answered in order when two requests share a connection", async () => {
    const first = requestText({ headers: [LENGTH] }).replace("Connection: close\r\n", "");
    const second = requestText({ line: "GET /v1/nope HTTP/1.1", headers: [], body: "" });
    const answer = await sendRaw(first + second);
    expect(answer.statuses).toEqual([200, 404]);
    expect(answer.text).toContain("You said: Hello");
  });

  test("is served when its Expect header is unknown to the gateway", async () => {
    const headers = [LENGTH, "Expect: 200-ok"];
    expect((await sendRaw(requestText({ headers }))).statuses).toEqual([200]);
  });

  test("is served after the 100 that it expects, and the upgrade that it offers is ignored", async () => {
    const headers = [LENGTH, "Upgrade: websocket", "Expect: 100-continue"];
    const bytes = requestText({ headers }).replace("close", "Upgrade, close");
    expect((await sendRaw(bytes)).statuses).toEqual([100, 200]);
  });
});
