import { describe, expect, test } from "vitest";
import {
  chunks,
  delta,
  done,
  openJson,
  openStream,
  play,
  toolDelta,
} from "../fixtures/answer-kit.ts";
import { profiled } from "../fixtures/profile-kit.ts";
import { type KnownWire, sendAcross, sendSame } from "../fixtures/request-kit.ts";

const CLIENTS: readonly KnownWire[] = ["wire_a", "wire_b"];
const CALL = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };

function whole(message: object, finish: unknown, usage?: object): string {
  return JSON.stringify({
    id: "up-1",
    object: "chat.completion",
    model: "up-model",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
    usage: usage ?? { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  });
}

describe.each(CLIENTS)("usage_gap: reasoning, for a client of %s", (client) => {
  const wires = { client, upstream: "wire_a" } as const;
  const declared = { ...wires, profile: { usage_gap: "reasoning" } } as const;
  const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 };
  const stream = (usage: object): string =>
    chunks(delta({ content: "Hi" }), delta({}, "stop"), { ...delta({}), choices: [], usage }, done);
  const reports = (open: typeof wires, usage: object) =>
    [
      play(openJson(open), [whole({ content: "Hi" }, "stop", usage)]),
      play(openStream(open), [stream(usage)]),
    ].map(({ bridge }) => bridge);

  test("what the total has above its parts is reasoning where it is declared, and no flaw", () => {
    for (const bridge of reports(declared, counts)) {
      expect(bridge.usage).toMatchObject({ prompt: 10, completion: 5, internalReasoning: 100 });
      expect(bridge.usageFlaw).toBeUndefined();
    }
  });

  test("it is not billed where nothing declares it", () => {
    for (const bridge of reports(wires, counts)) {
      expect(bridge.usage).toMatchObject({ completion: 5, internalReasoning: 0 });
      expect(bridge.usageFlaw).toBe("usage.total_tokens is not prompt plus completion");
    }
  });

  test("what is reported by name is not counted twice, and a total below its parts is a flaw", () => {
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

  /** The ids of the calls that the client of the other wire got. */
  const idsOf = (text: string): string[] =>
    [...text.matchAll(/"type":"tool_use","id":"([^"]*)"/g)].map((match) => match[1] ?? "");

  /** What the provider gets of a history with these calls. */
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

  test("a signature goes to the client in the id of its call, and comes back", () => {
    const second = { ...CALL, id: "c2" };
    const json = play(openJson(wires), [whole({ tool_calls: [signed, second] }, "tool_calls")]);
    const stream = play(openStream(wires), [
      chunks(toolDelta(0, signed), toolDelta(1, second), delta({}, "tool_calls"), done),
    ]);
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

  test("a call without an id of its own has one, and different ones differ", () => {
    const nameless = (other: string) => ({
      ...CALL,
      id: "",
      extra_content: {
        google: { thought_signature: Buffer.from(other.repeat(9)).toString("base64") },
      },
    });
    const calls = [nameless("a"), nameless("b")];
    const { text } = play(openJson(wires), [whole({ tool_calls: calls }, "tool_calls")]);
    const sent = backAgain(...idsOf(text)) as { tool_calls?: { id: string }[] }[];
    const [first, second] = sent[1]?.tool_calls ?? [];
    expect(first?.id).toMatch(/^call_/);
    expect(second?.id).not.toBe(first?.id);
    expect(sent[1]?.tool_calls).toMatchObject(
      calls.map(({ extra_content: kept }) => ({ extra_content: kept })),
    );
  });

  test("one that is no base64 or too long is not carried", () => {
    for (const thought_signature of ["", "ä", "a b", "A".repeat(20_000), 7, {}]) {
      const odd = { ...CALL, extra_content: { google: { thought_signature } } };
      const { text } = play(openJson(wires), [whole({ tool_calls: [odd] }, "tool_calls")]);
      expect(idsOf(text)).toEqual(["c1"]);
    }
  });

  test("a forged id is a text like any other to a provider without signatures", () => {
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

  test.each([[""], [null], [undefined]])("calls say why an answer ended that says %j", (finish) => {
    const json = play(openJson(wires), [whole({ content: null, tool_calls: [CALL] }, finish)]);
    expect(json.text).toContain(called);
    expect(json.bridge.hasWrongFinish).toBe(false);
    for (const wantsUsageChunk of [false, true]) {
      const end = { ...delta({}), choices: [{ index: 0, delta: {}, finish_reason: finish }] };
      const { text, bridge } = play(openStream({ ...wires, wantsUsageChunk }), [
        chunks(toolDelta(0, CALL), end, done),
      ]);
      expect(text.split(called)).toHaveLength(2);
      expect(bridge.hasWrongFinish).toBe(false);
    }
  });

  test("an answer without calls still has to say it", () => {
    const { bridge } = play(openJson(wires), [whole({ content: "Hi" }, "")]);
    expect(bridge.hasWrongFinish).toBe(true);
  });

  test("a network error of the provider is a failure", () => {
    const json = play(openJson(wires), [whole({ content: "" }, "network_error")]);
    const stream = play(openStream(wires), [
      chunks(delta({ content: "Hi" }), delta({}, "network_error"), done),
    ]);
    for (const { bridge } of [json, stream]) expect(bridge.state).toBe("failed");
  });
});

test.each([
  ["sensitive", "refusal"],
  ["model_context_window_exceeded", "max_tokens"],
])("%s is %s to a client of messages", (finish, reason) => {
  const wires = { client: "wire_b", upstream: "wire_a" } as const;
  const json = play(openJson(wires), [whole({ content: "Hi" }, finish)]);
  const stream = play(openStream(wires), [
    chunks(delta({ content: "Hi" }), delta({}, finish), done),
  ]);
  for (const { text } of [json, stream]) expect(text).toContain(`"stop_reason":"${reason}"`);
});

test.each(CLIENTS)(
  "more calls than any answer has are not read on, for a client of %s",
  (client) => {
    const call = (at: number): object =>
      toolDelta(undefined, { id: `c${at}`, function: { name: "f", arguments: "{}" } });
    const calls = (count: number): string =>
      chunks(...Array.from({ length: count }, (_, at) => call(at)), delta({}, "tool_calls"), done);
    const open = (): ReturnType<typeof openStream> =>
      openStream({ client, upstream: "wire_a", wantsUsageChunk: true });
    expect(play(open(), [calls(1_000)]).bridge.state).toBe("complete");
    // A client of the same wire gets the chunks as they come.
    const isRelayed = client === "wire_a";
    expect(play(open(), [calls(1_025)]).bridge.state).toBe(isRelayed ? "complete" : "failed");
  },
);
