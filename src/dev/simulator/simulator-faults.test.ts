import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { withResource } from "../../../test/support/with-resource.ts";
import { startSimulator } from "./simulator.ts";

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const HEADERS = { "x-api-key": "key", "anthropic-version": "2023-06-01" };

const simulator = withResource(() => startSimulator());

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** True if the body ended as HTTP requires. */
  readonly complete: boolean;
}

const base = { model: "m", max_tokens: 100, messages: [{ role: "user", content: "hello" }] };

/** Posts with a fault; resolves with the answer, or the error code of a broken connection. */
function post(path: string, fault: string, more: object = {}): Promise<Answer | string> {
  return new Promise((resolve) => {
    const call = httpRequest(simulator.url + path, {
      method: "POST",
      agent: false,
      headers: { ...HEADERS, "x-sim-fault": fault },
    });
    call.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    call.once("response", (response) => resolve(readAnswer(response)));
    call.end(JSON.stringify({ ...base, ...more }));
  });
}

function readAnswer(response: IncomingMessage): Promise<Answer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("error", () => undefined);
    response.on("close", () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: Buffer.concat(chunks).toString("latin1"),
        complete: response.complete,
      }),
    );
  });
}

async function answered(path: string, fault: string, more: object = {}): Promise<Answer> {
  const answer = await post(path, fault, more);
  if (typeof answer === "string") throw new Error(`the connection died: ${answer}`);
  return answer;
}

const STREAM = { stream: true };

describe("connections that die", () => {
  test("a reset comes before any answer, after exactly N bytes, or after exactly N events", async () => {
    expect(await post(CHAT, "reset:headers")).toMatch(/ECONNRESET|HPE_/);
    const cut = await answered(CHAT, "reset:body:10");
    expect(cut).toMatchObject({ status: 200, complete: false });
    expect(cut.text).toHaveLength(10);
    const stream = await answered(MESSAGES, "reset:event:4", STREAM);
    expect(stream.complete).toBe(false);
    expect(stream.text.match(/^data: /gm)).toHaveLength(4);
  });

  test("wrong_length promises more than it sends", async () => {
    const answer = await answered(CHAT, "wrong_length:5");
    expect(answer.complete).toBe(false);
    expect(Number(answer.headers["content-length"])).toBe(answer.text.length + 5);
  });
});

/** Asks for a stream with a fault; `leaving` cuts the connection. */
function begin(path: string, fault: string) {
  const leaving = new AbortController();
  const response = fetch(simulator.url + path, {
    method: "POST",
    headers: { ...HEADERS, "x-sim-fault": fault },
    body: JSON.stringify({ ...base, ...STREAM }),
    signal: leaving.signal,
  });
  return { leaving, response };
}

describe("connections that hang", () => {
  test.each([["hang:headers"], ["hang:event:2"]])(
    "%s holds the connection until the client leaves",
    async (fault) => {
      const { total } = simulator.counts();
      const { leaving, response } = begin(CHAT, fault);
      const hanging = response.then((answer) => answer.text());
      await expect.poll(() => simulator.counts()).toMatchObject({ open: 1, total: total + 1 });
      leaving.abort();
      await expect(hanging).rejects.toThrow("aborted");
      await expect.poll(() => simulator.counts().open).toBe(0);
    },
  );

  test("endless repeats the text until the client leaves, and counts the call as abandoned", async () => {
    const { abandoned } = simulator.counts();
    const { leaving, response } = begin(MESSAGES, "endless");
    let bytes = 0;
    for await (const chunk of (await response).body ?? []) {
      bytes += chunk.length;
      if (bytes > 1_000_000) break;
    }
    expect(bytes).toBeGreaterThan(1_000_000);
    leaving.abort();
    await expect.poll(() => simulator.counts().open).toBe(0);
    expect(simulator.counts().abandoned).toBe(abandoned + 1);
  });
});

describe("answers that are wrong", () => {
  test("bad_json_at_event cuts a document or the event in half", async () => {
    const whole = await answered(CHAT, "bad_json_at_event:0");
    expect(() => JSON.parse(whole.text) as unknown).toThrow("JSON");
    const stream = await answered(CHAT, "bad_json_at_event:2", STREAM);
    const events = stream.text.trim().split("\n\n");
    const parses = events.slice(0, 4).map((event) => isJson(event.replace(/^data: /, "")));
    expect(parses).toEqual([true, true, false, true]);
  });

  test("long_line sends one line of so many bytes", async () => {
    const answer = await answered(CHAT, "long_line:300000", STREAM);
    const longest = Math.max(...answer.text.split("\n").map((line) => line.length));
    expect(longest).toBe(300_000 + "data: ".length);
  });

  test("gzip_bomb is labelled as gzip and starts like it", async () => {
    const leaving = new AbortController();
    const call = httpRequest(simulator.url + CHAT, {
      method: "POST",
      agent: false,
      headers: { ...HEADERS, "x-sim-fault": "gzip_bomb" },
      signal: leaving.signal,
    });
    call.on("error", () => undefined);
    call.end(JSON.stringify(base));
    const [response] = (await once(call, "response")) as [IncomingMessage];
    response.on("error", () => undefined);
    const [chunk] = (await once(response, "data")) as [Buffer];
    expect(response.headers["content-encoding"]).toBe("gzip");
    expect(chunk.subarray(0, 2)).toEqual(Buffer.of(0x1f, 0x8b));
    leaving.abort();
    await expect.poll(() => simulator.counts().open).toBe(0);
  });
});

test("a fault is chosen by a rule for a model or a path, as many times as the rule says", async () => {
  simulator.script({ model: "sick", fault: "status:500", times: 2 });
  simulator.script({ path: "/b/v1/messages", fault: "status:529" });
  const statusOf = async (path: string, model: string): Promise<number> => {
    const body = JSON.stringify({ ...base, model });
    return (await fetch(simulator.url + path, { method: "POST", headers: HEADERS, body })).status;
  };
  for (const status of [500, 500, 200]) expect(await statusOf(CHAT, "sick")).toBe(status);
  expect(await statusOf(MESSAGES, "m")).toBe(200);
  expect(await statusOf("/b/v1/messages", "m")).toBe(529);
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
