import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { runs } from "../../../../test/support/depth.ts";
import { refusal } from "../../../kernel/core/refusals.ts";
import { OutputPieces } from "../../wire/sse/sse.ts";
import type { StreamEncoder } from "../../wire/answer/stream-driver.ts";
import { AnthropicMessagesEncoder } from "../../wire/anthropic-messages/stream-encoder.ts";
import { brokenOffFailure } from "../../wire/failure/failures.ts";
import type { ChatEvent } from "../../wire/neutral/chat-event.ts";
import { OpenaiChatEncoder } from "../../wire/openai-chat/stream-encoder.ts";
import {
  chunks,
  costUsd,
  events,
  idTail,
  marketModel,
  openStream,
  play,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import { readLegalWireA } from "../../../../test/fixtures/modality/legal-wire-a.ts";
import { readLegalWireB } from "../../../../test/fixtures/modality/legal-wire-b.ts";

const label = {
  idTail,
  modelId: marketModel,
  createdSeconds: 7,
  wantsUsageChunk: false,
  usesFunctions: false,
  countInputTokens: () => 0,
};
const failure = refusal("upstream_error", "the provider failed");

const word = fc.constantFrom("", "a", " ", "{", "}", '{"a":1}', '"', "\\", "\n\n", "\ud83d", "🙂");
const call = fc.nat(3);
const chatEvent: fc.Arbitrary<ChatEvent> = fc.oneof(
  { arbitrary: fc.record({ type: fc.constant("text"), text: word }), weight: 3 },
  fc.record({ type: fc.constant("refusal"), text: word }),
  fc.record({ type: fc.constant("reasoning"), text: word }),
  {
    arbitrary: fc.record({
      type: fc.constant("tool_start"),
      call,
      id: fc.constantFrom("", "a", "f.g:0", "tmid_x"),
      name: word,
    }),
    weight: 3,
  },
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

/** The text and the arguments that a list of events has, in the order an encoder must keep. */
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

describe("an encoder never writes an illegal stream, whatever the events", () => {
  test("wire_a, completed", () => {
    fc.assert(
      fc.property(fc.array(chatEvent, { maxLength: 40 }), (list) => {
        const encoder = new OpenaiChatEncoder(label);
        const kept = list.filter((event) => event.type !== "failure");
        const text = written(encoder, [...kept, { type: "end" }]);
        const read = readLegalWireA(text + encoder.finishText(undefined, costUsd));
        expect(read).toMatchObject({ isDone: true, error: undefined });
      }),
      { numRuns: runs(2_000) },
    );
  });

  test("wire_b, completed", () => {
    fc.assert(
      fc.property(fc.array(chatEvent, { maxLength: 40 }), (list) => {
        const encoder = new AnthropicMessagesEncoder(label);
        const kept = list.filter((event) => event.type !== "failure");
        const text = written(encoder, [...kept, { type: "end" }]);
        const read = readLegalWireB(text + encoder.finishText(undefined, costUsd));
        expect(read).toMatchObject({ isStopped: true, error: undefined });
      }),
      { numRuns: runs(2_000) },
    );
  });

  test("both wires, cut off anywhere by a failure", () => {
    fc.assert(
      fc.property(fc.array(chatEvent, { maxLength: 40 }), (list) => {
        const a = new OpenaiChatEncoder(label);
        const open = list.filter((event) => event.type !== "end");
        const readA = readLegalWireA(written(a, open) + a.failText(failure, undefined, costUsd));
        const b = new AnthropicMessagesEncoder(label);
        const readB = readLegalWireB(written(b, open) + b.failText(failure));
        expect([readA.error, readB.error]).not.toContain(undefined);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe("an encoder loses nothing", () => {
  const fragments = fc.array(
    fc.oneof(
      fc.record({ type: fc.constant("text"), text: fc.constantFrom("a", "b ", "🙂") }),
      fc.record({
        type: fc.constant("tool_arguments"),
        call: fc.nat(3),
        json: fc.constantFrom('{"a":"', '\\"', "}", '"}', "[1"),
      }),
    ),
    { maxLength: 30 },
  ) as fc.Arbitrary<ChatEvent[]>;

  /** Calls start at any place, in the order of their numbers. */
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
        const text = written(encoder, [...kept, { type: "end" }]);
        const read = readLegalWireA(text + encoder.finishText(undefined, costUsd));
        const expected = reported(kept);
        expect(read.text).toBe(expected.text);
        expect(read.calls.map((found) => found.arguments)).toEqual(
          [...expected.calls.values()].map((json) => json || "{}"),
        );
      }),
      { numRuns: runs(1_000) },
    );
  });

  test("wire_b: text and every call arrive, each call in one block, up to its closing brace", () => {
    fc.assert(
      fc.property(list, (kept) => {
        const encoder = new AnthropicMessagesEncoder(label);
        const text = written(encoder, [...kept, { type: "end" }]);
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
          // Text after a whole object, where none is allowed.
          expect(sent === json || sent.endsWith("}")).toBe(true);
        }
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe("a bridge takes anything", () => {
  const fields = fc.oneof(fc.jsonValue(), fc.constantFrom("", "a", null, 0, {}, []));
  const chunk = fc.oneof(
    fc.constant("[DONE]"),
    fc.jsonValue(),
    fc.record(
      {
        id: fields,
        model: fields,
        choices: fc.oneof(
          fields,
          fc.array(
            fc.record(
              {
                delta: fc.oneof(
                  fields,
                  fc.record(
                    {
                      content: fields,
                      reasoning: fields,
                      refusal: fields,
                      tool_calls: fc.oneof(
                        fields,
                        fc.array(
                          fc.record(
                            {
                              index: fc.oneof(fc.nat(2), fields),
                              id: fields,
                              function: fc.record(
                                { name: fields, arguments: fields },
                                { requiredKeys: [] },
                              ),
                            },
                            { requiredKeys: [] },
                          ),
                        ),
                      ),
                    },
                    { requiredKeys: [] },
                  ),
                ),
                finish_reason: fc.oneof(
                  fc.constantFrom("stop", "tool_calls", "error", null),
                  fields,
                ),
              },
              { requiredKeys: [] },
            ),
          ),
        ),
        usage: fc.oneof(
          fields,
          fc.record({ prompt_tokens: fields, completion_tokens: fields, cost: fields }),
        ),
      },
      { requiredKeys: [] },
    ),
  );
  const event = fc.record(
    {
      type: fc.constantFrom(
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "other",
      ),
      index: fc.oneof(fc.nat(3), fields),
      message: fc.oneof(fields, fc.record({ usage: fields, model: fields })),
      content_block: fc.oneof(
        fields,
        fc.record({
          type: fc.constantFrom("text", "tool_use", "thinking", "x"),
          id: fields,
          name: fields,
          input: fields,
          text: fields,
        }),
      ),
      delta: fc.oneof(
        fields,
        fc.record({
          type: fc.constantFrom("text_delta", "input_json_delta", "thinking_delta", "x"),
          text: fields,
          partial_json: fields,
          stop_reason: fields,
        }),
      ),
      usage: fc.oneof(fields, fc.record({ input_tokens: fields, output_tokens: fields })),
    },
    { requiredKeys: ["type"] },
  );

  test("wire_a chunks of any shape give a wire_b client a legal stream", () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), (list) => {
        const wires = { client: "wire_b", upstream: "wire_a" } as const;
        const read = readLegalWireB(play(openStream(wires), [chunks(...list)]).text);
        expect(read.isStopped).toBe(read.error === undefined);
      }),
      { numRuns: runs(1_500) },
    );
  });

  test("wire_b events of any shape give a wire_a client a legal stream", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 16 }), (list) => {
        const wires = { client: "wire_a", upstream: "wire_b" } as const;
        const read = readLegalWireA(play(openStream(wires), [events(...list)]).text);
        expect(read.isDone).toBe(read.error === undefined);
      }),
      { numRuns: runs(1_500) },
    );
  });

  test("nesting as deep as an event can hold is survived by every bridge", () => {
    const deep = '{"a":'.repeat(150_000) + "1" + "}".repeat(150_000);
    const asA = `{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":${deep}}}]}}],"usage":${deep},"error":null}`;
    const asB = `{"type":"content_block_start","content_block":{"type":"tool_use","input":${deep}},"usage":${deep}}`;
    const texts = [asA, asB, `{"error":${deep}}`, deep].map((json) => `data: ${json}\n\n`);
    for (const client of ["wire_a", "wire_b"] as const) {
      for (const upstream of ["wire_a", "wire_b"] as const) {
        for (const text of texts) {
          const { bridge } = play(openStream({ client, upstream }), [text]);
          expect(bridge.state).toBe("failed");
        }
      }
    }
  });

  test("relays survive both, and raw garbage", () => {
    const garbage = fc.oneof(
      fc.array(chunk).map((list) => chunks(...list)),
      fc.array(event).map((list) => events(...list)),
      fc.string({ unit: "binary" }),
      fc
        .array(
          fc.constantFrom("data:", "event: ping\n", "\n", "\r", "{", "}", '{"error":1}', "[DONE]"),
        )
        .map((list) => list.join("")),
    );
    fc.assert(
      fc.property(garbage, fc.constantFrom("wire_a", "wire_b"), (text, wire) => {
        const { bridge } = play(openStream({ client: wire, upstream: wire }), [text]);
        expect(["complete", "failed"]).toContain(bridge.state);
        expect(bridge.failure === undefined).toBe(bridge.state === "complete");
      }),
      { numRuns: runs(2_000) },
    );
  });
});
