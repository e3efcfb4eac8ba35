import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";

import { describe, expect, test } from "vitest";

import {
  type ConformanceReport,
  junitReport,
  markdownReport,
} from "../../src/listing-tools/conformance/report/report.ts";
import { runListing } from "../support/conformance-run.ts";
import { listenLocally } from "../support/local-server.ts";

const KEY = "9f3a77c1d2e84b60aa51c3";
const KEY_PART_CHARS = 10;
const CHARS_MAX = 300;
/** A text contains a part of the prompt if it has this many consecutive characters of it. */
const PROMPT_PART_CHARS = 40;

interface Call {
  readonly body: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Sends the piece again and again for as long as the other side reads. */
  readonly pour: (piece: Buffer) => void;
}

type Handler = (call: Call) => void;

interface Hosted {
  readonly report: ConformanceReport;
  readonly calls: readonly string[];
  readonly bytesSent: number;
}

/** Runs all checks against a provider that answers with `handler`. */
async function runAgainstHost(
  handler: Handler,
  more: Pick<Parameters<typeof runListing>[0], "timeoutMs" | "allowPrivate" | "checks"> = {},
): Promise<Hosted> {
  const calls: string[] = [];
  let bytesSent = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readText(request);
    calls.push(body);
    const pour = (piece: Buffer): void => {
      while (!response.destroyed) {
        bytesSent += piece.length;
        if (!response.write(piece)) {
          response.once("drain", () => pour(piece));
          return;
        }
      }
    };
    handler({ body, request, response, pour });
  };
  const { url, close } = await listenLocally(
    createServer((request, response) => void answer(request, response)),
  );
  try {
    const report = await runListing({
      manifest: "manifests/simulator-a.json",
      baseUrl: `${url}/v1`,
      key: KEY,
      timeoutMs: 400,
      ...more,
    });
    return { report, calls, bytesSent };
  } finally {
    await close();
  }
}

const REDIRECTED_TO = "http://169.254.169.254/latest/meta-data";

const SSE = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };
const CHUNK = `data: ${JSON.stringify({
  id: "x",
  object: "chat.completion.chunk",
  created: 1,
  model: "echo-a",
  choices: [{ index: 0, delta: { content: "on and on " }, finish_reason: null }],
})}\n\n`;

const HOSTILE: readonly (readonly [string, Handler])[] = [
  ["never answers", () => undefined],
  [
    "sends a byte now and then",
    ({ response }) => {
      response.writeHead(200, JSON_TYPE);
      const timer = setInterval(() => response.write(" "), 50);
      response.on("close", () => clearInterval(timer));
    },
  ],
  [
    "sends ten gigabytes",
    ({ response, pour }) => {
      response.writeHead(200, { ...JSON_TYPE, "content-length": String(10 * 1024 ** 3) });
      pour(Buffer.alloc(65_536, " "));
    },
  ],
  [
    "sends a stream without an end",
    ({ response, pour }) => {
      response.writeHead(200, SSE);
      pour(Buffer.from(CHUNK.repeat(200)));
    },
  ],
  [
    "sends an error without an end",
    ({ response, pour }) => {
      response.writeHead(400, JSON_TYPE);
      pour(Buffer.from('{"error":{"message":"' + "no ".repeat(20_000)));
    },
  ],
  [
    "sends one event without an end",
    ({ response, pour }) => {
      response.writeHead(200, SSE);
      response.write("data: ");
      pour(Buffer.alloc(65_536, "x"));
    },
  ],
  ["breaks every connection", ({ request }) => request.socket.destroy()],
  [
    "redirects to a private address",
    ({ response }) => response.writeHead(307, { location: REDIRECTED_TO }).end(),
  ],
  [
    "nests its JSON without an end",
    ({ response }) => response.writeHead(200, JSON_TYPE).end("[".repeat(300_000)),
  ],
];

describe.concurrent("a run against a hostile provider ends with a verdict", () => {
  test.each(HOSTILE)("%s", async (_what, answer) => {
    const { report, calls, bytesSent } = await runAgainstHost(answer);
    expect(["fail", "inconclusive"]).toContain(report.verdict);
    expect(report.is_complete).toBe(true);
    // A useless provider gets only a few calls, and only a bounded part of its answers is read.
    expect(calls.length).toBeLessThan(80);
    expect(bytesSent).toBeLessThan(2 * 1024 ** 3);
  });

  test.each<[string, Handler]>([
    ["never answers", () => undefined],
    ["breaks every connection", ({ request }) => request.socket.destroy()],
  ])("and counts the worst case of what was sent to one that %s", async (_what, answer) => {
    // A busy machine may take longer than the other tests' time limit to send the probe.
    const { report, calls } = await runAgainstHost(answer, { checks: ["C1"], timeoutMs: 2_000 });
    expect(calls.length).toBeGreaterThan(0);
    expect(Number(report.spend_usd)).toBeGreaterThan(0);
  });

  test("a provider at a private address is not called unless that is allowed", async () => {
    const handler: Handler = ({ response }) => response.writeHead(200, JSON_TYPE).end("{}");
    const { report, calls } = await runAgainstHost(handler, { allowPrivate: false });
    expect(report.verdict).not.toBe("pass");
    expect([calls, report.spend_usd]).toEqual([[], "0.000000"]);
  });
});

/** Answers as a chat provider does, and echoes the whole request in every part of its answer. */
function echoes(status: number): Handler {
  return ({ body, request, response }) => {
    const heard = `${request.headers.authorization} ${body} `.repeat(3);
    const inHeader = heard.replaceAll(/[^\x20-\x7e]/g, "").slice(0, 4_000);
    const stream = body.includes('"stream":true');
    const message = {
      role: heard,
      content: heard,
      tool_calls: [{ id: "c", type: "function", function: { name: heard, arguments: heard } }],
    };
    const text = JSON.stringify({
      id: heard,
      object: stream ? "chat.completion.chunk" : "chat.completion",
      created: 1,
      model: heard,
      choices: [{ index: 0, finish_reason: heard, [stream ? "delta" : "message"]: message }],
      usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
      ...(status !== 200 && {
        error: { message: heard, type: heard, code: heard, param: heard },
      }),
    });
    const type = stream ? "text/event-stream" : "application/json";
    response.writeHead(status, { "content-type": type, "x-heard": inHeader });
    response.end(stream ? `data: ${text}\n\ndata: [DONE]\n\n` : text);
  };
}

describe.concurrent(
  "a report has no key, no prompt and no long text, although the provider echoes all of it",
  () => {
    test.each([200, 400, 500])("with status %d", async (status) => {
      const { report, calls } = await runAgainstHost(echoes(status), { timeoutMs: 2_000 });
      const written = [JSON.stringify(report), markdownReport(report), junitReport(report)];
      const prompts = calls.flatMap((body) => promptParts(body));
      for (const text of written) {
        expect(text).not.toContain(KEY.slice(0, KEY_PART_CHARS));
        expect(text).not.toContain(KEY.slice(-KEY_PART_CHARS));
        expect(prompts.filter((prompt) => text.includes(prompt))).toEqual([]);
      }
      expect(textsOf(report).filter(({ length }) => length > CHARS_MAX)).toEqual([]);
    });
  },
);

/** Returns parts of 40 characters of a body's messages, one from every seventh character on. */
function promptParts(body: string): readonly string[] {
  const parts: string[] = [];
  const { messages } = safeJson(body) as { messages?: unknown };
  for (const text of textsOf(messages)) {
    for (let at = 0; at + PROMPT_PART_CHARS <= text.length; at += 7) {
      parts.push(text.slice(at, at + PROMPT_PART_CHARS));
    }
  }
  return [...new Set(parts)];
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((member) => textsOf(member));
}
