import { describe, expect, test } from "vitest";

import {
  chunks,
  delta,
  done,
  events,
  openJson,
  openStream,
  play,
  toolDelta,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import { readLegalWireA } from "../../../../test/fixtures/modality/legal-wire-a.ts";
import { readLegalWireB } from "../../../../test/fixtures/modality/legal-wire-b.ts";
import {
  args,
  block,
  close,
  finish,
  json,
  named,
  start,
  stop,
  text,
  textStart,
  toWireA,
  toWireB,
  usage,
} from "../../../../test/fixtures/modality/peer-kit.ts";

/**
 * Bugs of other gateways in their answers, by the numbers of their trackers, and the correct
 * answers.
 */

describe("finish reasons", () => {
  test("litellm 34692, 34718: stop after a tool call in a stream is tool_use", () => {
    const read = toWireB(toolDelta(0, named("f", "{}", "c1")), finish("stop"), done);
    expect(read.stopReason).toBe("tool_use");
    expect(read.blocks.map((found) => found.kind)).toEqual(["tool_use"]);
  });

  test("bifrost 3638, 6123: text and then a tool call is tool_use", () => {
    const read = toWireB(
      delta({ content: "a" }),
      toolDelta(0, named("f", "{}", "c")),
      finish("stop"),
      done,
    );
    expect(read.stopReason).toBe("tool_use");
  });

  test("pgedge 217, vercel/ai 12218: calls with stop in a whole answer", () => {
    const message = { role: "assistant", content: null, tool_calls: [named("f", "{}", "c")] };
    const body = { choices: [{ index: 0, message, finish_reason: "stop" }], usage };
    const { text: sent } = play(openJson({ client: "wire_b", upstream: "wire_a" }), [
      JSON.stringify(body),
    ]);
    expect(JSON.parse(sent)).toMatchObject({ stop_reason: "tool_use", content: [{ name: "f" }] });
  });

  test("tool_calls without a call would send the client waiting: end_turn", () => {
    expect(toWireB(delta({ content: "a" }), finish("tool_calls"), done).stopReason).toBe(
      "end_turn",
    );
  });

  test.each([
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "content_filter"],
    ["pause_turn", "stop"],
    ["brand_new_word", "stop"],
    ["constructor", "stop"],
    [null, "stop"],
  ])("Portkey 459, 468: %s never leaks to a wire_a client, it reads %s", (word, expected) => {
    expect(toWireA(start, textStart(0), text(0, "a"), ...close(word)).finish).toBe(expected);
  });

  test.each([
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["content_filter", "refusal"],
    ["eos", "end_turn"],
    ["abort", "end_turn"],
    ["toString", "end_turn"],
  ])("litellm 12481, 12862: the vendor word %s reads %s", (word, expected) => {
    expect(toWireB(delta({ content: "a" }), finish(word), done).stopReason).toBe(expected);
  });

  test("new-api 1761: a cut answer with calls stays a cut answer", () => {
    const read = toWireB(toolDelta(0, named("f", '{"a":', "c")), finish("length"), done);
    expect(read.stopReason).toBe("max_tokens");
  });

  test("only a word the caller gave as a stop sequence is reported as one", () => {
    const stopped = { ...delta({ content: "a" }), choices: [choiceStoppedBy("###")] };
    const wires = { client: "wire_b", upstream: "wire_a" } as const;
    const mine = play(openStream({ ...wires, body: { stop_sequences: ["###"] } }), [
      chunks(stopped, done),
    ]);
    expect(readLegalWireB(mine.text)).toMatchObject({
      stopReason: "stop_sequence",
      stopSequence: "###",
    });
    const others = play(openStream(wires), [chunks(stopped, done)]);
    expect(readLegalWireB(others.text)).toMatchObject({
      stopReason: "end_turn",
      stopSequence: null,
    });
  });
});

function choiceStoppedBy(word: string): object {
  return { index: 0, delta: { content: "a" }, finish_reason: "stop", stop_reason: word };
}

describe("tool arguments", () => {
  test("litellm 25836, 25561, 29491: every byte of the arguments arrives", () => {
    const read = toWireB(
      toolDelta(0, named("f", "", "c")),
      ...'{"a":[1,2]}'.split("").map((letter) => toolDelta(0, args(letter))),
      finish("tool_calls"),
      done,
    );
    expect(read.blocks[0]?.text).toBe('{"a":[1,2]}');
  });

  test("litellm 25321: arguments sent whole at the end", () => {
    const read = toWireB(
      toolDelta(0, named("f", "", "c")),
      {
        ...delta({}),
        choices: [
          {
            index: 0,
            delta: { tool_calls: [{ index: 0, ...args('{"a":1}') }] },
            finish_reason: "tool_calls",
          },
        ],
      },
      done,
    );
    expect(read.blocks[0]?.text).toBe('{"a":1}');
  });

  test("litellm 18238: text and a call in one chunk are both kept, text first", () => {
    const both = delta({ content: "hi", tool_calls: [{ index: 0, ...named("f", "{}", "c") }] });
    const read = toWireB(both, finish("tool_calls"), done);
    expect(read.blocks.map((found) => [found.kind, found.text])).toEqual([
      ["text", "hi"],
      ["tool_use", "{}"],
    ]);
  });

  test.each([[[]], [null]])("litellm 29286: content beside tool_calls %j is text alone", (none) => {
    const read = toWireB(delta({ content: "hi", tool_calls: none }), finish("stop"), done);
    expect(read.blocks).toMatchObject([{ kind: "text", text: "hi" }]);
    expect(read.stopReason).toBe("end_turn");
  });

  test("a tool without arguments has the empty object on wire_a", () => {
    const read = toWireA(
      start,
      block(0, { type: "tool_use", id: "t", name: "f", input: {} }),
      json(0, ""),
      stop(0),
      ...close("tool_use"),
    );
    expect(read.calls).toEqual([{ id: "t", name: "f", arguments: "{}" }]);
  });

  test("a call whose block was never closed has its arguments nevertheless", () => {
    const input = { a: 1 };
    const call = block(0, { type: "tool_use", id: "t", name: "f", input });
    expect(toWireA(start, call, ...close("tool_use")).calls[0]?.arguments).toBe('{"a":1}');
  });

  test("arguments given at the start of a block are used when no fragment follows", () => {
    const at =
      'data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use",' +
      '"id":"t","name":"f","input":{ "n": 12345678901234567890 }}}\n\n';
    const { text: sent } = play(openStream({ client: "wire_a", upstream: "wire_b" }), [
      events(start) + at + events(stop(0), ...close("tool_use")),
    ]);
    expect(readLegalWireA(sent).calls[0]?.arguments).toBe('{"n":12345678901234567890}');
  });
});

describe("blocks and indexes", () => {
  test("litellm 13373, new-api 5482, 5483: starts before deltas, contiguous indexes", () => {
    const read = toWireB(
      delta({ role: "assistant", content: "" }),
      toolDelta(3, named("f", "{}", "c1")),
      delta({ content: "then" }),
      toolDelta(7, named("g", "{}", "c2")),
      finish("tool_calls"),
      done,
    );
    expect(read.blocks.map((found) => found.kind)).toEqual(["tool_use", "text", "tool_use"]);
  });

  test("new-api 6394, open-webui 25963: parallel calls whose fragments interleave stay separate", () => {
    const read = toWireB(
      toolDelta(0, named("f", '{"a"', "c1")),
      toolDelta(1, named("g", '{"b"', "c2")),
      toolDelta(0, args(":1}")),
      toolDelta(1, args(":2}")),
      finish("tool_calls"),
      done,
    );
    expect(read.blocks.map(({ name, text: sent }) => [name, sent])).toEqual([
      ["f", '{"a":1}'],
      ["g", '{"b":2}'],
    ]);
  });

  test("calls without an index are distinguished by id, and by being whole", () => {
    const byId = toWireB(
      toolDelta(undefined, named("f", "{", "c1")),
      toolDelta(undefined, args("}")),
      toolDelta(undefined, named("g", "{}", "c2")),
      finish("tool_calls"),
      done,
    );
    expect(byId.blocks.map(({ name, text: sent }) => [name, sent])).toEqual([
      ["f", "{}"],
      ["g", "{}"],
    ]);
    const unnamed = toWireB(
      toolDelta(undefined, named("f", "{}")),
      toolDelta(undefined, named("g", "{}")),
      done,
    );
    expect(unnamed.blocks.map(({ name }) => name)).toEqual(["f", "g"]);
  });

  test("servers that send index 0 for every call", () => {
    const read = toWireB(
      toolDelta(0, named("f", "{}", "c1")),
      toolDelta(0, named("g", "{}", "c2")),
      finish("tool_calls"),
      done,
    );
    expect(read.blocks.map(({ id }) => id)).toEqual(["c1", "c2"]);
  });

  test("a name that comes late, and one that is repeated in every fragment", () => {
    const late = toWireB(
      toolDelta(0, { id: "c", ...args('{"a":') }),
      toolDelta(0, named("f", "1}")),
      done,
    );
    expect(late.blocks).toMatchObject([{ name: "f", text: '{"a":1}' }]);
    const repeated = toWireB(
      toolDelta(0, named("f", "{", "c")),
      toolDelta(0, named("f", "}", "c")),
      done,
    );
    expect(repeated.blocks).toMatchObject([{ name: "f", text: "{}" }]);
  });

  test("cc-switch 5692: reasoning between pieces of text leaves one text block", () => {
    const read = toWireB(
      delta({ reasoning_content: "a" }),
      delta({ content: "b" }),
      delta({ reasoning_content: "c" }),
      delta({ content: "d" }),
      finish("stop"),
      done,
    );
    expect(read.blocks).toMatchObject([{ kind: "text", text: "bd" }]);
  });

  test("vercel/ai 5576: no empty text block in front of a call", () => {
    const read = toWireB(delta({ content: "" }), toolDelta(0, named("f", "{}", "c")), done);
    expect(read.blocks.map((found) => found.kind)).toEqual(["tool_use"]);
  });

  test("CLIProxyAPI 2172, 1584: no thinking block is invented for reasoning", () => {
    const read = toWireB(delta({ reasoning: "hm" }), delta({ content: "a" }), finish("stop"), done);
    expect(read.blocks.map((found) => found.kind)).toEqual(["text"]);
  });

  test("llmgateway 3389: ids are unique in one answer, and legal", () => {
    const read = toWireB(
      toolDelta(0, named("f", "{}", "functions.f:0")),
      toolDelta(1, named("g", "{}", "same")),
      toolDelta(2, named("h", "{}", "same")),
      toolDelta(3, named("i", "{}")),
      done,
    );
    expect(new Set(read.blocks.map(({ id }) => id)).size).toBe(4);
    expect(read.blocks[1]?.id).toBe("same");
  });
});
