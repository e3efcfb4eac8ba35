import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../test/support/depth.ts";
import { ANSWER_BYTES_MAX } from "../../../kernel/core/constants.ts";
import {
  aToB,
  bToA,
  wire_a,
  wire_b,
  EVERY,
  costUsd,
  delta,
  done,
  idTail,
  marketModel,
  openJson,
  play,
  wholeAnswer,
  type Wires,
  playJson,
  playStream,
} from "../../../../test/fixtures/modality/answer-kit.ts";

const usage = {
  prompt_tokens: 10,
  completion_tokens: 6,
  total_tokens: 16,
  prompt_tokens_details: { cached_tokens: 4 },
};
const answerA = (message: object, finish = "stop", more: object = {}): string =>
  wholeAnswer(message, finish, { usage, ...more });
const countsB = {
  input_tokens: 6,
  cache_read_input_tokens: 4,
  cache_creation_input_tokens: 1,
  output_tokens: 6,
};
const answerB = (content: readonly object[], reason = "end_turn"): string => {
  const head = { id: "msg_up", type: "message", role: "assistant", model: "up-model" };
  const stop = { stop_reason: reason, stop_sequence: null };
  return JSON.stringify({ ...head, content, ...stop, usage: countsB });
};

function answered(wires: Wires, body: string | Buffer): Record<string, unknown> {
  const { bridge, text } = playJson(wires, body);
  expect(bridge.state).toBe("complete");
  return JSON.parse(text) as Record<string, unknown>;
}

describe.each(EVERY)("a JSON answer of $upstream for a client of $client", (wires) => {
  const good =
    wires.upstream === "wire_a"
      ? answerA({ content: "hi" })
      : answerB([{ type: "text", text: "hi" }]);

  test("is sent whole at the end, under the marketplace's model, with the cost", () => {
    const bridge = openJson(wires);
    bridge.push(Buffer.from(good));
    expect(bridge).toMatchObject({ state: "waiting", contentType: "application/json" });
    bridge.end();
    expect(bridge.takeOutput()).toBeUndefined();
    expect(bridge.usage).toMatchObject({ prompt: 6, cachedPrompt: 4, completion: 6 });
    const body = JSON.parse(bridge.finish(costUsd).toString()) as object;
    expect(body).toMatchObject({ model: marketModel, usage: { cost: 0.001932 } });
    expect(bridge.finish(costUsd)).toHaveLength(0);
  });

  test("is complete if it arrives byte by byte in a buffer that is overwritten", () => {
    const bridge = openJson(wires);
    bridge.push(Buffer.from(good.slice(0, 1)));
    const piece = Buffer.alloc(1);
    for (const byte of good.slice(1)) {
      piece.write(byte);
      bridge.push(piece);
    }
    bridge.end();
    expect(bridge).toMatchObject({ state: "complete" });
  });

  test.each([
    ["nothing", ""],
    ["an HTML page", "<html>oops</html>"],
    ["cut JSON", good.slice(0, -2)],
    ["an object of another shape", '{"hello":1}'],
    ["no choices", '{"choices":[]}'],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0xff, 0x7d])],
  ])("with %s as its body is a 502 without failover", (_name, body) => {
    const { bridge } = playJson(wires, body);
    const refusal = { class: "gateway_error", status: 502, upstreamStatus: 200 };
    const failure = { failover: false, strike: "strike", refusal };
    expect(bridge).toMatchObject({ state: "failed", failure });
  });

  test("is classified by the code of an error object inside the 200", () => {
    const error = { code: "overloaded_error", message: "x" };
    const { bridge } = playJson(wires, JSON.stringify({ error }));
    const refusal = { status: 503, upstreamStatus: 200 };
    expect(bridge.failure).toMatchObject({ failover: true, refusal });
  });

  test("keeps characters whole over pieces, and ignores a byte order mark", () => {
    const bytes = Buffer.from(`\uFEFF${good.replace("hi", "grüße 🙂")}`);
    const whole = playJson(wires, bytes).text;
    expect(whole).toContain("grüße 🙂");
    for (let at = 0; at < bytes.length; at += 7) {
      expect(play(openJson(wires), [bytes.subarray(0, at), bytes.subarray(at)]).text).toBe(whole);
    }
  });

  test("fails with a 502 while it is read if it exceeds the size bound", () => {
    const bridge = openJson(wires);
    const piece = Buffer.alloc(1024 * 1024, 32);
    for (let read = 0; read <= ANSWER_BYTES_MAX; read += piece.length) bridge.push(piece);
    expect(bridge.failure?.refusal).toMatchObject({ class: "gateway_error", status: 502 });
  });

  test("may be nested to any depth without a crash", () => {
    const deep = '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000);
    const bodies = [
      `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":${deep}}}]}}]}`,
      `{"content":[{"type":"tool_use","name":"f","input":${deep}}],"usage":${deep}}`,
      `{"error":${deep}}`,
    ];
    for (const body of bodies) {
      expect(["complete", "failed"]).toContain(playJson(wires, body).bridge.state);
    }
  });

  test("with any body is complete or failed, and the client gets valid JSON", () => {
    const json = fc.jsonValue();
    const type = fc.constantFrom("text", "tool_use", "thinking", "x");
    const part = fc.record({ message: json, finish_reason: json, type, text: json, input: json });
    const parts = fc.array(part);
    const known = { type: fc.constant("message"), choices: parts, content: parts, usage: json };
    const anything = fc.oneof(
      fc.json(),
      fc.record(known).map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(anything, (body) => {
        const { bridge, text } = playJson(wires, body);
        expect(["complete", "failed"]).toContain(bridge.state);
        expect(() => JSON.parse(text) as unknown).not.toThrow();
      }),
      { numRuns: runs(300) },
    );
  });
});

describe("a relayed JSON answer", () => {
  test("keeps every byte except the model and the cost, big integers too", () => {
    const body =
      '{ "model" :"up-model", "big":12345678901234567890,"id":"a","object":"chat.completion","created":7,"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"\\ud83d","x":1e400}}],"usage":{"prompt_tokens":1 , "completion_tokens":0,"total_tokens":1,"cost":5}}';
    const expected = body
      .replace('"up-model"', `"${marketModel}"`)
      .replace('"cost":5', `"cost":${costUsd}`);
    const { bridge, text } = playJson(wire_a, body);
    expect(text).toBe(expected);
    expect(bridge.reportedCostUsd).toBe("5");
  });

  test.each([wire_a, wire_b])("of $upstream without usage still reports the cost", (wires) => {
    const body = wires.upstream === "wire_a" ? answerA({ content: "a" }) : answerB([]);
    const bare = JSON.stringify({ ...(JSON.parse(body) as object), usage: undefined });
    const { bridge, text } = playJson(wires, bare);
    expect(bridge.usage).toBeUndefined();
    expect(JSON.parse(text)).toMatchObject({ usage: { cost: 0.001932 } });
  });

  test("reduces several choices to exactly one", () => {
    const body = JSON.parse(answerA({ content: "a" })) as { choices: object[] };
    const two = { ...body, choices: [...body.choices, { index: 1, message: { content: "b" } }] };
    expect(answered(wire_a, JSON.stringify(two))["choices"]).toHaveLength(1);
  });
});

describe("wire_b answer for a wire_a client", () => {
  test("has text, reasoning and calls, with arguments digit for digit", () => {
    const body = answerB(
      [
        { type: "thinking", thinking: "hm", signature: "s" },
        { type: "redacted_thinking", data: "x" },
        { type: "text", text: "a" },
        { type: "text", text: "b", citations: [] },
        { type: "tool_use", id: "t1", name: "f", input: { n: 0 } },
        { type: "tool_use", id: "t2", name: "g", input: {} },
      ],
      "tool_use",
    ).replace('{"n":0}', '{ "n": 12345678901234567890,\n"s": "a  b" }');
    const n = '{"n":12345678901234567890,"s":"a  b"}';
    const message = {
      role: "assistant",
      content: "ab",
      refusal: null,
      reasoning_content: "hm",
      tool_calls: [
        { id: "t1", type: "function", function: { name: "f", arguments: n } },
        { id: "t2", type: "function", function: { name: "g", arguments: "{}" } },
      ],
    };
    expect(answered(aToB, body)).toEqual({
      id: `chatcmpl-${idTail}`,
      object: "chat.completion",
      created: 1_800_000_000,
      model: marketModel,
      // One official client requires `system_fingerprint` in every answer.
      system_fingerprint: null,
      choices: [{ index: 0, message, logprobs: null, finish_reason: "tool_calls" }],
      usage: {
        prompt_tokens: 11,
        completion_tokens: 6,
        total_tokens: 17,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 0 },
        cost: 0.001932,
      },
    });
  });

  test("has null content without text", () => {
    const choices = [{ message: { content: null } }];
    expect(answered(aToB, answerB([]))).toMatchObject({ choices });
  });

  test("leaves out blocks of unknown types, and is a 502 if it has no other block", () => {
    const unknown = { type: "server_tool_use", id: "x", name: "web_search", input: {} };
    expect(answered(aToB, answerB([unknown, { type: "text", text: "a" }]))).toMatchObject({
      choices: [{ message: { content: "a" } }],
    });
    const { bridge } = playJson(aToB, answerB([unknown]));
    expect(bridge.failure?.refusal).toMatchObject({ class: "gateway_error", status: 502 });
  });
});

describe("wire_a answer for a wire_b client", () => {
  test("has text and calls, with arguments digit for digit", () => {
    const big = { name: "f", arguments: ' {"n": 12345678901234567890}' };
    const calls = [
      { id: "c:1", type: "function", function: big },
      { function: { name: "g", arguments: "" } },
    ];
    // Providers answer with the finish reason "stop" if the client forced the call.
    const { text } = playJson(bToA, answerA({ content: "a", tool_calls: calls }, "stop"));
    expect(text).toContain('"input":{"n":12345678901234567890}');
    const id: unknown = expect.stringMatching(/^[\w-]+$/);
    expect(JSON.parse(text)).toMatchObject({
      id: `msg_${idTail}`,
      type: "message",
      role: "assistant",
      model: marketModel,
      content: [
        { type: "text", text: "a" },
        { type: "tool_use", id, name: "f" },
        { type: "tool_use", id, name: "g", input: {} },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: {
        input_tokens: 6,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 4,
        output_tokens: 6,
        cost: 0.001932,
      },
    });
  });

  test.each(["{oops", "[1]", "7"])("with call arguments %j is a 502 without failover", (bad) => {
    const calls = [{ id: "c", function: { name: "f", arguments: bad } }];
    const { bridge } = playJson(bToA, answerA({ content: null, tool_calls: calls }));
    const refusal = { class: "gateway_error", status: 502 };
    expect(bridge.failure).toMatchObject({ failover: false, refusal });
  });

  test.each([
    ["length", "max_tokens"],
    ["content_filter", "refusal"],
  ])("keeps the call that %s cut off, with empty input and the stop reason %s", (word, reason) => {
    const whole = { id: "c1", function: { name: "f", arguments: '{"a":1}' } };
    const cut = { id: "c2", function: { name: "g", arguments: '{"b":"x' } };
    const body = answerA({ content: null, tool_calls: [whole, cut] }, word);
    expect(answered(bToA, body)).toMatchObject({
      content: [
        { type: "tool_use", id: "c1", name: "f", input: { a: 1 } },
        { type: "tool_use", id: "c2", name: "g", input: {} },
      ],
      stop_reason: reason,
      usage: { output_tokens: 6, cost: 0.001932 },
    });
    const late = answerA({ content: null, tool_calls: [cut, whole] }, word);
    expect(playJson(bToA, late).bridge.state).toBe("failed");
  });

  test("with a refusal of the model is complete, with the stop reason refusal", () => {
    expect(answered(bToA, answerA({ content: null, refusal: "I can't." }))).toMatchObject({
      content: [{ type: "text", text: "I can't." }],
      stop_reason: "refusal",
    });
  });

  test("joins parts of content, and leaves out thinking parts and reasoning", () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect(answered(bToA, answerA({ content, reasoning_content: "hm" }))).toMatchObject({
      content: [{ type: "text", text: "ab" }],
    });
  });

  test("has every field that the official client's types declare, streamed or not", () => {
    const { text: json } = playJson(bToA, answerA({ content: "Hi" }));
    const { text: stream } = playStream(bToA, delta({ content: "Hi" }), delta({}, "stop"), done);
    const members = { container: null, stop_details: null, stop_sequence: null };
    const counts = {
      cache_creation: null,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: expect.any(Number) as number,
      output_tokens_details: null,
      inference_geo: null,
      server_tool_use: null,
      service_tier: null,
      speed: null,
    };
    expect(JSON.parse(json)).toMatchObject({ ...members, diagnostics: null, usage: counts });
    const sent = [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
    expect(sent[0]).toMatchObject({ message: { ...members, diagnostics: null, usage: counts } });
    expect(sent.at(-2)).toMatchObject({ delta: members, usage: counts });
  });

  test("has an empty list of blocks if its content is empty", () => {
    const empty = { content: [], stop_reason: "end_turn" };
    expect(answered(bToA, answerA({ content: "" }))).toMatchObject(empty);
  });

  test("names the caller's stop sequence that matched", () => {
    const wires = { ...bToA, body: { stop_sequences: ["END"] } };
    const body = answerA({ content: "a" }, "stop", { stop_reason: "END" });
    const stopped = { stop_reason: "stop_sequence", stop_sequence: "END" };
    expect(answered(wires, body)).toMatchObject(stopped);
    expect(answered(bToA, body)).toMatchObject({ stop_reason: "end_turn", stop_sequence: null });
  });
});

describe("log probabilities of thousands of tokens with alternatives", () => {
  const words = '"logprobs": { is no key, and neither is "logprobs"';
  const one = { token: '"logprobs":{', logprob: -12.345678901234567, bytes: [32, 97, 98, 99] };
  const logprobsOf = (tokens: number): object => {
    const twenty = Array.from({ length: 20 }, () => one);
    const all = Array.from({ length: tokens }, () => ({ ...one, top_logprobs: twenty }));
    return { content: all, refusal: null };
  };
  const body = answerA({ content: words }, "stop", { logprobs: logprobsOf(4_096) });

  test("are relayed byte for byte on the same wire", () => {
    const { bridge, text } = playJson(wire_a, body);
    expect(bridge.state).toBe("complete");
    expect(text.replace(`"model":"${marketModel}"`, '"model":"up-model"')).toBe(
      body.replace('"usage":{', `"usage":{"cost":${costUsd},`),
    );
  });

  test("are left out for a client of the other wire", () => {
    expect(answered(bToA, body)).toMatchObject({ content: [{ type: "text", text: words }] });
  });

  test("fail the answer with a 502 if they are invalid JSON or too long", () => {
    const broken = body.replace("-12.345678901234567", "-12.345678901234567x");
    const longer = answerA({ content: "a" }, "stop", { logprobs: logprobsOf(7_000) });
    for (const bad of [broken, longer]) {
      const { bridge } = playJson(wire_a, bad);
      expect(bridge.failure).toMatchObject({ refusal: { status: 502 }, failover: false });
      // The client's own request may have caused this, so it is no breach of the listing, and does
      // not open the circuit for other clients.
      expect(bridge.failure?.isMalformed).toBeUndefined();
      expect(bridge.failure?.strike).toBe("neutral");
    }
  });
});
