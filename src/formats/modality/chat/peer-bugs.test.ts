import { describe, expect, test } from "vitest";

import {
  aToB,
  bToA,
  chunks,
  delta,
  done,
  events,
  idTail,
  openStream,
  play,
  toolDelta,
  wholeAnswer,
  playJson,
  playStream,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import { readLegalWireA } from "../../../../test/fixtures/modality/legal-wire-a.ts";
import {
  readLegalWireB,
  type WireBReading,
} from "../../../../test/fixtures/modality/legal-wire-b.ts";
import {
  args,
  block,
  close,
  finish,
  named,
  start,
  stop,
  text,
  textStart,
  toWireA,
  toWireB,
  usageChunk,
} from "../../../../test/fixtures/modality/peer-kit.ts";
import { sendAcross } from "../../../../test/fixtures/modality/request-kit.ts";

/**
 * Bugs in the answers of other gateways, by the numbers of their issues, and the correct answers.
 * Every stream is read by a reader that throws if the grammar of the wire is violated.
 */

const hi = delta({ content: "a" });
const call = toolDelta(0, named("f", "{}", "c"));
const first = toolDelta(0, named("f", '{"a"', "c1"));
const second = toolDelta(1, named("g", '{"b"', "c2"));
const lateArgs = { index: 0, ...args('{"a":1}') };
const unplaced = (fields: object): object => toolDelta(undefined, fields);
const tool = (name: string, json = "{}") => ({ kind: "tool_use", name, text: json });
const said = (words: string) => ({ kind: "text", text: words });

describe("a messages client of a chat-completions provider", () => {
  test.each<[string, readonly unknown[], Partial<Record<keyof WireBReading, unknown>>]>([
    ["litellm 34692: the finish reason stop after a call is sent as tool_use",
      [call, finish("stop")], { stopReason: "tool_use" }],
    ["the finish reason tool_calls without a call is sent as end_turn",
      [hi, finish("tool_calls")], { stopReason: "end_turn" }],
    ["new-api 1761: a call cut off by the length limit ends with max_tokens",
      [toolDelta(0, named("f", '{"a":', "c")), finish("length")], { stopReason: "max_tokens" }],
    ["litellm 25321: arguments in the chunk of the finish reason are kept",
      [toolDelta(0, named("f", "", "c")), delta({ tool_calls: [lateArgs] }, "tool_calls")],
      { blocks: [tool("f", '{"a":1}')] }],
    ["litellm 18238: text and a call in one chunk are both kept",
      [delta({ content: "a", tool_calls: [{ index: 0, ...named("f", "{}", "c") }] })],
      { blocks: [said("a"), tool("f")] }],
    ["litellm 29286: content with null tool_calls is sent as text alone",
      [delta({ content: "a", tool_calls: null }), finish("stop")],
      { blocks: [said("a")], stopReason: "end_turn" }],
    ["new-api 6394: interleaved fragments of parallel calls are joined per call",
      [first, second, toolDelta(0, args(":1}")), toolDelta(1, args(":2}"))],
      { blocks: [tool("f", '{"a":1}'), tool("g", '{"b":2}')] }],
    ["calls without an index are told apart by their ids",
      [unplaced(named("f", "{", "c1")), unplaced(args("}")), unplaced(named("g", "{}", "c2"))],
      { blocks: [tool("f"), tool("g")] }],
    ["a call without an index and an id ends when its JSON is complete",
      [unplaced(named("f", "{}")), unplaced(named("g", "{}"))],
      { blocks: [tool("f"), tool("g")] }],
    ["calls with different ids stay apart even if every index is 0",
      [toolDelta(0, named("f", "{}", "c1")), toolDelta(0, named("g", "{}", "c2"))],
      { blocks: [{ id: "c1" }, { id: "c2" }] }],
    ["a call without an id ends when its JSON is complete, even if the next has its index",
      [toolDelta(0, named("f", "{}")), toolDelta(0, named("g", "{}"))],
      { blocks: [tool("f"), tool("g")] }],
    ["a later call with another id may reuse an index",
      [toolDelta(0, named("f", "{}", "c1")), second, toolDelta(0, named("g", "{}", "c3"))],
      { blocks: [{ id: "c1" }, { id: "c2" }, { id: "c3" }] }],
    ["a call is sent with its name even if the name comes after arguments",
      [toolDelta(0, { id: "c", ...args('{"a":') }), toolDelta(0, named("f", "1}"))],
      { blocks: [tool("f", '{"a":1}')] }],
    ["a name that is repeated in every fragment is sent once",
      [toolDelta(0, named("f", "{", "c")), toolDelta(0, named("f", "}", "c"))],
      { blocks: [tool("f")] }],
    ["llama-stack 5464: arguments that follow an empty object replace it",
      [toolDelta(0, named("f", "{}", "c1")), toolDelta(0, args('{"a":')), toolDelta(0, args("1}")),
        toolDelta(1, named("g", "{}", "c2")), toolDelta(1, args('{"b":2}')),
        toolDelta(2, named("h", "{}", "c3"))],
      { blocks: [tool("f", '{"a":1}'), tool("g", '{"b":2}'), tool("h")] }],
    ["arguments replace an empty object also after fragments without arguments",
      [toolDelta(0, named("f", "{}", "c1")), toolDelta(0, args("")), toolDelta(0, args("{}")),
        toolDelta(0, args(" ")), toolDelta(0, args('{"a":1}'))],
      { blocks: [tool("f", '{"a":1}')] }],
    ["an empty object inside the arguments is kept",
      [toolDelta(0, named("f", '{"a":', "c1")), toolDelta(0, args("{}")), toolDelta(0, args("}"))],
      { blocks: [tool("f", '{"a":{}}')] }],
    ["cc-switch 5692: texts with reasoning between them are sent as one text block",
      [hi, delta({ reasoning: "c" }), delta({ content: "d" })], { blocks: [said("ad")] }],
    ["vercel/ai 5576: no empty text is sent before a call",
      [delta({ content: "" }), call], { blocks: [tool("f")] }],
    ["no blank text is sent before a call, because a history may not have one",
      [delta({ content: "\n" }), delta({ content: " " }), call], { blocks: [tool("f")] }],
    ["white space before a text is sent with the text",
      [delta({ content: "\n" }), delta({ content: " " }), hi, call], { blocks: [said("\n a"), tool("f")] }],
    ["new-api 4697: an answer without usage is closed, with counts of zero",
      [hi, finish("stop")], { isStopped: true, usage: { input_tokens: 0, output_tokens: 0 } }],
    ["CLIProxyAPI 5308: [DONE] without a finish reason is end_turn", [hi], { stopReason: "end_turn" }],
    ["CLIProxyAPI 5308: [DONE] directly after a call is sent as tool_use",
      [call], { stopReason: "tool_use" }],
    ["openclaude 21: an answer with repeated finish reasons is closed once, by the first",
      [hi, finish("stop"), finish("stop"), finish("length")],
      { stopReason: "end_turn", blocks: [said("a")] }],
    ["9router 1779: an answer without content starts and stops",
      [delta({ role: "assistant", content: "" }), finish("stop")], { blocks: [], isStopped: true }],
    ["claude-code 67809: nothing is sent for chunks after the end",
      [hi, done, delta({ content: "b" }), usageChunk], { blocks: [said("a")] }],
  ])("%s", (_bug, sent, expected) => {
    expect(toWireB(...sent, done)).toMatchObject(expected);
  }); // prettier-ignore

  test("no blank text is in an answer that is not streamed", () => {
    const tool_calls = [{ id: "c", ...named("f", "{}") }];
    const whole = wholeAnswer({ content: "\n\n", tool_calls }, "tool_calls");
    const { text: sent } = playJson(bToA, whole);
    expect(JSON.parse(sent)).toMatchObject({ content: [{ type: "tool_use", id: "c" }] });
  });

  test.each([
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["content_filter", "refusal"],
    ["eos", "end_turn"],
    ["sensitive", "refusal"],
    ["model_context_window_exceeded", "max_tokens"],
    ["toString", "end_turn"],
  ])("litellm 12481: the finish reason %s is sent as %s", (word, expected) => {
    expect(toWireB(hi, finish(word), done).stopReason).toBe(expected);
  });

  test("a provider's stop_reason is sent as a stop sequence only if the client requested it", () => {
    const choice = { index: 0, delta: { content: "a" }, finish_reason: "stop", stop_reason: "###" };
    const read = (body?: object): unknown => {
      const { text: sent } = playStream({ ...bToA, body }, { ...hi, choices: [choice] }, done);
      const { stopReason, stopSequence } = readLegalWireB(sent);
      return [stopReason, stopSequence];
    };
    expect(read({ stop_sequences: ["###"] })).toEqual(["stop_sequence", "###"]);
    expect(read()).toEqual(["end_turn", null]);
  });
});

describe("Switchyard 502: a provider that uses the call ids of its earlier answers again", () => {
  const toolCall = named("f", "{}", "call_0");
  const use = { type: "tool_use", id: "call_0", name: "f", input: {} };
  const result = { type: "tool_result", tool_use_id: "call_0", content: "r" };
  const user = { role: "user", content: "hi" };
  const historyB = [
    user,
    { role: "assistant", content: [use] },
    { role: "user", content: [result] },
  ];
  const historyA = [
    user,
    { role: "assistant", tool_calls: [toolCall] },
    { role: "tool", tool_call_id: "call_0", content: "r" },
  ];
  const again = toolDelta(0, named("f", "{}", "call_0"));
  const fresh = toolDelta(1, named("f", "{}", "call_1"));

  test("gives a messages client another id, and the second turn is consistent", () => {
    const wires = { ...bToA, messages: historyB };
    const { text: sent } = playStream(wires, again, fresh, finish("tool_calls"), done);
    const whole = playJson(wires, wholeAnswer({ tool_calls: [toolCall] }, "tool_calls"));
    const renamed = `toolu_${idTail}_0`;
    expect(readLegalWireB(sent).blocks).toMatchObject([{ id: renamed }, { id: "call_1" }]);
    expect(JSON.parse(whole.text)).toMatchObject({ content: [{ id: renamed }] });
    const turn = [
      { role: "assistant", content: [{ ...use, id: renamed }] },
      { role: "user", content: [{ ...result, tool_use_id: renamed }] },
    ];
    expect(sendAcross("wire_b", { messages: [...historyB, ...turn] }).body["messages"]).toEqual([
      user,
      { role: "assistant", content: null, tool_calls: [toolCall] },
      historyA[2],
      { role: "assistant", content: null, tool_calls: [{ ...toolCall, id: renamed }] },
      { role: "tool", tool_call_id: renamed, content: "r" },
    ]);
  });

  test("gives a chat-completions client of a messages provider another id", () => {
    const wires = { ...aToB, messages: historyA };
    const { text: sent } = playStream(wires, start, block(0, use), stop(0), ...close("tool_use"));
    expect(readLegalWireA(sent).calls[0]?.id).toBe(`call_${idTail}_0`);
    const message = { role: "assistant", content: [use], stop_reason: "tool_use" };
    const whole = playJson(wires, JSON.stringify(message)).text;
    expect(whole).toContain(`"id":"call_${idTail}_0"`);
  });
});

describe("a chat-completions client of a messages provider", () => {
  test.each([
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "content_filter"],
    ["brand_new_word", "stop"],
    ["constructor", "stop"],
    [null, "stop"],
  ])("Portkey 459: the stop reason %s is sent as %s", (word, expected) => {
    expect(toWireA(start, textStart(0), text(0, "a"), ...close(word)).finish).toBe(expected);
  });

  test("a call whose block is never closed is sent with its arguments", () => {
    const input = { a: 1 };
    const opened = block(0, { type: "tool_use", id: "t", name: "f", input });
    expect(toWireA(start, opened, ...close("tool_use")).calls[0]?.arguments).toBe('{"a":1}');
  });

  test("arguments at the start of a block are used digit for digit if no fragment follows", () => {
    const opened =
      '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use",' +
      '"id":"t","name":"f","input":{ "n": 12345678901234567890 }}}';
    const { text: sent } = play(openStream(aToB), [
      events(start) + chunks(opened) + events(stop(0), ...close("tool_use")),
    ]);
    expect(readLegalWireA(sent).calls[0]?.arguments).toBe('{"n":12345678901234567890}');
  });

  test("9router 1779: an answer without content starts and stops", () => {
    const read = toWireA(start, ...close("end_turn"));
    expect(read).toMatchObject({ text: "", finish: "stop", isDone: true });
  });

  test("claude-code 67809: nothing is sent for events after the end", () => {
    const read = toWireA(start, textStart(0), text(0, "a"), ...close("end_turn"), text(0, "b"));
    expect(read.text).toBe("a");
  });

  test("bifrost 5354: the last count of each field wins, and nothing is summed", () => {
    const counted = { ...start.message, usage: { input_tokens: 90, output_tokens: 1 } };
    const last = { input_tokens: 30, cache_read_input_tokens: 60, output_tokens: 7 };
    const opening = { ...start, message: counted };
    const read = toWireA(opening, textStart(0), text(0, "a"), ...close("end_turn", last));
    expect(read.usage).toMatchObject({ prompt_tokens: 90, completion_tokens: 7, total_tokens: 97 });
  });
});

test("9router 1779: message_stop without message_start is a failure before the headers", () => {
  for (const client of ["wire_a", "wire_b"] as const) {
    const bridge = openStream({ client, upstream: "wire_b" });
    bridge.push(Buffer.from(events({ type: "message_stop" })));
    expect(bridge.state).toBe("failed");
    expect(bridge.takeOutput()).toBeUndefined();
  }
});
