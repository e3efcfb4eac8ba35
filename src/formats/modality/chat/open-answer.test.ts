import { describe, expect, test } from "vitest";
import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import {
  aToB,
  bToA,
  wire_a,
  wire_b,
  EVERY,
  chunks,
  costUsd,
  delta,
  done,
  events,
  marketModel,
  openStream,
  play,
  type Wires,
  playJson,
} from "../../../../test/fixtures/modality/answer-kit.ts";

const start = {
  type: "message_start",
  message: { model: "up-model", content: [], usage: { input_tokens: 3, output_tokens: 1 } },
};
const open = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
const word = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } };
const usageChunk = {
  ...delta({}),
  choices: [],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

/** The start of an answer on each upstream wire: before content, and with the first word. */
const PRELUDE = {
  wire_a: chunks(delta({ role: "assistant", content: "" })),
  wire_b: events(start, open),
};
const WORD = { wire_a: chunks(delta({ content: "hi" })), wire_b: events(word) };
const USAGE = {
  wire_a: chunks(usageChunk),
  wire_b: events({ type: "message_delta", delta: {}, usage: { output_tokens: 2 } }),
};
const END = {
  wire_a: chunks(delta({}, "stop"), done),
  wire_b: events(
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ),
};

function fed(wires: Wires, ...texts: readonly string[]): AnswerBridge {
  const bridge = openStream(wires);
  for (const text of texts) bridge.push(Buffer.from(text));
  return bridge;
}

describe.each(EVERY)("a stream of $upstream for a client of $client", (wires) => {
  const { upstream, client } = wires;

  test("sends nothing and can fail over until content comes, then everything at once", () => {
    const bridge = fed(wires, PRELUDE[upstream]);
    expect(bridge.state).toBe("waiting");
    expect(bridge.takeOutput()).toBeUndefined();
    bridge.push(Buffer.from(WORD[upstream]));
    expect(bridge.state).toBe("flowing");
    const first = bridge.takeOutput()?.toString() ?? "";
    expect(first).toContain(client === "wire_a" ? '"role":"assistant"' : "message_start");
    expect(first).toContain('"hi"');
    expect(bridge.takeOutput()).toBeUndefined();
  });

  test("fails if the body ends without its end mark, and never just stops", () => {
    const bridge = fed(wires, PRELUDE[upstream], WORD[upstream]);
    bridge.end();
    expect(bridge).toMatchObject({
      state: "failed",
      failure: { strike: "strike", refusal: { class: "upstream_error", upstreamStatus: 200 } },
    });
  });

  test("can fail over if the body ends in the middle of its first event with content", () => {
    const refusal = { class: "upstream_error", status: 502 };
    for (const at of [20, -9]) {
      const bridge = fed(wires, PRELUDE[upstream], WORD[upstream].slice(0, at));
      bridge.end();
      expect(bridge).toMatchObject({ state: "failed", failure: { failover: true, refusal } });
    }
  });

  test("fails without failover on an event that is not JSON, or not UTF-8", () => {
    const refusal = { class: "gateway_error", status: 502 };
    const notUtf8 = [...Buffer.from('data: {"a":"'), 0xff, ...Buffer.from('"}\n\n')];
    for (const bad of [Buffer.from("data: {oops\n\n"), Buffer.from(notUtf8)]) {
      const bridge = fed(wires, PRELUDE[upstream], WORD[upstream]);
      bridge.push(bad);
      const failure = { failover: false, strike: "strike", refusal };
      expect(bridge).toMatchObject({ state: "failed", failure });
    }
  });

  test("fails if the body is an HTML page, a JSON error or comments alone", () => {
    const failureOf = (body: string) => {
      const bridge = fed(wires, body);
      bridge.end();
      return bridge.failure;
    };
    const error = '{"error":{"code":429,"message":"x"}}';
    expect(failureOf("<html>hello</html>")?.refusal.class).toBe("gateway_error");
    expect(failureOf(error)?.refusal.class).toBe("rate_limit");
    const silent = { failover: true, refusal: { class: "upstream_error" } };
    expect(failureOf(": processing\n\n")).toMatchObject(silent);
  });

  test("sends an answer without content whole at its end, with every digit of the cost", () => {
    const bridge = fed(wires, PRELUDE[upstream], END[upstream]);
    expect(bridge.state).toBe("complete");
    expect(bridge.takeOutput()).toBeUndefined();
    const text = bridge.finish("0.100000000000000001").toString();
    expect(text).toContain(client === "wire_a" ? '"role":"assistant"' : "message_start");
    expect(text).toContain(client === "wire_a" ? "[DONE]" : "message_stop");
    expect(text).toContain('"cost":0.100000000000000001');
  });
});

describe("the first content of a stream", () => {
  test.each([
    [{ role: "assistant", content: "" }, "waiting"],
    [{ content: "a" }, "flowing"],
    [{ refusal: "no" }, "flowing"],
    [{ reasoning_content: "hm" }, "flowing"],
    [{ reasoning: "hm" }, "flowing"],
    [{ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "" } }] }, "flowing"],
  ])("wire_a: a delta with %j leaves the stream %s", (fields, state) => {
    expect(fed(wire_a, chunks(delta(fields))).state).toBe(state);
    expect(fed(bToA, chunks(delta(fields))).state).toBe(state);
  });

  test.each([
    [{ audio: { id: "a", transcript: "Hi" } }, "flowing"],
    [{ audio: { data: "AAAA" } }, "flowing"],
    [{ audio: { id: "a" } }, "waiting"],
    [{ audio: null, images: [] }, "waiting"],
    [{ images: [{ type: "image_url", image_url: { url: "data:" } }] }, "flowing"],
  ])("wire_a audio and images: a delta with %j leaves the stream %s", (fields, state) => {
    expect(fed(wire_a, chunks(delta(fields))).state).toBe(state);
  });

  test.each([
    [open, "waiting"],
    [{ ...open, content_block: { type: "thinking", thinking: "" } }, "waiting"],
    [{ ...open, content_block: { type: "tool_use", id: "t", name: "f", input: {} } }, "flowing"],
    [{ ...word, delta: { type: "text_delta", text: "" } }, "waiting"],
    [{ ...word, delta: { type: "thinking_delta", thinking: "hm" } }, "flowing"],
    [word, "flowing"],
  ])("wire_b: the event %j leaves the stream %s", (event, state) => {
    expect(fed(wire_b, events(start, event)).state).toBe(state);
    expect(fed(aToB, events(start, event)).state).toBe(state);
  });

  test("may be reasoning that a wire_b client does not get: its stream opens, and pings are sent", () => {
    const bridge = fed(bToA, chunks(delta({ reasoning: "hm" })));
    expect(bridge.takeOutput()?.toString()).toContain("message_start");
    expect(bridge.keepAlive()?.toString()).toBe('event: ping\ndata: {"type":"ping"}\n\n');
  });
});

describe("relays", () => {
  test("wire_a: only the model changes, whatever else a chunk holds", () => {
    const odd =
      '{"id":"a","object":"chat.completion.chunk","created":7,"x":{"model":"up-model"},"big":12345678901234567890, "model" : "up-model","choices":[{"index":0,"delta":{"role":"assistant","content":"\\ud83d \\"model\\":\\"up-model\\""}}]}';
    const bridge = fed(wire_a, `data: ${odd}\n\n`);
    const expected = odd.replace('"model" : "up-model"', `"model" : "${marketModel}"`);
    expect(bridge.takeOutput()?.toString()).toBe(`data: ${expected}\n\n`);
  });

  test("wire_a: the model is replaced where chunks begin differently or escape their key", () => {
    const other = { model: "other", choices: [{ index: 0, delta: { content: "b" } }] };
    const bridge = fed(
      wire_a,
      chunks(delta({ content: "a" }), other),
      'data: {"mod\\u0065l":"up-model","choices":[{"index":0,"delta":{"content":"c"}}]}\n\n',
    );
    const text = bridge.takeOutput()?.toString() ?? "";
    expect(text).not.toMatch(/up-model|other/);
    expect(text.split(marketModel)).toHaveLength(4);
  });

  test("wire_a: the usage chunk is held, its unknown details stay, its cost is replaced", () => {
    const usage = { ...usageChunk.usage, cost: 9, prompt_tokens_details: { audio_tokens: 4 } };
    const chunk = { ...usageChunk, usage };
    const { bridge, text } = play(openStream(wire_a), [WORD.wire_a, chunks(chunk), END.wire_a]);
    expect(bridge.reportedCostUsd).toBe("9");
    expect(text.match(/"usage"/g)).toHaveLength(1);
    expect(text).toContain('"audio_tokens":4');
    expect(text).toContain(`"cost":${costUsd}`);
    expect(text).not.toContain('"cost":9');
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
  });

  test("wire_a: a raw cost keeps digits that no float holds", () => {
    const cost = '"cost":0.12345678901234567891';
    const raw = JSON.stringify(usageChunk).replace('"total_tokens":5', cost);
    const bridge = fed(wire_a, WORD.wire_a, `data: ${raw}\n\n`);
    expect(bridge.reportedCostUsd).toBe("0.12345678901234567891");
  });

  test("wire_a: only the first of several choices reaches the client", () => {
    const choices = ["a", "b"].map((content, index) => ({ index, delta: { content } }));
    const two = { ...delta({}), choices };
    const text = fed(wire_a, chunks(two)).takeOutput()?.toString() ?? "";
    expect(text).toContain('"a"');
    expect(text).not.toContain('"b"');
  });

  test("wire_a: a body that ends after a finish reason is complete, and [DONE] is added", () => {
    const { bridge, text } = play(openStream(wire_a), [WORD.wire_a, chunks(delta({}, "stop"))]);
    expect(bridge.state).toBe("complete");
    expect(text).toContain("[DONE]");
  });

  test("wire_b: event lines are added if the provider sends none", () => {
    const bridge = fed(wire_b, chunks(start, open, word));
    const text = bridge.takeOutput()?.toString();
    expect(text?.startsWith("event: message_start\n")).toBe(true);
    expect(text?.match(/^event: /gm)).toHaveLength(3);
  });

  test("wire_b: a usage delta in mid-answer keeps its place, the last one has the cost", () => {
    const { text } = play(openStream(wire_b), [
      PRELUDE.wire_b + WORD.wire_b + USAGE.wire_b + WORD.wire_b + END.wire_b,
    ]);
    expect(text.match(/event: \w+/g)?.slice(2)).toEqual([
      "event: content_block_delta",
      "event: message_delta",
      "event: content_block_delta",
      "event: message_delta",
      "event: message_stop",
    ]);
    expect(text.indexOf('"cost"')).toBeGreaterThan(text.lastIndexOf("content_block_delta"));
  });

  test("wire_b: of many usage deltas in a row only the last one is kept in memory", () => {
    const flood = USAGE.wire_b.repeat(50);
    const bridge = fed(wire_b, flood + PRELUDE.wire_b + WORD.wire_b);
    expect(
      bridge
        .takeOutput()
        ?.toString()
        .match(/event: \w+/g),
    ).toHaveLength(4);
    bridge.push(Buffer.from(flood));
    expect(
      bridge
        .takeOutput()
        ?.toString()
        .match(/event: message_delta/g),
    ).toHaveLength(49);
    bridge.push(Buffer.from(END.wire_b));
    const sent = `${bridge.takeOutput()?.toString()}${bridge.finish(costUsd).toString()}`;
    expect(sent.match(/event: \w+/g)).toEqual([
      "event: message_delta",
      "event: message_delta",
      "event: message_stop",
    ]);
    expect(sent).toContain(`"cost":${costUsd}`);
  });

  test.each([
    { cost: 9, cost_details: { upstream_inference_cost: 9.5 } },
    { cost_in_usd_ticks: 95_000_000_000 },
    { estimated_cost: 0.000095 },
  ])("the provider's cost fields never reach the client, wherever they are: %j", (costs) => {
    const ofA = { ...usageChunk, usage: { ...usageChunk.usage, ...costs } };
    const ofB = { input_tokens: 3, output_tokens: 1, ...costs };
    const opening = { ...start, message: { model: "up-model", content: [], usage: ofB } };
    const early = { type: "message_delta", delta: {}, usage: ofB };
    const closing = { ...early, delta: { stop_reason: "end_turn" } };
    const wordWithUsage = { ...delta({ content: "a" }), usage: ofA.usage };
    const streamA = chunks(wordWithUsage, ofA) + END.wire_a;
    const streamB = events(opening, open, word, early, word, closing) + END.wire_b;
    const message = { role: "assistant", content: "a" };
    for (const { text } of [
      play(openStream(wire_a), [streamA]),
      play(openStream({ ...wire_a, wantsUsageChunk: true }), [streamA]),
      play(openStream(wire_b), [streamB]),
      playJson(wire_a, JSON.stringify({ choices: [{ message }], usage: ofA.usage })),
      playJson(wire_b, JSON.stringify({ content: [], usage: ofB })),
    ]) {
      expect(text.match(/"cost":[^,}]+/g)).toEqual([`"cost":${costUsd}`]);
      expect(text).not.toMatch(/cost_details|upstream_inference|ticks|estimated|95/);
    }
  });

  test("wire_b: pings are relayed once the answer flows", () => {
    const ping = events({ type: "ping" });
    const bridge = fed(wire_b, ping + PRELUDE.wire_b + ping + WORD.wire_b + ping);
    const sent = bridge.takeOutput()?.toString();
    expect(sent?.match(/event: ping/g)).toHaveLength(1);
  });
});
