import { describe, expect, test } from "vitest";

import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import {
  chunks,
  delta,
  done,
  events,
  openJson,
  openStream,
  play,
  wholeAnswer,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import type { KnownWire } from "../../../../test/fixtures/modality/request-kit.ts";

/** The flaws of an answer are the same relayed and translated. */
const CLIENTS: readonly KnownWire[] = ["wire_a", "wire_b"];

interface Flaws {
  readonly finish: boolean;
  readonly usage: string | undefined;
}

function flawsOf({ state, hasWrongFinish, usageFlaw }: AnswerBridge): Flaws {
  expect(state).toBe("complete");
  return { finish: hasWrongFinish, usage: usageFlaw };
}

const HONEST: Flaws = { finish: false, usage: undefined };
const FINISH: Flaws = { finish: true, usage: undefined };

function flawed(usage: string): Flaws {
  return { finish: false, usage };
}

const TOTAL = flawed("usage.total_tokens is not prompt plus completion");
const NO_COUNT = flawed("usage.total_tokens is not a count");

const CALL = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const COUNTS = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

interface AnswerA {
  readonly finish: string | null;
  readonly calls?: readonly object[];
  readonly usage?: object;
}

const ANSWERS_A: readonly (readonly [string, AnswerA, Flaws])[] = [
  ["an honest answer", { finish: "stop" }, HONEST],
  ["a call", { finish: "tool_calls", calls: [CALL] }, HONEST],
  ["a forced call, which ends with stop", { finish: "stop", calls: [CALL] }, HONEST],
  ["no reason", { finish: null }, FINISH],
  ["a call that is not there", { finish: "tool_calls" }, FINISH],
  ["a sum that is none", { finish: "stop", usage: { total_tokens: 16 } }, TOTAL],
  [
    "more cached than there are",
    cachedA(11),
    flawed("more prompt tokens are cached than there are"),
  ],
  ["as many cached as there are", cachedA(10), HONEST],
  ["more reasoning than output", reasoningA(6), flawed("more reasoning tokens than output tokens")],
  ["reasoning that is counted beside the output", reasoningA(6, 21), HONEST],
  ["a count that is negative", { finish: "stop", usage: { total_tokens: -1 } }, NO_COUNT],
  ["no total", { finish: "stop", usage: { total_tokens: null } }, HONEST],
];

function cachedA(cached_tokens: number): AnswerA {
  return { finish: "stop", usage: { prompt_tokens_details: { cached_tokens } } };
}

function reasoningA(reasoning_tokens: number, total_tokens = 15): AnswerA {
  const completion_tokens_details = { reasoning_tokens };
  return { finish: "stop", usage: { total_tokens, completion_tokens_details } };
}

function wholeA({ finish, calls, usage }: AnswerA): string {
  const message = { content: "Hi", ...(calls && { tool_calls: calls }) };
  return wholeAnswer(message, finish, { usage: { ...COUNTS, ...usage } });
}

function streamA({ finish, calls, usage }: AnswerA): string {
  const fragments = calls?.map((call, index) => ({ index, ...call }));
  return chunks(
    delta({ role: "assistant", content: "Hi" }),
    delta({ content: " there" }),
    ...(fragments === undefined ? [] : [delta({ tool_calls: fragments })]),
    delta({}, finish),
    { ...delta({}), choices: [], usage: { ...COUNTS, ...usage } },
    done,
  );
}

interface AnswerB {
  readonly stop: string | null;
  readonly block?: string;
  readonly usage?: object;
}

const ANSWERS_B: readonly (readonly [string, AnswerB, Flaws])[] = [
  ["an honest answer", { stop: "end_turn" }, HONEST],
  ["no reason", { stop: null }, FINISH],
  ["a call that is not there", { stop: "tool_use" }, FINISH],
  [
    "more cached than uncached",
    { stop: "end_turn", usage: { cache_read_input_tokens: 99 } },
    HONEST,
  ],
  ["more thinking than output", thinkingB(6), flawed("more thinking tokens than output tokens")],
  [
    "a count that is negative",
    { stop: "end_turn", usage: { cache_read_input_tokens: -1 } },
    flawed("usage.cache_read_input_tokens is not a count"),
  ],
];

function thinkingB(thinking_tokens: number): AnswerB {
  return { stop: "end_turn", usage: { output_tokens_details: { thinking_tokens } } };
}

function wholeB({ stop, block, usage }: AnswerB): string {
  const call = block === undefined ? [] : [{ type: block, id: "t1", name: "f", input: {} }];
  return JSON.stringify({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "up-model",
    content: [{ type: "text", text: "Hi" }, ...call],
    stop_reason: stop,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5, ...usage },
  });
}

function streamB({ stop, block, usage }: AnswerB): string {
  const message = { id: "msg_1", model: "up-model", content: [], usage: { input_tokens: 10 } };
  const call = { type: block, id: "t1", name: "f", input: {} };
  return events(
    event("message_start", { message }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Hi" } }),
    event("content_block_stop", { index: 0 }),
    ...(block === undefined
      ? []
      : [event("content_block_start", { index: 1, content_block: call })]),
    ...(block === undefined ? [] : [event("content_block_stop", { index: 1 })]),
    event("message_delta", {
      delta: { stop_reason: stop },
      usage: { output_tokens: 5, ...usage },
    }),
    event("message_stop"),
  );
}

function event(type: string, fields: object = {}): { readonly type: string } {
  return { type, ...fields };
}

describe.each(CLIENTS)("for a client of %s", (client) => {
  const open = (upstream: KnownWire) => ({ client, upstream });

  test.each(ANSWERS_A)("a provider of wire_a: %s", (_name, answer, flaws) => {
    expect(flawsOf(play(openJson(open("wire_a")), [wholeA(answer)]).bridge)).toEqual(flaws);
    expect(flawsOf(play(openStream(open("wire_a")), [streamA(answer)]).bridge)).toEqual(flaws);
  });

  test.each(ANSWERS_B)("a provider of wire_b: %s", (_name, answer, flaws) => {
    expect(flawsOf(play(openJson(open("wire_b")), [wholeB(answer)]).bridge)).toEqual(flaws);
    expect(flawsOf(play(openStream(open("wire_b")), [streamB(answer)]).bridge)).toEqual(flaws);
  });
});

describe("an answer that fails", () => {
  const failure = (bridge: AnswerBridge, body: string) => play(bridge, [body]).bridge.failure;
  const stream = () => openStream({ client: "wire_a", upstream: "wire_a" });
  const translated = () => openJson({ client: "wire_b", upstream: "wire_a" });

  test("is malformed when it ends early or is not JSON", () => {
    expect(failure(stream(), chunks(delta({ content: "Hi" })))?.isMalformed).toBe(true);
    expect(failure(stream(), "data: {\n\n")?.isMalformed).toBe(true);
    expect(failure(translated(), "{")?.isMalformed).toBe(true);
  });

  test("is not malformed when it is an error, or has bad arguments from the model", () => {
    const error = { error: { code: 503, message: "overloaded" } };
    const overloaded = failure(stream(), chunks(delta({ content: "Hi" }), error));
    expect(overloaded?.strike).toBe("strike");
    expect(overloaded?.isMalformed).toBeUndefined();
    const call = { ...CALL, function: { name: "f", arguments: "{oops" } };
    const broken = failure(translated(), wholeA({ finish: "tool_calls", calls: [call] }));
    expect(broken?.strike).toBe("strike");
    expect(broken?.isMalformed).toBeUndefined();
  });

  test("is not malformed when it is longer than the gateway reads", () => {
    const long = failure(stream(), `data: ${"x".repeat(1_100_000)}\n\n`);
    expect(long).toMatchObject({
      strike: "strike",
      refusal: { class: "gateway_error", status: 502 },
    });
    expect(long?.isMalformed).toBeUndefined();
  });
});
