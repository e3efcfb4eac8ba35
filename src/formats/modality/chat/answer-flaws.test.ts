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
  playJson,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import {
  close,
  start,
  stop,
  text,
  textStart,
} from "../../../../test/fixtures/modality/peer-kit.ts";
import type { KnownWire } from "../../../../test/fixtures/modality/request-kit.ts";

const CALL = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const COUNTS = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function wholeA(finish: string | null, usage: object, calls?: readonly object[]): string {
  const message = { content: "Hi", ...(calls && { tool_calls: calls }) };
  return wholeAnswer(message, finish, { usage: { ...COUNTS, ...usage } });
}

function streamA(finish: string | null, usage: object, calls?: readonly object[]): string {
  const fragments = calls?.map((call, index) => ({ index, ...call }));
  return chunks(
    delta({ role: "assistant", content: "Hi" }),
    ...(fragments === undefined ? [] : [delta({ tool_calls: fragments })]),
    delta({}, finish),
    { ...delta({}), choices: [], usage: { ...COUNTS, ...usage } },
    done,
  );
}

function wholeB(reason: string | null, usage: object): string {
  const content = [{ type: "text", text: "Hi" }];
  const counts = { input_tokens: 10, output_tokens: 5, ...usage };
  return JSON.stringify({ type: "message", content, stop_reason: reason, usage: counts });
}

function streamB(reason: string | null, usage: object): string {
  const counts = { output_tokens: 5, ...usage };
  return events(start, textStart(0), text(0, "Hi"), stop(0), ...close(reason, counts));
}

const inCache = (cached_tokens: number) => ({ prompt_tokens_details: { cached_tokens } });
const thought = (reasoning_tokens: number) => ({ completion_tokens_details: { reasoning_tokens } });
const thoughtB = { output_tokens_details: { thinking_tokens: 6 } };

/** The flaws found do not depend on whether an answer is relayed or translated. */
describe.each<KnownWire>(["wire_a", "wire_b"])("flaws of answers for a client of %s", (client) => {
  function findFlaws(upstream: KnownWire, whole: string, stream: string): readonly unknown[] {
    const wires = { client, upstream };
    const bridges = [playJson(wires, whole), play(openStream(wires), [stream])];
    const [one, other] = bridges.map(({ bridge }) => {
      expect(bridge.state).toBe("complete");
      return [bridge.hasWrongFinish, bridge.usageFlaw];
    });
    expect(other).toEqual(one);
    return one ?? [];
  }

  test.each([
    ["stop", undefined, false],
    ["tool_calls", [CALL], false],
    ["stop", [CALL], false],
    [null, undefined, true],
    ["tool_calls", undefined, true],
  ])("chat completions: the finish %s with the calls %j is wrong: %s", (finish, calls, isWrong) => {
    const found = findFlaws("wire_a", wholeA(finish, {}, calls), streamA(finish, {}, calls));
    expect(found).toEqual([isWrong, undefined]);
  });

  test.each([
    [{ total_tokens: 16 }, "usage.total_tokens is not prompt plus completion"],
    [{ total_tokens: -1 }, "usage.total_tokens is not a count"],
    [{ total_tokens: null }, undefined],
    [inCache(11), "more prompt tokens are cached than there are"],
    [inCache(10), undefined],
    [thought(6), "more reasoning tokens than output tokens"],
    [{ ...thought(6), total_tokens: 21 }, undefined],
  ])("chat completions that report %j have the usage flaw: %s", (usage, flaw) => {
    const found = findFlaws("wire_a", wholeA("stop", usage), streamA("stop", usage));
    expect(found).toEqual([false, flaw]);
  });

  const negative = { cache_read_input_tokens: -1 };
  test.each([
    ["end_turn", {}, false, undefined],
    [null, {}, true, undefined],
    ["tool_use", {}, true, undefined],
    ["end_turn", { cache_read_input_tokens: 99 }, false, undefined],
    ["end_turn", thoughtB, false, "more thinking tokens than output tokens"],
    ["end_turn", negative, false, "usage.cache_read_input_tokens is not a count"],
  ])(
    "messages with the stop reason %s and the usage %j have a wrong finish: %s, a flaw: %s",
    (reason, usage, isWrong, flaw) => {
      const found = findFlaws("wire_b", wholeB(reason, usage), streamB(reason, usage));
      expect(found).toEqual([isWrong, flaw]);
    },
  );
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

  test("is not counted as malformed for a provider's error", () => {
    const error = { error: { code: 503, message: "overloaded" } };
    const overloaded = failure(stream(), chunks(delta({ content: "Hi" }), error));
    expect(overloaded?.strike).toBe("strike");
    expect(overloaded?.isMalformed).toBeUndefined();
  });

  // A prompt can ask the model for such calls, so one customer could open the circuit for all.
  test.each([
    ["arguments that are no JSON", { name: "f", arguments: "{oops" }],
    ["arguments that are no object", { name: "f", arguments: "[]" }],
    ["arguments and no name", { arguments: '{"a":1}' }],
  ])("is neither malformed nor a strike for a call with %s", (_name, written) => {
    const calls = [{ ...CALL, function: written }];
    const broken = failure(translated(), wholeA("tool_calls", {}, calls));
    expect(broken).toMatchObject({ strike: "neutral", refusal: { class: "gateway_error" } });
    expect(broken?.isMalformed).toBeUndefined();
  });

  test("is neither malformed nor a strike for a streamed call without a name", () => {
    const calls = [{ ...CALL, function: { arguments: '{"a":1}' } }];
    const bridge = openStream({ client: "wire_b", upstream: "wire_a" });
    const broken = failure(bridge, streamA("tool_calls", {}, calls));
    expect(broken).toMatchObject({ strike: "neutral", refusal: { class: "gateway_error" } });
    expect(broken?.isMalformed).toBeUndefined();
  });

  test("is a strike but not malformed when a line is longer than the gateway reads", () => {
    const long = failure(stream(), `data: ${"x".repeat(1_100_000)}\n\n`);
    const refusal = { class: "gateway_error", status: 502 };
    expect(long).toMatchObject({ strike: "strike", refusal });
    expect(long?.isMalformed).toBeUndefined();
  });
});
