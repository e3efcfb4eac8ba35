import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { quickOrDeep } from "../../../../test/support/depth.ts";
import {
  chunks,
  delta,
  done,
  events,
  openStream,
  play,
  type Wires,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import type { KnownWire } from "../../../../test/fixtures/modality/request-kit.ts";

/**
 * An event that differs from the previous one only in its text is not parsed again. Each test sends
 * the same events twice: unchanged, and padded with blanks so that every event differs.
 */
const text = fc.constantFrom("", "a", "b c", "a", "über 🙂", '"', "\\", "\n", "content", "}]");
const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };

const call = { index: 0, id: "c", function: { name: "f", arguments: "[1]" } };

const chunkA = fc.oneof(
  { arbitrary: text.map((content) => delta({ content })), weight: 12 },
  text.map((content) => ({ ...delta({ content }), usage })),
  text.map((content) => ({ ...delta({ content }), usage: { ...usage, completion_tokens: 5 } })),
  text.map((content) => ({ ...delta({ content }), model: "another" })),
  text.map((content) => delta({ role: "assistant", content })),
  text.map((content) => delta({ content, reasoning_content: "why" })),
  text.map((content) => delta({ content }, "stop")),
  text.map((content) => delta({ content, tool_calls: [call] })),
  text.map((content) => ({
    ...delta({}),
    choices: [{ index: 0, delta: { content }, finish_reason: null }, { index: 1 }],
  })),
  fc.constant(delta({ role: "assistant" }, "stop")),
);

const eventB = fc.oneof(
  { arbitrary: text.map((said) => deltaB({ type: "text_delta", text: said })), weight: 12 },
  text.map((said) => deltaB({ type: "thinking_delta", thinking: said })),
  text.map((said) => deltaB({ type: "thinking_delta", thinking: said, text: said })),
  text.map((said) => ({ ...deltaB({ type: "text_delta", text: said }), index: 1 })),
  text.map((said) => ({ ...deltaB({ type: "text_delta", text: said }), error: { message: said } })),
  fc.nat(9).map((tokens) => ({ type: "message_delta", usage: { output_tokens: tokens } })),
  fc.constant({ type: "ping" }),
);

describe.each<KnownWire>(["wire_a", "wire_b"])(
  "repeated events give a client of %s the same answer as events that are parsed",
  (client) => {
    test("from a wire_a provider", () => {
      const lists = fc.array(chunkA, { maxLength: 30 });
      fc.assert(
        fc.property(lists, fc.boolean(), (list, wantsUsageChunk) => {
          const pieces = list.map((each) => chunks(each));
          expectSame({ client, upstream: "wire_a", wantsUsageChunk }, pieces, chunks(done));
        }),
        { numRuns: quickOrDeep(80, 10_000) },
      );
    });

    test("from a wire_b provider", () => {
      const start = events({ type: "message_start", message: { usage: {} } });
      const stop = events({ type: "message_stop" });
      fc.assert(
        fc.property(fc.array(eventB, { maxLength: 30 }), (list) => {
          const pieces = list.map((each) => events(each));
          expectSame({ client, upstream: "wire_b" }, pieces, stop, start);
        }),
        { numRuns: quickOrDeep(80, 10_000) },
      );
    });
  },
);

function expectSame(wires: Wires, pieces: readonly string[], stop: string, start = ""): void {
  const parsed = answered(wires, [start, ...pieces.map(distinct), stop]);
  expect(answered(wires, [start, ...pieces, stop])).toEqual(parsed);
}

test("a repeated event is sent on with the marketplace's model id, on one line", () => {
  const bridge = openStream({ client: "wire_a", upstream: "wire_a", wantsUsageChunk: true });
  const texts = ["one", "two", "three"].map((content) => chunks(delta({ content })));
  const said = [chunks(delta({ role: "assistant" })), ...texts];
  const sent = said.map((each) => each.replace("up-model", "acme/test-1")).join("");
  expect(play(bridge, [...said, chunks(done)]).text.startsWith(sent)).toBe(true);
});

function deltaB(fields: object) {
  return { type: "content_block_delta", index: 0, delta: fields };
}

/** Appends a number of blanks that no other event has. */
function distinct(event: string, index: number): string {
  return event.replace("\n\n", `${" ".repeat(index + 1)}\n\n`);
}

function answered(wires: Wires, pieces: readonly string[]): object {
  const { bridge, text: sent } = play(openStream(wires), pieces);
  const { usage: reported, state, failure, servedModel } = bridge;
  const lines = sent.split("\n").filter((line) => line !== "");
  return { lines: lines.map((line) => line.trim()), reported, state, failure, servedModel };
}
