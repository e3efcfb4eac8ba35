import { describe, expect, test } from "vitest";
import { compileFixedBody } from "../../../catalog/wire-profile.ts";
import {
  type Members,
  findProblem,
  profiled,
} from "../../../../test/fixtures/modality/profile-kit.ts";
import {
  buildBody,
  type KnownWire,
  readGood,
  sendAcross,
  sendSame,
} from "../../../../test/fixtures/modality/request-kit.ts";

const strict: Members = { require_parameters: true };
const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
const toolB = { name: "f", input_schema: { type: "object" } };
const callA = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const user = { role: "user", content: "hi" };

test("stream_usage: always never requests usage, same wire or translated, whatever the client sent", () => {
  const always = profiled({ stream_usage: "always" });
  for (const stream_options of [undefined, null, {}, { include_usage: true }]) {
    const sent = sendSame("wire_a", { stream: true, stream_options, max_tokens: 5 }, always);
    expect(sent.text).toBe(buildBody({ stream: true, max_tokens: 5 }));
  }
  const across = sendAcross("wire_b", { stream: true }, always).body;
  expect(across).not.toHaveProperty("stream_options");
});

describe("undeclared: drop", () => {
  const drop = profiled({ undeclared: "drop" }, "temperature", "stop");

  test("sends only fields that the listing declares, and reports the others as dropped", () => {
    const members = { temperature: 0.5, seed: 7, "odd key": 1, store: true, max_tokens: 5 };
    const sent = sendSame("wire_a", members, drop);
    expect(sent.text).toBe(buildBody({ temperature: 0.5, max_tokens: 5 }));
    expect(sent.dropped).toEqual(["seed", "odd?key", "store"]);
  });

  test("recognizes a field whose key is spelled with JSON escapes", () => {
    const body = buildBody({ max_tokens: 5, seed: 7 }).replace('"seed"', '"s\\u0065ed"');
    expect(sendSame("wire_a", body, drop).text).toBe(buildBody({ max_tokens: 5 }));
    const declared = buildBody({ max_tokens: 5, stop: "x" }).replace('"stop"', '"st\\u006fp"');
    expect(sendSame("wire_a", declared, drop).body).toHaveProperty("stop");
  });

  test("drops an effort at the top of a wire_b body: a listing declares the one in output_config", () => {
    const efforts = profiled({ undeclared: "drop" }, "effort", "output_config");
    const members = { effort: "high", reasoning_effort: "high", output_config: { effort: "low" } };
    const sent = sendSame("wire_b", members, efforts);
    expect(sent.body["output_config"]).toEqual({ effort: "low" });
    expect(sent.dropped).toEqual(["effort", "reasoning_effort"]);
    expect(sendSame("wire_a", { reasoning_effort: "high" }, efforts).dropped).toEqual([]);
  });

  test("drops undeclared fields with null or default values without reporting them", () => {
    const defaults = { n: 1, seed: null, store: false, presence_penalty: 0 };
    const noTools = { tools: [], tool_choice: "auto", parallel_tool_calls: true };
    const nothing = { ...defaults, ...noTools, response_format: { type: "text" } };
    const sent = sendSame("wire_a", { ...nothing, max_tokens: 5 }, drop);
    expect(sent.text).toBe(buildBody({ max_tokens: 5 }));
    expect(sent.dropped).toEqual([]);
    expect(findProblem("wire_a", { ...nothing, provider: strict }, drop)).toBeUndefined();
  });

  test("excludes a deployment that would drop a field under require_parameters, translated or not", () => {
    expect(findProblem("wire_a", { seed: 1, provider: strict }, drop)).toBe("seed");
    expect(findProblem("wire_a", { temperature: 1, provider: strict }, drop)).toBeUndefined();
    const across = { ...drop, to: "wire_a" } as const;
    expect(findProblem("wire_b", { top_p: 0.5, provider: strict }, across)).toBe("top_p");
    expect(findProblem("wire_b", { top_p: 1, provider: strict }, across)).toBeUndefined();
    const stop = { stop_sequences: ["x"], provider: strict };
    expect(findProblem("wire_b", stop, across)).toBeUndefined();
  });

  test.each([
    ["tools", { tools: [tool] }],
    ["response_format", { response_format: { type: "json_object" } }],
    ["thinking", { thinking: { type: "enabled", budget_tokens: 1024 } }],
  ])("a request with %s is unservable unless the listing declares that field", (field, members) => {
    expect(findProblem("wire_a", members, drop)).toBe(field);
    expect(findProblem("wire_a", members, profiled({ undeclared: "drop" }, field))).toBeUndefined();
    expect(findProblem("wire_a", members, profiled({ undeclared: "forward" }))).toBeUndefined();
  });

  test("sends declared fields of a translated body, and reports the others by the client's names", () => {
    const sampling = { temperature: 0.5, top_p: 0.9 };
    const members = { ...sampling, stop_sequences: ["x"], metadata: { user_id: "u" } };
    const toA = sendAcross("wire_b", members, drop);
    expect(toA.body).toMatchObject({ temperature: 0.5, stop: ["x"] });
    const sentKeys = ["model", "messages", "max_tokens", "temperature", "stop"];
    expect(Object.keys(toA.body)).toEqual(sentKeys);
    expect(toA.dropped).toEqual(["top_p", "metadata"]);
    const toB = sendAcross("wire_a", { top_p: 0.9, stop: "x", user: "u" }, drop);
    expect(toB.body).toMatchObject({ stop_sequences: ["x"] });
    expect(toB.body).not.toHaveProperty("metadata");
    expect(toB.dropped).toEqual(["top_p", "user"]);
  });
});

test("parallel_tool_calls is dropped for wire_b only if tool_choice is undeclared", () => {
  const members = { tools: [tool], parallel_tool_calls: false };
  const taking = profiled({ undeclared: "drop" }, "tools", "tool_choice");
  const sent = sendAcross("wire_a", members, taking);
  expect(sent.body["tool_choice"]).toEqual({ type: "auto", disable_parallel_tool_use: true });
  expect(sent.dropped).toEqual([]);
  const across = { to: "wire_b", ...taking } as const;
  expect(findProblem("wire_a", { ...members, provider: strict }, across)).toBeUndefined();
  const refusing = profiled({ undeclared: "drop" }, "tools", "parallel_tool_calls");
  expect(sendAcross("wire_a", members, refusing).body).not.toHaveProperty("tool_choice");
  expect(sendAcross("wire_a", members, refusing).dropped).toEqual(["parallel_tool_calls"]);
});

describe("rename and values", () => {
  const mistral = profiled(
    { rename: { seed: "random_seed" }, values: { tool_choice: { required: "any" } } },
    "seed",
    "tools",
    "tool_choice",
  );

  test("send a declared parameter under the endpoint's name, and an undeclared one unchanged", () => {
    const sent = sendSame("wire_a", { seed: 70, max_tokens: 5 }, mistral);
    expect(sent.text).toBe(buildBody({ random_seed: 70, max_tokens: 5 }));
    const undeclared = profiled({ rename: { seed: "random_seed" } });
    expect(sendSame("wire_a", { seed: 70 }, undeclared).body).toHaveProperty("seed");
  });

  test("send the endpoint's name once, even if the client sent a field of that name", () => {
    const sent = sendSame("wire_a", { random_seed: 1, seed: 2, max_tokens: 5 }, mistral);
    expect(sent.text).toBe(buildBody({ random_seed: 2, max_tokens: 5 }));
    expect(sent.dropped).toEqual(["random_seed"]);
    const alone = sendSame("wire_a", { random_seed: 1, max_tokens: 5 }, mistral);
    expect(alone.text).toBe(buildBody({ random_seed: 1, max_tokens: 5 }));
  });

  test("replace a value by the endpoint's word for it, and keep other values", () => {
    const sentChoice = (tool_choice: unknown): unknown =>
      sendSame("wire_a", { tools: [tool], tool_choice }, mistral).body["tool_choice"];
    expect(sentChoice("required")).toBe("any");
    expect(sentChoice("none")).toBe("none");
    const named = { type: "function", function: { name: "required" } };
    expect(sentChoice(named)).toEqual(named);
    const across = sendAcross("wire_b", { tools: [toolB], tool_choice: { type: "any" } }, mistral);
    expect(across.body["tool_choice"]).toBe("any");
  });
});

describe("body", () => {
  const max_price = { prompt: "0.15", completion: "0.6" };
  const ceiling = { ...profiled({ body: { provider: { max_price } } }), priority: 1 };

  test("fixed members replace the client's fields of the same name in any letter case", () => {
    const fixed = profiled({ body: { safe_prompt: true, note: "é€" } });
    const members = { Safe_Prompt: false, safe_prompt: false, max_tokens: 5 };
    const sent = sendSame("wire_a", members, fixed);
    const usual = buildBody({ max_tokens: 5, safe_prompt: true });
    expect(sent.text).toBe(usual.slice(0, -1) + ',"note":"\\u00e9\\u20ac"}');
    expect(sent.body["note"]).toBe("é€");
    expect(sent.dropped).toEqual(["Safe_Prompt", "safe_prompt"]);
    expect(sendAcross("wire_b", {}, fixed).body).toMatchObject({ safe_prompt: true });
  });

  test("a client cannot lift a price ceiling, and keeps its other controls", () => {
    const upstream = { only: ["x"], allow_fallbacks: false };
    const sent = sendSame("wire_a", { provider: { upstream }, max_tokens: 5 }, ceiling);
    expect(sent.text).toBe(buildBody({ max_tokens: 5, provider: { ...upstream, max_price } }));
    expect(sendSame("wire_a", {}, ceiling).body["provider"]).toEqual({ max_price });
    expect(sendAcross("wire_b", {}, ceiling).body["provider"]).toEqual({ max_price });
    const read = () => readGood("wire_a", { provider: { upstream: { max_price } } });
    expect(read).toThrow("provider.upstream.max_price is not a known field");
  });

  test("a fixed provider object reaches a messages endpoint, on the same wire and translated", () => {
    const provider = { upstream: { only: ["x"] } };
    for (const sent of [
      sendSame("wire_b", { provider, max_tokens: 5 }, ceiling),
      sendAcross("wire_a", { provider, max_tokens: 5 }, ceiling),
    ]) {
      expect(sent.body["provider"]).toEqual({ max_price });
    }
  });

  test("fixed members of a listing replace the manifest's members of the same name", () => {
    const members = compileFixedBody({ a: 1, b: 2 }, { b: 3 });
    expect(members.map(({ name, json }) => `${name}=${json}`)).toEqual(["a=1", "b=3"]);
  });
});

test("non_stream_max excludes the deployment for a longer answer that is not streamed", () => {
  const some = profiled({ non_stream_max: 4096 });
  expect(findProblem("wire_a", { max_tokens: 4097 }, some)).toBe("stream");
  expect(findProblem("wire_a", { max_tokens: 4096 }, some)).toBeUndefined();
  expect(findProblem("wire_a", { max_tokens: 9999, stream: true }, some)).toBeUndefined();
  const none = profiled({ non_stream_max: 0 });
  expect(findProblem("wire_b", { max_tokens: 1 }, none)).toBe("stream");
  expect(findProblem("wire_b", { max_tokens: 9999 }, { ...some, to: "wire_a" })).toBe("stream");
});

const namedFunction = { type: "function", function: { name: "f" } };
test.each<[string, KnownWire, unknown, string, boolean]>([
  ["auto", "wire_a", "auto", "auto", true],
  ["required", "wire_a", "required", "auto", false],
  ["a named function", "wire_a", namedFunction, "required", false],
  ["a named function", "wire_a", namedFunction, "named", true],
  ["any", "wire_b", { type: "any" }, "required", true],
  ["a named tool", "wire_b", { type: "tool", name: "f" }, "auto", false],
])(
  "the tool_choice %s of %s (%j) for a listing that declares only %s is servable: %s",
  (_, wire, tool_choice, value, isTaken) => {
    const choices = { type: "enum", values: [value] } as const;
    const supportedParameters = new Map([["tool_choice", choices]]);
    const tools = wire === "wire_a" ? [tool] : [toolB];
    for (const to of ["wire_a", "wire_b"] as const) {
      const problem = findProblem(wire, { tools, tool_choice }, { supportedParameters, to });
      expect(problem).toBe(isTaken ? undefined : "tool_choice");
    }
  },
);

describe("tool_signature: gemini", () => {
  const gemini = profiled({ tool_signature: "gemini" });
  const stand = { google: { thought_signature: "skip_thought_signature_validator" } };
  const assistant = (...tool_calls: object[]) => ({ role: "assistant", content: null, tool_calls });
  const second = { ...callA, id: "c2" };

  const callsOf = (...tool_calls: object[]): unknown => {
    const messages = [user, assistant(...tool_calls)];
    const sent = sendSame("wire_a", { messages }, gemini).body["messages"];
    return (sent as { tool_calls: unknown }[])[1]?.tool_calls;
  };

  test("sends a signature to the provider as the client returned it", () => {
    const signed = { ...callA, extra_content: { google: { thought_signature: "abc" } } };
    expect(callsOf(signed, second)).toEqual([signed, second]);
  });

  test("adds the documented placeholder to the first call if a client has lost it", () => {
    const first = { ...callA, extra_content: stand };
    expect(callsOf(callA, second)).toEqual([first, second]);
    for (const extra_content of [null, { google: { thought_signature: "" } }]) {
      expect(callsOf({ ...callA, extra_content })).toEqual([first]);
    }
  });

  test("adds the placeholder to a translated call without a signature too", () => {
    const use = { type: "tool_use", id: "toolu_1", name: "f", input: {} };
    const messages = [user, { role: "assistant", content: [use] }];
    const sent = sendAcross("wire_b", { messages }, gemini).body["messages"];
    expect(sent).toMatchObject([{}, { tool_calls: [{ id: "toolu_1", extra_content: stand }] }]);
    expect(JSON.stringify(sendAcross("wire_b", { messages }).body)).not.toContain("extra_content");
  });
});
