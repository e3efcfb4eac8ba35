import { afterEach, describe, expect, test, vi } from "vitest";

import type { ChatAnswer } from "./chat-types.ts";
import { streamChat } from "./stream-chat.ts";

afterEach(() => vi.unstubAllGlobals());

const REQUEST_ID = "01934b2c-7f00-7abc-8def-0123456789ab";

/** Stubs the network with these answers, in order. */
function network(...answers: readonly (() => Response)[]): void {
  const queue = [...answers];
  vi.stubGlobal("fetch", () => {
    const next = queue.shift();
    return next === undefined ? Promise.reject(new Error("offline")) : Promise.resolve(next());
  });
}

function events(...chunks: readonly (object | string)[]): () => Response {
  const body = chunks
    .map((each) => `data: ${typeof each === "string" ? each : JSON.stringify(each)}\n\n`)
    .join("");
  const headers = { "x-request-id": REQUEST_ID, "x-tm-provider": "acme" };
  return () => new Response(body, { headers });
}

function delta(content: string, more: object = {}): object {
  return { choices: [{ index: 0, delta: { content }, ...more }] };
}

async function answerOf(): Promise<Partial<ChatAnswer>> {
  let answer: Partial<ChatAnswer> = {};
  await streamChat({}, new AbortController().signal, (change) => {
    answer = { ...answer, ...change };
  });
  return answer;
}

describe("an answer", () => {
  test("that completes has its provider, its tokens and its exact cost", async () => {
    network(
      events(
        delta("Hel"),
        delta("lo", { finish_reason: "stop" }),
        '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"cost":0.000021}}',
        "[DONE]",
      ),
    );
    expect(await answerOf()).toMatchObject({
      state: "done",
      text: "Hello",
      provider: "acme",
      requestId: REQUEST_ID,
      promptTokens: 3,
      completionTokens: 2,
      costUsd: "0.000021",
    });
  });

  test("that fails midway keeps its text so far and gets its cost from its record", async () => {
    network(
      events(delta("half an ans"), {
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
        error: {
          code: "upstream_error",
          message: "it broke",
          metadata: { error_type: "upstream_error" },
        },
      }),
      () =>
        new Response('{"data":{"outcome":"stream_died","total_cost":0.5,"cost_micro_usd":500000}}'),
    );
    expect(await answerOf()).toMatchObject({
      state: "ended_early",
      text: "half an ans",
      errorType: "upstream_error",
      message: "it broke",
      requestId: REQUEST_ID,
      costUsd: "0.500000",
    });
  });

  test("whose stream breaks off is marked as ended early and gets its cost from its record", async () => {
    network(
      events(delta("half")),
      () => new Response('{"data":{"outcome":"reset","cost_micro_usd":7}}'),
    );
    expect(await answerOf()).toMatchObject({
      state: "ended_early",
      text: "half",
      costUsd: "0.000007",
    });
  });

  test("that is refused has the error class and the request ID of the body", async () => {
    const body = {
      error: {
        code: "insufficient_quota",
        message: "add credit",
        metadata: { error_type: "insufficient_quota" },
      },
      request_id: REQUEST_ID,
    };
    network(() => new Response(JSON.stringify(body), { status: 429 }));
    expect(await answerOf()).toMatchObject({
      state: "refused",
      errorType: "insufficient_quota",
      message: "add credit",
      requestId: REQUEST_ID,
    });
  });
});
