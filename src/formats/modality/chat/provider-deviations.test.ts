import { describe, expect, test } from "vitest";
import {
  aToB,
  bToA,
  chunks,
  delta,
  done,
  EVERY,
  idTail,
  marketModel,
  openStream,
  play,
  toolDelta,
  wholeAnswer,
  playJson,
  playStream,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import {
  block,
  close,
  start,
  stop,
  text as said,
  textStart,
} from "../../../../test/fixtures/modality/peer-kit.ts";
import { profiled } from "../../../../test/fixtures/modality/profile-kit.ts";
import {
  type KnownWire,
  sendAcross,
  sendSame,
} from "../../../../test/fixtures/modality/request-kit.ts";

const CLIENTS: readonly KnownWire[] = ["wire_a", "wire_b"];
const TOOLS_END = [delta({}, "tool_calls"), done];
const CALL = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };

/** Returns the ids of the calls that a client of messages got. */
function idsOf(text: string): string[] {
  return [...text.matchAll(/"type":"tool_use","id":"([^"]*)"/g)].map((match) => match[1] ?? "");
}

describe.each(CLIENTS)("usage_gap: reasoning, for a client of %s", (client) => {
  const wires = { client, upstream: "wire_a" } as const;
  const declared = { ...wires, profile: { usage_gap: "reasoning" } } as const;
  const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 };
  const reports = (open: typeof wires, usage: object) => {
    const last = { ...delta({}), choices: [], usage };
    return [
      playJson(open, wholeAnswer({ content: "Hi" }, "stop", { usage })).bridge,
      playStream(open, delta({ content: "Hi" }), delta({}, "stop"), last, done).bridge,
    ];
  };

  test("counts the part of the total that is in no other count as reasoning, without a usage flaw", () => {
    for (const bridge of reports(declared, counts)) {
      expect(bridge.usage).toMatchObject({ prompt: 10, completion: 5, internalReasoning: 100 });
      expect(bridge.usageFlaw).toBeUndefined();
    }
  });

  test("has no effect if it is not declared: the gap is not counted, and is a usage flaw", () => {
    for (const bridge of reports(wires, counts)) {
      expect(bridge.usage).toMatchObject({ completion: 5, internalReasoning: 0 });
      expect(bridge.usageFlaw).toBe("usage.total_tokens is not prompt plus completion");
    }
  });

  test("does not count reported reasoning twice, and a total below its parts is a flaw", () => {
    const named = { ...counts, completion_tokens_details: { reasoning_tokens: 100 } };
    for (const bridge of reports(declared, named)) {
      expect(bridge.usage).toMatchObject({ completion: 5, internalReasoning: 100 });
    }
    for (const bridge of reports(declared, { ...counts, total_tokens: 14 })) {
      expect(bridge.usageFlaw).toBe("usage.total_tokens is not prompt plus completion");
    }
  });
});

describe("tool_signature: gemini", () => {
  const profile = { tool_signature: "gemini" } as const;
  const wires = { client: "wire_b", upstream: "wire_a", profile } as const;
  const signature = "CiQB+/abcdc=";
  const extra_content = { google: { thought_signature: signature } };
  const signed = { ...CALL, extra_content };

  /** Returns the messages that the provider gets if the client sends these calls back. */
  const backAgain = (...ids: string[]): unknown => {
    const uses = ids.map((id) => ({ type: "tool_use", id, name: "f", input: {} }));
    const results = ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: "1" }));
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: uses },
      { role: "user", content: results },
    ];
    return sendAcross("wire_b", { messages }, profiled(profile)).body["messages"];
  };

  test("a signature reaches the client in its call's id, and the provider gets it back", () => {
    const second = { ...CALL, id: "c2" };
    const json = playJson(wires, wholeAnswer({ tool_calls: [signed, second] }, "tool_calls"));
    const stream = playStream(wires, toolDelta(0, signed), toolDelta(1, second), ...TOOLS_END);
    for (const { text } of [json, stream]) {
      const ids = idsOf(text);
      expect(ids).toHaveLength(2);
      for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
      expect(backAgain(...ids)).toMatchObject([
        {},
        { tool_calls: [{ id: "c1", extra_content }, { id: "c2" }] },
        { tool_call_id: "c1" },
        { tool_call_id: "c2" },
      ]);
    }
  });

  test("signed calls without ids get different ids, and their signatures come back", () => {
    const calls = ["a", "b"].map((letter) => {
      const thought_signature = Buffer.from(letter.repeat(9)).toString("base64");
      return { ...CALL, id: "", extra_content: { google: { thought_signature } } };
    });
    const { text } = playJson(wires, wholeAnswer({ tool_calls: calls }, "tool_calls"));
    const sent = backAgain(...idsOf(text)) as { tool_calls?: { id: string }[] }[];
    const back = sent[1]?.tool_calls ?? [];
    expect(back[0]?.id).toMatch(/^call_/);
    expect(back[1]?.id).not.toBe(back[0]?.id);
    expect(back).toMatchObject(calls.map(({ extra_content: kept }) => ({ extra_content: kept })));
  });

  test("a signature that is not base64 or is too long is left out of its call's id", () => {
    for (const thought_signature of ["", "ä", "a b", "A".repeat(20_000), 7, {}]) {
      const odd = { ...CALL, extra_content: { google: { thought_signature } } };
      const { text } = playJson(wires, wholeAnswer({ tool_calls: [odd] }, "tool_calls"));
      expect(idsOf(text)).toEqual(["c1"]);
    }
  });

  test("a call's id that only looks signed is sent to the provider unchanged", () => {
    const forged = `c1_tmsig_${"A".repeat(40)}`;
    const use = { type: "tool_use", id: forged, name: "f", input: {} };
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: [use] },
    ];
    expect(sendSame("wire_b", { messages }).body["messages"]).toEqual(messages);
    expect(JSON.stringify(sendAcross("wire_b", { messages }).body)).not.toContain("extra_content");
    for (const odd of ["_tmsig_AAAA", `c1_tmsig_"}]`, `c1_tmsig_${"A".repeat(30_000)}`]) {
      const sent = backAgain(odd);
      expect(sent).toMatchObject([{}, { tool_calls: [{ id: odd }] }, { tool_call_id: odd }]);
    }
  });
});

describe.each(CLIENTS)("finish reasons, for a client of %s", (client) => {
  const wires = { client, upstream: "wire_a" } as const;
  const called = client === "wire_a" ? '"finish_reason":"tool_calls"' : '"stop_reason":"tool_use"';

  test.each(["", null, undefined, "eos"])(
    "an answer with calls ends with the tool-call reason even if the provider's reason is %j",
    (finish) => {
      const json = playJson(wires, wholeAnswer({ content: null, tool_calls: [CALL] }, finish));
      expect(json.text).toContain(called);
      expect(json.bridge.hasWrongFinish).toBe(false);
      const end = { ...delta({}), choices: [{ index: 0, delta: {}, finish_reason: finish }] };
      for (const wantsUsageChunk of [false, true]) {
        const open = { ...wires, wantsUsageChunk };
        const { text, bridge } = playStream(open, toolDelta(0, CALL), end, done);
        expect(text.split(called)).toHaveLength(2);
        expect(bridge.hasWrongFinish).toBe(false);
      }
    },
  );

  const faults = ["error", "insufficient_system_resource", "network_error"];
  test.each(faults)("fail the answer if they report %s", (finish) => {
    const json = playJson(wires, wholeAnswer({ content: "" }, finish));
    const stream = playStream(wires, delta({ content: "Hi" }), delta({}, finish), done);
    for (const { bridge } of [json, stream]) {
      expect(bridge).toMatchObject({ state: "failed", failure: { failover: true } });
    }
  });

  test.each([
    ["worker lost", { class: "upstream_error", status: 502 }],
    ["Please reduce the length of the messages", { class: "context_overflow", status: 400 }],
  ])("a stream that Groq stopped early, because of %j, is not a whole answer", (error, refusal) => {
    for (const last of [{ choices: [] }, delta({}), delta({}, "stop")]) {
      const stopped = { ...last, x_groq: { id: "req_1", error } };
      const { bridge } = playStream(wires, delta({ content: "Hi" }), stopped, done);
      expect(bridge).toMatchObject({ state: "failed", failure: { refusal } });
    }
  });

  test.each([null, "", undefined])("a stream is whole if Groq's error is %j", (error) => {
    const last = { ...delta({}, "stop"), x_groq: { id: "req_1", error } };
    const { bridge } = playStream(wires, delta({ content: "Hi" }), last, done);
    expect(bridge.state).toBe("complete");
  });
});

describe.each(EVERY)("a stream of $upstream for a client of $client", (wires) => {
  test.each([{}, { type: "server_error" }])(
    "that names an event `error` fails, although its data %j has no member `error`",
    (more) => {
      const data = JSON.stringify({ ...more, message: "worker lost", code: 500 });
      const [begin, end] =
        wires.upstream === "wire_a"
          ? [chunks(delta({ content: "Hi" })), chunks(done)]
          : [chunks(start, textStart(0), said(0, "Hi")), chunks(stop(0), ...close("end_turn"))];
      const { bridge } = play(openStream(wires), [begin, `event: error\ndata: ${data}\n\n`, end]);
      const refusal = { class: "upstream_error", status: 500 };
      expect(bridge).toMatchObject({ state: "failed", failure: { refusal } });
    },
  );
});

describe.each(CLIENTS)("a second message_start, for a client of %s", (client) => {
  const wires = { client, upstream: "wire_b" } as const;
  const opening = (id?: string) => ({ type: "message_start", message: { id } });
  const call = block(0, { type: "tool_use", id: "c1", name: "f", input: {} });
  const half = { type: "input_json_delta", partial_json: '{"path":"a' };
  const cut = [opening("msg_A"), call, { type: "content_block_delta", index: 0, delta: half }];
  const whole = [block(1, { type: "text", text: "Hi" }), stop(1), ...close("tool_use")];

  test("of another message fails the answer, so that a cut call does not count as whole", () => {
    const { bridge, text } = playStream(wires, ...cut, opening("msg_B"), ...whole);
    expect(bridge).toMatchObject({ state: "failed", failure: { failover: true } });
    expect(text).not.toContain("Hi");
  });

  test.each(["msg_A", "", undefined])("with the id %j is ignored", (id) => {
    const { bridge, text } = playStream(wires, ...cut, opening(id), ...whole);
    expect(bridge.state).toBe("complete");
    expect(text).toContain("Hi");
  });
});

describe("a provider's deviations are corrected", () => {
  const wiresA = { client: "wire_a", upstream: "wire_a" } as const;
  const wiresB = { client: "wire_b", upstream: "wire_b" } as const;
  const called = (id: string | undefined, args: string, name = "read_file"): object => ({
    ...(id === undefined ? {} : { id, type: "function" }),
    function: { ...(name === "" ? {} : { name }), arguments: args },
  });
  /** Plays a stream for a client that did not ask for a usage chunk, and for one that did. */
  const playBoth = (...objects: readonly unknown[]) =>
    [false, true].map((wantsUsageChunk) => playStream({ ...wiresA, wantsUsageChunk }, ...objects));
  const wholeMessage = (message: object, finish: string) =>
    JSON.parse(playJson(wiresA, wholeAnswer(message, finish)).text).choices[0].message;

  test.each([
    ["share one index", [0, 0], [0, 1]],
    ["have no index", [undefined, undefined], [0, 1]],
    ["skip an index", [0, 5], [0, 1]],
  ])("parallel calls that %s are two calls at two indexes", (_name, sent, expected) => {
    const [first, second] = sent;
    const parts = callsOf(
      toolDelta(first, called("c1", '{"path":')),
      toolDelta(first, called("c1", '"a"}')),
      toolDelta(second, called("c2", '{"path":"b"}')),
    );
    expect([...parts.keys()]).toEqual(expected);
    expect([...parts.values()]).toEqual([
      { id: "c1", name: "read_file", arguments: '{"path":"a"}' },
      { id: "c2", name: "read_file", arguments: '{"path":"b"}' },
    ]);
  });

  test("arguments that follow an empty object replace it, and an empty object alone is kept", () => {
    const parts = callsOf(
      toolDelta(0, called("c1", "{}")),
      toolDelta(0, called(undefined, '{"path":', "")),
      toolDelta(0, called(undefined, '"a"}', "")),
      toolDelta(1, called("c2", "{}")),
      toolDelta(1, called(undefined, "{}", "")),
      toolDelta(2, called("c3", "{}")),
      toolDelta(2, called(undefined, "", "")),
      toolDelta(2, called(undefined, " ", "")),
      toolDelta(2, called(undefined, '{"path":"c"}', "")),
      toolDelta(3, called("c4", "{}")),
      toolDelta(3, called(undefined, "", "")),
      toolDelta(4, called("c5", "{}")),
      toolDelta(4, called(undefined, "{}", "")),
    );
    const all = [...parts.values()].map((part) => part.arguments);
    expect(all).toEqual(['{"path":"a"}', "{}", '{"path":"c"}', "{}", "{}"]);
  });

  test("a call without arguments is passed on byte for byte, at the latest with the next chunk", () => {
    const call = toolDelta(0, { index: 0, ...called("c1", "{}") });
    for (const { text } of playBoth(delta({ role: "assistant", content: "" }), call, ...TOOLS_END))
      expect(text).toContain(`data: ${JSON.stringify({ ...call, model: marketModel })}\n\n`);
  });

  test("a fragment that is no object does not empty the arguments before it", () => {
    const braces = [called("c1", "{}"), called(undefined, "{}", "")].map((call) =>
      toolDelta(0, call),
    );
    const { text } = playStream(wiresA, ...braces, delta({ tool_calls: [null] }), ...TOOLS_END);
    expect(text).toContain('"arguments":"{}"');
  });

  test.each([
    ["text", []],
    ["text like that before it", [delta({ content: "x" }), delta({ content: "y" })]],
  ])("%s behind a call without arguments is sent to a messages client at once", (_, before) => {
    const bridge = openStream(bToA);
    bridge.push(Buffer.from(chunks(...before, toolDelta(0, called("c1", "{}")))));
    bridge.takeOutput();
    bridge.push(Buffer.from(chunks(delta({ content: "late" }))));
    expect(bridge.takeOutput()?.toString()).toMatch(/"partial_json":"{}".*"text":"late"/s);
  });

  test("calls that follow the finish reason tool_calls come before it, and without them it is stop", () => {
    const call = toolDelta(0, called("c1", "{}"));
    for (const early of [delta({}, "tool_calls"), delta({ content: "x" }, "tool_calls")]) {
      const plays = [...playBoth(early, call, done), ...playBoth(early, call, ...TOOLS_END)];
      for (const { text, bridge } of plays) {
        expect(finishesOf(text)).toEqual(["tool_calls"]);
        expect(text.indexOf('"c1"')).toBeLessThan(text.indexOf('"finish_reason":"tool_calls"'));
        expect(bridge.hasWrongFinish).toBe(false);
      }
      for (const { text, bridge } of playBoth(early, delta({ content: "y" }), done)) {
        expect(finishesOf(text)).toEqual(["stop"]);
        expect(bridge.hasWrongFinish).toBe(true);
      }
    }
  });

  test("a call without arguments reaches the client of a stream that breaks behind it", () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const call = { ...toolDelta(0, called("c1", "{}")), usage };
    for (const { text, bridge } of playBoth(delta({ content: "x" }), call)) {
      expect(bridge.state).toBe("failed");
      expect([...joinedCalls(text).values()]).toMatchObject([{ id: "c1", arguments: "{}" }]);
    }
  });

  test("a call keeps its first id where each fragment has another", () => {
    const parts = callsOf(
      toolDelta(0, called("c1", '{"path":')),
      toolDelta(0, called("c2", '"a"}', "")),
      toolDelta(0, called("c3", "", "")),
    );
    const expected = { id: "c1", name: "read_file", arguments: '{"path":"a"}' };
    expect([...parts.values()]).toEqual([expected]);
  });

  test("an id that comes after the first fragment of its call does not change the call", () => {
    const parts = callsOf(
      toolDelta(0, { type: "function", function: { name: "f", arguments: "{" } }),
      toolDelta(0, { id: "late", function: { arguments: "}" } }),
    );
    expect([...parts.values()]).toEqual([{ id: `call_${idTail}_0`, name: "f", arguments: "{}" }]);
  });

  test("an answer has one role, also if no chunk of the provider has one", () => {
    const rest = [delta({ content: "e" }), delta({ content: "l" }), delta({}, "stop"), done];
    for (const first of [delta({ content: "H" }), delta({ role: "", content: "H" })]) {
      for (const { text } of playBoth(first, ...rest)) {
        const roles = choicesOf(text).map((choice) => choice.delta?.role);
        expect(roles.filter((role) => role !== undefined && role !== "")).toEqual(["assistant"]);
        expect(roles[0]).toBe("assistant");
      }
    }
  });

  test("an answer has one role, also if every chunk has one, or an empty one", () => {
    const call = { ...CALL, index: 0 };
    for (const role of ["assistant", ""]) {
      const rest = ["a", "b", "c", ""].map((content) => delta({ content, role }));
      const last = [delta({ role, tool_calls: [call] }), delta({ role }, "tool_calls"), done];
      for (const { text } of playBoth(delta({ role, content: "" }), ...rest, ...last)) {
        const deltas = choicesOf(text).flatMap((choice) => choice.delta ?? []);
        expect(deltas.map((each) => each.role)).toEqual([
          "assistant",
          ...deltas.slice(1).map(() => undefined),
        ]);
        expect(deltas).toContainEqual({ content: "c" });
        expect([...joinedCalls(text).values()]).toMatchObject([{ id: "c1", arguments: "{}" }]);
      }
    }
  });

  test("each chunk of a stream is named as one, and no message in it repeats the text so far", () => {
    const named = (choice: object): object => ({
      ...delta({}),
      object: "chat.completion",
      choices: [{ index: 0, ...choice }],
    });
    const spoken = (content: string, soFar: string, finish: string | null = null): object => {
      const message = { role: "assistant", content: soFar };
      return named({ delta: { content }, message, finish_reason: finish });
    };
    const whole = named({ message: { role: "assistant", content: "Hi!" }, finish_reason: "stop" });
    for (const last of [spoken("", "Hi!", "stop"), whole]) {
      for (const { text } of playBoth(spoken("Hi", "Hi"), spoken("!", "Hi!"), last, done)) {
        const ours = text.match(/"object":"chat\.completion\.chunk"/g);
        expect(ours).toHaveLength(dataOf(text).length);
        expect(text).not.toContain('"message"');
        expect(choicesOf(text).map((choice) => choice.delta)).toContainEqual({ content: "!" });
        expect(finishesOf(text)).toEqual(["stop"]);
      }
    }
    for (const { text } of playBoth(whole, done)) expect(text).toContain('"content":"Hi!"');
  });

  const untyped = [{}, { type: null }, { type: "" }];
  test.each(untyped)("a call with %j as its type is sent as a function", (type) => {
    const bare = { id: "c1", ...type, function: { name: "f", arguments: "{" } };
    const calls = [toolDelta(0, bare), toolDelta(0, { function: { arguments: "}" } })];
    const { text } = playStream(wiresA, ...calls, ...TOOLS_END);
    const fragments = choicesOf(text).flatMap((choice) => choice.delta?.tool_calls ?? []);
    expect(fragments.map((each) => each.type)).toEqual(["function", undefined]);

    const custom = { id: "c3", type: "custom", custom: { name: "g", input: "" } };
    const message = { content: null, tool_calls: [bare, CALL, custom] };
    const { tool_calls: sent } = wholeMessage(message, "tool_calls");
    expect(sent).toEqual([{ ...bare, type: "function" }, CALL, custom]);
  });

  test("calls without an id get one, and arguments sent as an object become a JSON string", () => {
    const big = '{"big":12345678901234567890}';
    const printed = (value: unknown): string =>
      JSON.stringify(value).replaceAll('"BIG"', "12345678901234567890");
    const bare = { type: "function", function: { name: "f", arguments: { big: "BIG" } } };
    const calls = [bare, { ...bare, id: "" }, { ...CALL, function: { name: "g" } }];
    const deltas = calls.map((call, at) => printed(toolDelta(at, call)));
    const { text } = playStream(wiresA, ...deltas, ...TOOLS_END);
    const ids = [`call_${idTail}_0`, `call_${idTail}_1`, "c1"];
    const streamed = [...joinedCalls(text).values()];
    expect(streamed.map((call) => [call.id, call.arguments])).toEqual([
      [ids[0], big],
      [ids[1], big],
      [ids[2], "{}"],
    ]);
    const whole = printed(
      JSON.parse(wholeAnswer({ content: null, tool_calls: calls }, "tool_calls")),
    );
    const { tool_calls: sent } = JSON.parse(playJson(wiresA, whole).text).choices[0].message;
    expect(sent).toMatchObject([
      { id: ids[0], function: { arguments: big } },
      { id: ids[1], function: { arguments: big } },
      { id: ids[2], function: { arguments: "{}" } },
    ]);
  });

  test("a call with empty arguments gets an empty object before the finish reason", () => {
    const calls = [toolDelta(0, called("c1", "")), toolDelta(1, called("c2", '{"a":1}'))];
    const late = delta({ tool_calls: [{ index: 2, ...called("c3", " ") }] }, "tool_calls");
    const two = ["{}", '{"a":1}'];
    const endings: readonly (readonly [readonly unknown[], readonly string[]])[] = [
      [TOOLS_END, two],
      [[delta({}, "tool_calls")], two],
      [[delta({}, "tool_calls"), ...TOOLS_END], two],
      [[done], two],
      [
        [late, done],
        [...two, " {}"],
      ],
    ];
    for (const [end, expected] of endings) {
      for (const { text } of playBoth(...calls, ...end)) {
        expect([...joinedCalls(text).values()].map((call) => call.arguments)).toEqual(expected);
        const reason = '"finish_reason":"tool_calls"';
        expect(text.lastIndexOf('"arguments":"{}"')).toBeLessThan(text.indexOf(reason));
        expect(finishesOf(text)).toEqual(["tool_calls"]);
      }
    }
    const bare = { ...CALL, function: { name: "f", arguments: "" } };
    expect(wholeMessage({ content: null, tool_calls: [bare] }, "stop").tool_calls).toEqual([CALL]);
  });

  test("a call that was cut before its arguments, or is of another type, gets no empty object", () => {
    const custom = { id: "c1", type: "custom", custom: { name: "g", input: "x" } };
    const bare = { ...CALL, function: { name: "f", arguments: "" } };
    const kept: readonly (readonly [object, string])[] = [
      [bare, "length"],
      [bare, "content_filter"],
      [custom, "stop"],
    ];
    for (const [call, word] of kept) {
      for (const { text, bridge } of playBoth(toolDelta(0, call), delta({}, word), done)) {
        expect(bridge.state).toBe("complete");
        expect(text).not.toContain('"arguments":"{}"');
      }
      const message = { content: null, tool_calls: [call] };
      expect(wholeMessage(message, word).tool_calls).toEqual([call]);
    }
  });

  describe("fields that the official clients' types require are added", () => {
    test("to a bare chat-completions answer, streamed or not", () => {
      const own = { created: 1_800_000_000, model: marketModel, id: `chatcmpl-${idTail}` };
      const counts = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
      const usage = { prompt_tokens: 7, completion_tokens: 2 };
      const bare = { choices: [{ message: { content: "Hi" } }], usage };
      const message = { role: "assistant", content: "Hi" };
      expect(JSON.parse(playJson(wiresA, JSON.stringify(bare)).text)).toEqual({
        ...own,
        object: "chat.completion",
        choices: [{ index: 0, finish_reason: "stop", message }],
        usage: { ...counts, cost: 0.001932 },
      });
      const chunk = { choices: [{ delta: { content: "Hi" } }] };
      for (const { text } of playBoth(chunk, { choices: [], usage }, done)) {
        const sent = dataOf(text);
        const head = { ...own, object: "chat.completion.chunk" };
        for (const each of sent) expect(each).toMatchObject(head);
        expect(sent.at(-1)).toMatchObject({ usage: counts });
      }
    });

    test("to a bare messages answer, streamed or not", () => {
      const bare = { content: [{ type: "text", text: "Hi" }], usage: { input_tokens: 7 } };
      const counts = { input_tokens: 7, output_tokens: 0 };
      const named = { id: `msg_${idTail}`, type: "message", role: "assistant", model: marketModel };
      const head = { ...named, stop_reason: null, stop_sequence: null };
      const usage = { ...counts, cost: 0.001932 };
      const json = JSON.parse(playJson(wiresB, JSON.stringify(bare)).text) as unknown;
      expect(json).toEqual({ ...head, content: bare.content, usage });
      const { text } = playStream(
        wiresB,
        { type: "message_start", message: { usage: { input_tokens: 7 } } },
        block(0, { type: "thinking" }),
        stop(0),
        block(1, { type: "tool_use", name: "f" }),
        stop(1),
        ...close("tool_use", {}),
      );
      const sent = dataOf(text);
      expect(sent[0]?.message).toEqual({ ...head, content: [], usage: counts });
      expect(sent.flatMap(({ content_block: each }) => each ?? [])).toEqual([
        { type: "thinking", thinking: "", signature: "" },
        { type: "tool_use", id: `toolu_${idTail}_2`, name: "f", input: {} },
      ]);
      expect(sent.at(-2)).toMatchObject({
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: { output_tokens: 0 },
      });
    });
  });

  test("arguments that are an object keep their digits across wires", () => {
    const big = '{"big":12345678901234567890}';
    const call = { ...CALL, function: { name: "f", arguments: "BIG" } };
    const json = wholeAnswer({ tool_calls: [CALL, call] }, "tool_calls").replace('"BIG"', big);
    expect(playJson(bToA, json).text).toContain(`"input":${big}`);
    const second = JSON.stringify(toolDelta(1, call)).replace('"BIG"', big);
    const { text } = playStream(bToA, toolDelta(0, CALL), second, ...TOOLS_END);
    expect(text).toContain(`"partial_json":${JSON.stringify(big)}`);
  });

  test("translated calls without an id get ids made of the answer's id and their position", () => {
    const calls = [
      { type: "function", function: { name: "f", arguments: "{}" } },
      { type: "function", function: { name: "g", arguments: "{}" }, id: "" },
    ];
    const json = playJson(bToA, wholeAnswer({ tool_calls: calls }, "tool_calls"));
    const fragments = calls.map((call, at) => toolDelta(at, call));
    for (const { text } of [json, playStream(bToA, ...fragments, ...TOOLS_END)]) {
      expect(idsOf(text)).toEqual([`toolu_${idTail}_0`, `toolu_${idTail}_1`]);
    }
  });

  test("ids that the gateway gives to many calls differ, and OpenAI takes all of them", () => {
    const numbers = Array.from({ length: 101 }, (_, at) => at);
    const named = { type: "function", function: { name: "f", arguments: "{}" } };
    const chats = numbers.map((at) => toolDelta(at, named));
    const blocks = numbers.flatMap((at) => [block(at, { type: "tool_use", name: "f" }), stop(at)]);
    const messages = [start, ...blocks, ...close("tool_use")];
    const own = /"id":"((?:call|toolu)_[^"]*)"/g;
    for (const { text } of [
      playStream(bToA, ...chats, ...TOOLS_END),
      playStream(wiresA, ...chats, ...TOOLS_END),
      playStream(wiresB, ...messages),
      playStream(aToB, ...messages),
      playJson(wiresA, wholeAnswer({ tool_calls: numbers.map(() => named) }, "tool_calls")),
    ]) {
      const ids = new Set([...text.matchAll(own)].map((match) => match[1] ?? ""));
      expect(ids.size).toBe(numbers.length);
      expect(Math.max(...[...ids].map((id) => id.length))).toBe(40);
    }
  });

  test("text parts become one string, and thinking parts become reasoning_content", () => {
    const parts = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "text", text: "Hi" },
      { type: "reference", reference_ids: [0] },
    ];
    const plain = { role: "assistant", content: "Hi", reasoning_content: "hm" };
    expect(wholeMessage({ content: parts }, "stop")).toEqual(plain);
    const pieces = [delta({ content: parts }), delta({ content: "!" }), delta({}, "stop"), done];
    const { text } = playStream(wiresA, ...pieces);
    const deltas = choicesOf(text).map((choice) => choice.delta);
    expect(deltas).toEqual([plain, { content: "!" }, {}]);
    const picture = [{ type: "image_url", image_url: { url: "data:" } }];
    expect(wholeMessage({ content: picture }, "stop").content).toEqual(picture);
  });

  test("[DONE] without a finish reason is sent as stop and recorded as a wrong finish", () => {
    for (const { text, bridge } of playBoth(delta({ content: "Hi" }), done)) {
      expect(finishesOf(text)).toEqual(["stop"]);
      expect(bridge.hasWrongFinish).toBe(true);
    }
  });

  test("the last chunk has the id of the answer, which the first chunk may lack", () => {
    const notice = { id: "", object: "", created: 0, model: "", choices: [] };
    const first = { ...notice, prompt_filter_results: [] };
    const [, asked] = playBoth(first, delta({ content: "Hi" }, "stop"), done);
    const last = dataOf(asked?.text ?? "").at(-1);
    expect(last).toMatchObject({ id: "up-1", created: 7, choices: [] });
  });

  test("a long id of the first chunk is not written into each later chunk", () => {
    const long = { ...delta({ content: "Hi" }), id: "x".repeat(100_000) };
    const bare = { choices: [{ index: 0, delta: { content: "again" } }] };
    const later = Array.from({ length: 50 }, () => bare);
    const { text } = playStream(wiresA, long, ...later, delta({}, "stop"), done);
    expect(text.length).toBeLessThan(200_000);
    expect(text.match(/"chatcmpl-/g)).toHaveLength(50);
  });

  test("a stream is cut after 32 MiB of events without content, which would fill the memory", () => {
    const silent = chunks({ ...delta({}), padding: "x".repeat(1_000_000) });
    const { bridge, text } = play(openStream(wiresA), [
      ...Array.from({ length: 40 }, () => silent),
      chunks(delta({ content: "Hi" }, "stop"), done),
    ]);
    expect(bridge.failure).toMatchObject({ refusal: { class: "upstream_error" }, failover: true });
    expect(text).not.toContain("Hi");
  });

  test("a messages stream has content and usage at its start, and usage in every message_delta", () => {
    const ended = { type: "message_delta", delta: { stop_reason: "end_turn" } };
    const rest = [textStart(0), said(0, "Hi"), stop(0), ended, ...close(null)];
    for (const message of [undefined, {}, { content: null, usage: null }]) {
      const opening = { type: "message_start", ...(message && { message }) };
      const [first, ...others] = dataOf(playStream(wiresB, opening, ...rest).text);
      expect(first?.message).toMatchObject({ content: [], usage: { output_tokens: 0 } });
      expect(others.filter(({ type }) => type === "message_delta")).toMatchObject([
        { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 0 } },
        { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
      ]);
    }
  });

  test("zeros at the end of a messages stream hide no count of its start from the client", () => {
    const counts = { input_tokens: 7, cache_read_input_tokens: 5, output_tokens: 1 };
    const opening = { type: "message_start", message: { usage: counts } };
    const last = (usage: object): SentEvent | undefined => {
      const rest = [textStart(0), said(0, "Hi"), stop(0), ...close("end_turn", usage)];
      const { text } = playStream(wiresB, opening, ...rest);
      return dataOf(text).find(({ type }) => type === "message_delta");
    };
    const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const sum = { ...counts, cache_creation_input_tokens: 0 };
    expect(last({ ...zeros, output_tokens: 40 })).toMatchObject({
      usage: { ...sum, output_tokens: 40, cost: 0.001932 },
    });
    expect(last({ ...zeros, output_tokens: 0 })).toMatchObject({ usage: sum });
    const anew = { input_tokens: 0, cache_read_input_tokens: 12, output_tokens: 40 };
    expect(last(anew)).toMatchObject({ usage: anew });
  });

  test("a text or thinking delta without a block start gets one, and other stray deltas are dropped", () => {
    const piece = (index: number, part: object) => ({
      type: "content_block_delta",
      index,
      delta: part,
    });
    const { text } = playStream(
      wiresB,
      start,
      piece(0, { type: "thinking_delta", thinking: null }),
      piece(0, { type: "thinking_delta", thinking: "hm" }),
      stop(0),
      piece(2, { type: "input_json_delta", partial_json: "{}" }),
      said(1, "H"),
      said(1, "i"),
      piece(1, { type: "text_delta", text: null }),
      stop(1),
      ...close("end_turn"),
    );
    expect(blockEventsOf(text)).toEqual([
      block(0, { type: "thinking", thinking: "", signature: "" }),
      piece(0, { type: "thinking_delta", thinking: "hm" }),
      stop(0),
      textStart(1),
      said(1, "H"),
      said(1, "i"),
      stop(1),
    ]);
  });

  test("the last message_delta has the reason tool_use, even if the provider sends it early or never", () => {
    const call = block(0, { type: "tool_use", id: "t", name: "f", input: {} });
    const [reason, end] = close("tool_use");
    const empty = { type: "message_delta", delta: {}, usage: {} };
    for (const order of [
      [start, call, reason, stop(0), end],
      [start, call, stop(0), end],
      [start, empty, call, stop(0), end],
      [start, reason, call, stop(0), end],
    ]) {
      const sent = dataOf(playStream(wiresB, ...order).text);
      expect(sent.findLast(({ type }) => type === "message_delta")).toMatchObject({
        delta: { stop_reason: "tool_use" },
        usage: { cost: 0.001932 },
      });
    }
  });

  test("a chunk without a delta is left out, but gets an empty delta if it has a finish reason", () => {
    const filtered = { index: 0, finish_reason: null, content_filter_results: {} };
    const filter = { id: "", object: "", created: 0, model: "", choices: [filtered] };
    const bare = { ...delta({}), choices: [{ finish_reason: "stop" }] };
    for (const end of [
      [delta({}, "stop"), filter],
      [filter, bare],
    ]) {
      for (const { text, bridge } of playBoth(delta({ content: "Hi" }), ...end, done)) {
        expect(bridge.state).toBe("complete");
        expect(text).not.toContain("content_filter_results");
        const choices = choicesOf(text);
        for (const each of choices) expect(each).toMatchObject({ index: 0, delta: {} });
        expect(choices.at(-1)?.finish_reason ?? "stop").toBe("stop");
      }
    }
  });

  test.each([
    ["eos", "stop"],
    ["MAX_TOKENS", "length"],
    ["content_filter: SAFETY", "content_filter"],
    ["constructor", "stop"],
    ["tool_calls", "stop"],
    ["function_call", "stop"],
    ["tool_use", "stop"],
  ])("a chat-completions client gets the finish reason %s as %s", (word, expected) => {
    const json = playJson(wiresA, wholeAnswer({ content: "I can" }, word));
    expect(JSON.parse(json.text).choices[0].finish_reason).toBe(expected);
    for (const end of [delta({}, word), delta({ content: "!" }, word)]) {
      for (const { text } of playBoth(delta({ content: "I can" }, ""), end, done)) {
        expect(finishesOf(text)).toEqual([expected]);
      }
    }
  });

  test("a chat-completions client gets the finish reason stop as tool_calls if the answer has calls", () => {
    const json = playJson(wiresA, wholeAnswer({ content: null, tool_calls: [CALL] }, "stop"));
    expect(JSON.parse(json.text).choices[0].finish_reason).toBe("tool_calls");
    const inOne = delta({ tool_calls: [{ index: 0, ...CALL }] }, "stop");
    for (const sent of [[toolDelta(0, CALL), delta({}, "stop")], [inOne]]) {
      for (const { text, bridge } of playBoth(...sent, done)) {
        expect(finishesOf(text)).toEqual(["tool_calls"]);
        expect(bridge.hasWrongFinish).toBe(false);
      }
    }
  });

  test("the finish reason stop stays if the client named the tool to call, as at OpenAI", () => {
    const named = { ...wiresA, namesTool: true };
    const json = playJson(named, wholeAnswer({ content: null, tool_calls: [CALL] }, "stop"));
    expect(JSON.parse(json.text).choices[0].finish_reason).toBe("stop");
    for (const wantsUsageChunk of [false, true]) {
      const sent = [toolDelta(0, CALL), delta({}, "stop"), done];
      const { text } = playStream({ ...named, wantsUsageChunk }, ...sent);
      expect(finishesOf(text)).toEqual(["stop"]);
    }
  });

  test.each([
    ["eos", "end_turn"],
    ["length", "max_tokens"],
    ["content_filter", "refusal"],
    ["MAX_TOKENS", "max_tokens"],
    ["pause_turn", "pause_turn"],
    ["compaction", "compaction"],
    ["tool_use", "end_turn"],
    ["tool_calls", "end_turn"],
  ])("a messages client gets the stop reason %s as %s", (word, expected) => {
    const body = { type: "message", content: [{ type: "text", text: "x" }], stop_reason: word };
    const json = playJson(wiresB, JSON.stringify(body)).text;
    expect(JSON.parse(json).stop_reason).toBe(expected);
    const { text } = playStream(wiresB, start, textStart(0), said(0, "x"), stop(0), ...close(word));
    expect(text.match(/"stop_reason":"\w+"/g)).toEqual([`"stop_reason":"${expected}"`]);
  });

  test.each([
    ["tool_use", "end_turn", "tool_use"],
    ["tool_use", "max_tokens", "max_tokens"],
    ["server_tool_use", "end_turn", "end_turn"],
    ["server_tool_use", "tool_use", "tool_use"],
  ])("a messages client gets with a %s block the stop reason %s as %s", (type, word, expected) => {
    const call = { type, id: "t1", name: "f", input: {} };
    const body = JSON.stringify({ type: "message", content: [call], stop_reason: word });
    const json = playJson(wiresB, body).text;
    expect(JSON.parse(json)).toMatchObject({ content: [call], stop_reason: expected });
    const { text } = playStream(wiresB, start, block(0, call), stop(0), ...close(word));
    expect(text.match(/"stop_reason":"\w+"/g)).toEqual([`"stop_reason":"${expected}"`]);
  });

  test("blocks are numbered in the order of their starts, and incomplete events are left out", () => {
    const spoken = (index: number, ...words: string[]) => [
      textStart(index),
      ...words.map((word) => said(index, word)),
      stop(index),
    ];
    const { text } = playStream(
      wiresB,
      start,
      ...spoken(3, "a", "b"),
      ...spoken(3, "c"),
      { type: "content_block_delta", index: 0 },
      { type: "content_block_start", index: 9 },
      stop(9),
      ...spoken(1, "d", "e"),
      { type: "message_delta", usage: { output_tokens: 5 } },
      ...close("end_turn"),
    );
    const expected = [...spoken(0, "a", "b"), ...spoken(1, "c"), ...spoken(2, "d", "e")];
    expect(blockEventsOf(text)).toEqual(expected);
    const deltas = dataOf(text).filter(({ type }) => type === "message_delta");
    expect(deltas.every(({ delta: part }) => part !== undefined)).toBe(true);
  });

  const marks = ["data:  [DONE]", "data:\t[DONE]\t ", "data: [DONE] "];
  test.each(marks)("%j completes a stream for the clients of both wires", (mark) => {
    const pieces = [chunks(delta({ content: "Hi" }), delta({}, "stop")), `${mark}\n\n`];
    for (const wires of [wiresA, bToA]) {
      expect(play(openStream(wires), pieces).bridge.state).toBe("complete");
    }
  });
});

interface SentEvent {
  readonly type?: string;
  readonly delta?: object;
  readonly message?: object;
  readonly content_block?: object;
  readonly choices?: readonly SentChoice[];
}

interface SentChoice {
  readonly finish_reason?: string | null;
  readonly delta?: { readonly role?: string; readonly tool_calls?: readonly SentFragment[] };
}

interface SentFragment {
  readonly index: number;
  readonly id?: string;
  readonly type?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

function dataOf(text: string): SentEvent[] {
  const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice(6)) as SentEvent);
}

function blockEventsOf(text: string): SentEvent[] {
  return dataOf(text).filter(({ type }) => String(type).startsWith("content_block"));
}

function choicesOf(text: string): SentChoice[] {
  return dataOf(text).flatMap(({ choices }) => choices ?? []);
}

function finishesOf(text: string): unknown[] {
  const words = choicesOf(text).map((choice) => choice.finish_reason);
  return words.filter((each) => each !== null);
}

/** Returns the calls that a chat-completions client reads if its provider sends these chunks. */
function callsOf(...fragments: readonly object[]): ReturnType<typeof joinedCalls> {
  const wires = { client: "wire_a", upstream: "wire_a" } as const;
  return joinedCalls(playStream(wires, ...fragments, ...TOOLS_END).text);
}

/** Joins the fragments of calls by index, as the strictest official client does. */
function joinedCalls(text: string): Map<number, { id: string; name: string; arguments: string }> {
  const calls = new Map<number, { id: string; name: string; arguments: string }>();
  for (const fragment of choicesOf(text).flatMap((choice) => choice.delta?.tool_calls ?? [])) {
    const known = calls.get(fragment.index) ?? { id: "", name: "", arguments: "" };
    calls.set(fragment.index, {
      id: known.id + (fragment.id ?? ""),
      name: known.name + (fragment.function?.name ?? ""),
      arguments: known.arguments + (fragment.function?.arguments ?? ""),
    });
  }
  return calls;
}

test.each(CLIENTS)("1,025 calls fail only if they are translated, for a client of %s", (client) => {
  const usage = { prompt_tokens: 10, completion_tokens: 9_000, total_tokens: 9_010 };
  const last = { ...delta({}), choices: [], usage };
  const played = (count: number) => {
    const calls = Array.from({ length: count }, (_, at) =>
      toolDelta(undefined, { id: `c${at}`, function: { name: "f", arguments: "{}" } }),
    );
    const wires = { client, upstream: "wire_a", wantsUsageChunk: true } as const;
    return playStream(wires, ...calls, delta({}, "tool_calls"), last, done).bridge;
  };
  expect(played(1_000).state).toBe("complete");
  // For a client of the same wire, the number of calls is not limited.
  const isRelayed = client === "wire_a";
  const bridge = played(1_025);
  expect(bridge.state).toBe(isRelayed ? "complete" : "failed");
  // The client got 1,024 calls, so the answer is read to its usage and charged.
  expect(bridge.usage).toMatchObject({ prompt: 10, completion: 9_000 });
  expect(bridge.failure?.strike).toBe(isRelayed ? undefined : "neutral");
});

test("an answer of 1,025 calls that fails in a translation to wire_a is read to its usage", () => {
  const use = (at: number) => [block(at, { type: "tool_use", id: `c${at}`, name: "f" }), stop(at)];
  const all = Array.from({ length: 1_025 }, (_, at) => use(at)).flat();
  const end = close("tool_use", { output_tokens: 9_000 });
  const { bridge } = playStream({ client: "wire_a", upstream: "wire_b" }, start, ...all, ...end);
  expect(bridge.failure).toMatchObject({ failover: false, strike: "neutral" });
  expect(bridge.usage).toMatchObject({ prompt: 3, completion: 9_000 });
});
