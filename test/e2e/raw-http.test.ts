import { describe, expect, test } from "vitest";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { rawHttp } from "../support/raw-http.ts";
import { accountState } from "../support/refusals.ts";

/* Bytes that a proxy's parser could read differently from the gateway must not be served. */

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

const BODY = JSON.stringify(chatBody("test/a"));
const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = "Transfer-Encoding: chunked";
const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

interface Shape {
  readonly line?: string;
  /** Header lines after host and key; a length is not added. */
  readonly headers: readonly string[];
  readonly body?: string;
  readonly host?: string;
}

function requestBytes(shape: Shape): string {
  const lines = [
    shape.line ?? "POST /v1/chat/completions HTTP/1.1",
    shape.host ?? "Host: gateway",
    `Authorization: Bearer ${account.key}`,
    "Content-Type: application/json",
    "Connection: close",
    ...shape.headers,
  ];
  return `${lines.filter((line) => line !== "").join("\r\n")}\r\n\r\n${shape.body ?? BODY}`;
}

/** A second request, hidden in the body of the first. */
function smuggled(): string {
  return `0\r\n\r\n${requestBytes({ headers: [LENGTH] })}`;
}

const refused: readonly (readonly [string, () => Shape])[] = [
  ["chunks and a length", () => ({ headers: [CHUNKED, LENGTH], body: CHUNKS })],
  [
    "a length and chunks that hide a second request",
    () => ({ headers: ["Content-Length: 6", CHUNKED], body: smuggled() }),
  ],
  ["the same length twice", () => ({ headers: [LENGTH, LENGTH] })],
  ["a list of lengths", () => ({ headers: [`Content-Length: ${BODY.length}, 5`] })],
  ["a length beyond every integer", () => ({ headers: [`Content-Length: ${"9".repeat(40)}`] })],
  ["a space before the colon", () => ({ headers: ["Transfer-Encoding : chunked"], body: CHUNKS })],
  ["an unknown encoding", () => ({ headers: ["Transfer-Encoding: xchunked"], body: CHUNKS })],
  ["a folded header", () => ({ headers: [LENGTH, "X-Folded: a\r\n b"] })],
  ["a bare CR in a value", () => ({ headers: [LENGTH, "X-Bad: a\rX-Injected: b"] })],
  [
    "a chunk length that is none",
    () => ({ headers: [CHUNKED], body: `zz\r\n${BODY}\r\n0\r\n\r\n` }),
  ],
  [
    "a chunk length beyond every integer",
    () => ({ headers: [CHUNKED], body: `${"f".repeat(20)}\r\n${BODY}` }),
  ],
  ["no host", () => ({ host: "", headers: [LENGTH] })],
  [
    "two keys in Authorization",
    () => ({ headers: [LENGTH, "Authorization: Bearer tm_vk_of_another_caller"] }),
  ],
  ["two keys in x-api-key", () => ({ headers: [LENGTH, "X-Api-Key: a", "X-Api-Key: b"] })],
  [
    "a compressed body in chunks",
    () => ({ headers: ["Transfer-Encoding: gzip, chunked"], body: CHUNKS }),
  ],
  [
    "a lower-case method",
    () => ({ line: "post /v1/chat/completions HTTP/1.1", headers: [LENGTH] }),
  ],
  ["headers over 16 KB", () => ({ headers: [LENGTH, `X-Long: ${"a".repeat(20_000)}`] })],
];

describe("bytes that two parsers could read differently", () => {
  test.each(refused)(
    "%s: a 400 or a closed connection, and nothing is dispatched",
    async (_what, shape) => {
      const before = await accountState(gateway, account);
      const answer = await rawHttp(gateway.url, requestBytes(shape()));
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
      requestBytes({ headers: [LENGTH] }).replaceAll("\r\n", "\n"),
      requestBytes({ headers: [LENGTH, "X-Bad: a\nX-Injected: b"] }),
      requestBytes({ headers: [CHUNKED], body: CHUNKS.replaceAll("\r\n", "\n") }),
      Buffer.from("160301010001000000", "hex"),
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]) {
      const answer = await rawHttp(gateway.url, bytes);
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
      const answer = await rawHttp(gateway.url, requestBytes({ line, headers: [LENGTH] }));
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
      const bytes = requestBytes({ line: `${line} HTTP/1.1`, headers: [], body: "" });
      const answer = await rawHttp(gateway.url, bytes);
      expect(answer.closed).toBe(true);
      for (const status of answer.statuses) expect([204, 400, 404, 405]).toContain(status);
      expect(await accountState(gateway, account)).toEqual(before);
    },
  );
});

describe("an unusual but valid request", () => {
  test("is served in chunks of one byte each", async () => {
    const chunks = BODY.replaceAll(/./g, (byte) => `1\r\n${byte}\r\n`);
    const bytes = requestBytes({ headers: [CHUNKED], body: `${chunks}0\r\n\r\n` });
    expect((await rawHttp(gateway.url, bytes)).statuses).toEqual([200]);
  });

  test("is answered in order when two share a connection", async () => {
    const first = requestBytes({ headers: [LENGTH] }).replace("Connection: close\r\n", "");
    const second = requestBytes({ line: "GET /v1/nope HTTP/1.1", headers: [], body: "" });
    const answer = await rawHttp(gateway.url, first + second);
    expect(answer.statuses).toEqual([200, 404]);
    expect(answer.text).toContain("You said: Hello");
  });

  test("is served when it offers an upgrade, which is ignored, and gets the 100 that it expects", async () => {
    const headers = [LENGTH, "Upgrade: websocket", "Expect: 100-continue"];
    const bytes = requestBytes({ headers }).replace("close", "Upgrade, close");
    expect((await rawHttp(gateway.url, bytes)).statuses).toEqual([100, 200]);
  });
});
