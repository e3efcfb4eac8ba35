import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { quickOrDeep } from "../../../../test/support/depth.ts";
import { refusal } from "../../../kernel/core/refusals.ts";
import { OutputPieces } from "../../wire/sse/sse.ts";
import type { StreamEncoder } from "../../wire/answer/stream-driver.ts";
import { AnthropicMessagesEncoder } from "../../wire/anthropic-messages/stream-encoder.ts";
import { brokenOffFailure } from "../../wire/failure/failures.ts";
import type { ChatEvent } from "../../wire/neutral/chat-event.ts";
import { OpenaiChatEncoder } from "../../wire/openai-chat/stream-encoder.ts";
import {
  aToB,
  bToA,
  EVERY,
  chunks,
  costUsd,
  events,
  idTail,
  marketModel,
  openStream,
  play,
  playStream,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import { readLegalWireA } from "../../../../test/fixtures/modality/legal-wire-a.ts";
import { readLegalWireB } from "../../../../test/fixtures/modality/legal-wire-b.ts";

const label = {
  idTail,
  modelId: marketModel,
  createdSeconds: 7,
  wantsUsageChunk: false,
  usesFunctions: false,
  namesTool: false,
  countInputTokens: () => 0,
  listUsedIds: () => [],
};
const END = { type: "end" } as const;
const failure = refusal("upstream_error", "the provider failed");

const word = fc.constantFrom("", "a", " ", "{", "}", '{"a":1}', '"', "\\", "\n\n", "\ud83d", "🙂");
const call = fc.nat(3);
const id = fc.constantFrom("", "a", "f.g:0", "tmid_x");
const chatEvent: fc.Arbitrary<ChatEvent> = fc.oneof(
  { arbitrary: fc.record({ type: fc.constant("text"), text: word }), weight: 3 },
  fc.record({ type: fc.constant("refusal"), text: word }),
  fc.record({ type: fc.constant("reasoning"), text: word }),
  { arbitrary: fc.record({ type: fc.constant("tool_start"), call, id, name: word }), weight: 3 },
  { arbitrary: fc.record({ type: fc.constant("tool_arguments"), call, json: word }), weight: 4 },
  fc.record({ type: fc.constant("tool_end"), call }),
  fc.record({
    type: fc.constant("finish"),
    reason: fc.constantFrom("stop", "stop_sequence", "length", "tool_calls", "refusal"),
  }),
  fc.record({ type: fc.constant("end") }),
  fc.constant({ type: "failure", failure: brokenOffFailure() }),
);

function written(encoder: StreamEncoder, list: readonly ChatEvent[]): string {
  const out = new OutputPieces();
  for (const event of list) encoder.encode(event, out);
  return out.take() ?? "";
}

/** Returns the text of all events and the arguments of each call, joined in order. */
function reported(list: readonly ChatEvent[]): { text: string; calls: Map<number, string> } {
  let text = "";
  const calls = new Map<number, string>();
  for (const event of list) {
    if (event.type === "text") text += event.text;
    if (event.type === "tool_start" && !calls.has(event.call)) calls.set(event.call, "");
    if (event.type === "tool_arguments") {
      const known = calls.get(event.call);
      if (known !== undefined) calls.set(event.call, known + event.json);
    }
  }
  return { text, calls };
}

test("an encoder never writes an illegal stream, completed or cut off, whatever the events", () => {
  fc.assert(
    fc.property(fc.array(chatEvent, { maxLength: 40 }), (list) => {
      const kept = list.filter((event) => event.type !== "failure");
      const open = list.filter((event) => event.type !== "end");
      const a = new OpenaiChatEncoder(label);
      const wholeA = written(a, [...kept, END]) + a.finishText(undefined, costUsd);
      expect(readLegalWireA(wholeA)).toMatchObject({ isDone: true, error: undefined });
      const b = new AnthropicMessagesEncoder(label);
      const wholeB = written(b, [...kept, END]) + b.finishText(undefined, costUsd);
      expect(readLegalWireB(wholeB)).toMatchObject({ isStopped: true, error: undefined });
      const cutA = new OpenaiChatEncoder(label);
      const cutB = new AnthropicMessagesEncoder(label);
      const failed = [
        readLegalWireA(written(cutA, open) + cutA.failText(failure, undefined, costUsd)),
        readLegalWireB(written(cutB, open) + cutB.failText(failure)),
      ];
      expect(failed.map(({ error }) => error)).not.toContain(undefined);
    }),
    { numRuns: quickOrDeep(200, 20_000) },
  );
});

describe("an encoder loses nothing", () => {
  const textEvent = fc.record({
    type: fc.constant("text"),
    text: fc.constantFrom("a", "b ", "🙂"),
  });
  const piece = fc.constantFrom('{"a":"', '\\"', "}", '"}', "[1");
  const part = fc.record({ type: fc.constant("tool_arguments"), call, json: piece });
  const fragments = fc.array(fc.oneof(textEvent, part), { maxLength: 30 }) as fc.Arbitrary<
    ChatEvent[]
  >;

  /** Lists of events in which calls start at random places, in the order of their numbers. */
  const list = fc.tuple(fragments, fc.array(fc.nat(30), { maxLength: 4 })).map(([kept, places]) => {
    const merged = [...kept];
    for (const [index, place] of places.toSorted((a, b) => a - b).entries()) {
      const start = { type: "tool_start", call: index, id: "", name: `f${index}` } as const;
      merged.splice(Math.min(merged.length, place + index), 0, start);
    }
    return merged;
  });

  test("wire_a: text and every fragment of every call arrive", () => {
    fc.assert(
      fc.property(list, (kept) => {
        const encoder = new OpenaiChatEncoder(label);
        const text = written(encoder, [...kept, END]);
        const read = readLegalWireA(text + encoder.finishText(undefined, costUsd));
        const expected = reported(kept);
        expect(read.text).toBe(expected.text);
        expect(read.calls.map((found) => found.arguments)).toEqual(
          [...expected.calls.values()].map((json) => json || "{}"),
        );
      }),
      { numRuns: quickOrDeep(150, 10_000) },
    );
  });

  test("wire_b: text and every call arrive, each call in one block, up to its closing brace", () => {
    fc.assert(
      fc.property(list, (kept) => {
        const encoder = new AnthropicMessagesEncoder(label);
        const text = written(encoder, [...kept, END]);
        const read = readLegalWireB(text + encoder.finishText(undefined, costUsd));
        const expected = reported(kept);
        const texts = read.blocks.filter((block) => block.kind === "text");
        expect(texts.map((block) => block.text).join("")).toBe(expected.text);
        const tools = read.blocks.filter((block) => block.kind === "tool_use");
        const calls = [...expected.calls.values()];
        expect(tools).toHaveLength(calls.length);
        for (const [index, json] of calls.entries()) {
          const sent = tools[index]?.text ?? "";
          expect(json.startsWith(sent)).toBe(true);
          // The encoder may drop only text after the closing brace of the arguments.
          expect(sent === json || sent.endsWith("}")).toBe(true);
        }
      }),
      { numRuns: quickOrDeep(150, 10_000) },
    );
  });
});

describe("an answer bridge accepts any input from a provider", () => {
  const fields = fc.oneof(fc.jsonValue(), fc.constantFrom("", "a", null, 0, {}, []));
  /** Generates objects with some of these members, and sometimes another value. */
  const some = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> =>
    fc.oneof(fields, { arbitrary: fc.record(members, { requiredKeys: [] }), weight: 3 });
  const listOf = (item: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof(fields, { arbitrary: fc.array(item), weight: 3 });
  const oneOf = (...words: unknown[]): fc.Arbitrary<unknown> =>
    fc.oneof(fields, { arbitrary: fc.constantFrom(...words), weight: 3 });

  const fn = some({ name: fields, arguments: fields });
  const calls = listOf(some({ index: fc.oneof(fc.nat(2), fields), id: fields, function: fn }));
  const delta = some({ content: fields, reasoning: fields, refusal: fields, tool_calls: calls });
  const choice = some({ delta, finish_reason: oneOf("stop", "tool_calls", "error", null) });
  const usageA = some({ prompt_tokens: fields, completion_tokens: fields, cost: fields });
  const chunk = fc.oneof(
    fc.constant("[DONE]"),
    some({ id: fields, model: fields, choices: listOf(choice), usage: usageA }),
  );

  const types =
    "message_start content_block_start content_block_delta content_block_stop message_delta " +
    "message_stop ping other";
  const block = { id: fields, name: fields, input: fields, text: fields };
  const part = { text: fields, partial_json: fields, stop_reason: fields };
  const event = fc.record(
    {
      type: fc.constantFrom(...types.split(" ")),
      index: fc.oneof(fc.nat(3), fields),
      message: some({ usage: fields, model: fields }),
      content_block: some({ type: oneOf("text", "tool_use", "thinking", "x"), ...block }),
      delta: some({ type: oneOf("text_delta", "input_json_delta", "thinking_delta"), ...part }),
      usage: some({ input_tokens: fields, output_tokens: fields }),
    },
    { requiredKeys: ["type"] },
  );

  test("wire_a chunks of any shape give a wire_b client a legal stream", () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), (list) => {
        const read = readLegalWireB(playStream(bToA, ...list).text);
        expect(read.isStopped).toBe(read.error === undefined);
      }),
      { numRuns: quickOrDeep(150, 15_000) },
    );
  });

  test("wire_b events of any shape give a wire_a client a legal stream", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 16 }), (list) => {
        const read = readLegalWireA(playStream(aToB, ...list).text);
        expect(read.isDone).toBe(read.error === undefined);
      }),
      { numRuns: quickOrDeep(150, 15_000) },
    );
  });

  test("an event nested 150,000 levels deep fails the answer on every pair of wires", () => {
    const deep = '{"a":'.repeat(150_000) + "1" + "}".repeat(150_000);
    const asA = `{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":${deep}}}]}}],"usage":${deep},"error":null}`;
    const asB = `{"type":"content_block_start","content_block":{"type":"tool_use","input":${deep}},"usage":${deep}}`;
    const texts = [asA, asB, `{"error":${deep}}`, deep].map((json) => `data: ${json}\n\n`);
    for (const wires of EVERY) {
      for (const text of texts) {
        expect(play(openStream(wires), [text]).bridge.state).toBe("failed");
      }
    }
  });

  test("a relay completes or fails on chunks and events of any shape and on garbage", () => {
    const bit = fc.constantFrom(
      "data:",
      "event: ping\n",
      "\n",
      "\r",
      "{",
      "}",
      '{"error":1}',
      "[DONE]",
    );
    const garbage = fc.oneof(
      fc.array(chunk).map((list) => chunks(...list)),
      fc.array(event).map((list) => events(...list)),
      fc.string({ unit: "binary" }),
      fc.array(bit).map((list) => list.join("")),
    );
    fc.assert(
      fc.property(garbage, fc.constantFrom("wire_a", "wire_b"), (text, wire) => {
        const { bridge } = play(openStream({ client: wire, upstream: wire }), [text]);
        expect(["complete", "failed"]).toContain(bridge.state);
        expect(bridge.failure === undefined).toBe(bridge.state === "complete");
      }),
      { numRuns: quickOrDeep(150, 20_000) },
    );
  });
});
