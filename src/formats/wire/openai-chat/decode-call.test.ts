import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  buildBody,
  call,
  readGood,
  result,
  type Sent,
  sendAcross,
  text,
  use,
  user,
} from "../../../../test/fixtures/modality/request-kit.ts";

/** The tests of this file translate chat-completions requests for a messages provider. */

type Messages = readonly Readonly<Record<string, unknown>>[];

function sent(members: Readonly<Record<string, unknown>>): Sent {
  return sendAcross("wire_a", members);
}

function sha256(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}

function messagesOf(messages: Messages): unknown {
  return sent({ messages }).body["messages"];
}

function refusedBy(members: Readonly<Record<string, unknown>>): string | undefined {
  return readGood("wire_a", members).decoded().needs.refused[0]?.field;
}

const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
const emptySchema = { type: "object", properties: {} };

describe("system and developer messages", () => {
  test("become the system prompt in their order, without blank ones", () => {
    const developer = (content: unknown) => ({ role: "developer", content });
    const system = (content: string) => ({ role: "system", content });
    const { body } = sent({
      messages: [
        system("one"),
        developer([text("two"), text("")]),
        system(" "),
        user,
        developer("later"),
      ],
    });
    expect(body["system"]).toEqual([text("one"), text("two"), text("later")]);
    expect(body["messages"]).toEqual([user]);
  });

  test("have their last text sent as the user's message if there is no other", () => {
    const system = { role: "system", content: "one" };
    const later = { role: "developer", content: [text("two"), text("three")] };
    const alone = sent({ messages: [system] });
    expect(alone.body).not.toHaveProperty("system");
    expect(alone.body["messages"]).toEqual([{ role: "user", content: "one" }]);
    expect(alone.dropped).toEqual(["messages[].role"]);
    const { body } = sent({ messages: [system, later] });
    expect(body["system"]).toEqual([text("one"), text("two")]);
    expect(body["messages"]).toEqual([{ role: "user", content: "three" }]);
    expect(refusedBy({ messages: [{ role: "system", content: " " }] })).toBe("messages");
  });
});

describe("user messages", () => {
  test.each([
    ["with a string stay a string", "hi", "hi"],
    ["with one text part become a string", [text("hi")], "hi"],
    [
      "with text parts keep those that are not empty",
      [text("a"), text(""), text("b")],
      [text("a"), text("b")],
    ],
  ])("%s", (_, content, expected) => {
    expect(messagesOf([{ role: "user", content }])).toEqual([{ role: "user", content: expected }]);
  });

  test("are joined if they are adjacent, and an empty one vanishes", () => {
    const messages = [{ role: "user", content: "" }, user, { role: "user", content: "there" }];
    expect(messagesOf(messages)).toEqual([{ role: "user", content: [text("hi"), text("there")] }]);
  });

  test("are refused with their path if they are empty and alone", () => {
    expect(refusedBy({ messages: [{ role: "user", content: "" }] })).toBe("messages[0].content");
    const between = [user, { role: "assistant", content: "a" }, { role: "user", content: [] }];
    expect(refusedBy({ messages: between })).toBe("messages[2].content");
  });

  test.each([
    ["image_url", { image_url: { url: "https://a.test/i.png" } }],
    ["hologram", {}],
  ])("a part of type %s is refused with its path", (type, members) => {
    const messages = [{ role: "user", content: [text("x"), { type, ...members }] }];
    expect(refusedBy({ messages })).toBe("messages[0].content[1]");
  });

  test("lose names and hints, which are reported as dropped", () => {
    const hints = { cache_control: { type: "ephemeral" }, prompt_cache_breakpoint: 1 };
    const content = [{ ...text("hi"), ...hints }];
    const { body, dropped } = sent({ messages: [{ role: "user", name: "bob", content }] });
    expect(body["messages"]).toEqual([user]);
    expect(dropped).toEqual([
      "messages[].name",
      "cache_control",
      "messages[].content[].prompt_cache_breakpoint",
    ]);
  });
});

describe("assistant messages", () => {
  test.each([
    ["with only a call become a block", { content: null, tool_calls: [call("c1")] }, [use("c1")]],
    [
      "with text and a call become two blocks",
      { content: "a", tool_calls: [call("c1")] },
      [text("a"), use("c1")],
    ],
    ["with a refusal keep it as their text", { content: null, refusal: "no" }, "no"],
    ["with a refusal part keep its text", { content: [{ type: "refusal", refusal: "no" }] }, "no"],
  ])("%s", (_, members, expected) => {
    const messages = [user, { role: "assistant", ...members }, user];
    expect(messagesOf(messages)).toEqual([user, { role: "assistant", content: expected }, user]);
  });

  test("are dropped without content and calls, and their neighbours are joined", () => {
    const messages = [user, { role: "assistant", content: null, tool_calls: [] }, user];
    expect(messagesOf(messages)).toEqual([{ role: "user", content: [text("hi"), text("hi")] }]);
  });

  test("are sent as a prefill if last, without trailing white space", () => {
    const last = { role: "assistant", content: "so \\n\n\t " };
    expect(messagesOf([user, last])).toEqual([user, { role: "assistant", content: "so \\n" }]);
  });

  test("lose replayed reasoning, which is reported as dropped", () => {
    const reasoning = { reasoning_content: "r", reasoning: "r", reasoning_details: [] };
    const { dropped } = sent({
      messages: [user, { role: "assistant", content: "a", ...reasoning }],
    });
    expect(dropped).toEqual(Object.keys(reasoning).map((name) => `messages[].${name}`));
  });

  const custom = { id: "c", type: "custom", custom: { name: "x", input: "" } };
  test.each([
    ["audio", { audio: { id: "x" } }, "messages[1].audio"],
    ["custom call", { tool_calls: [custom] }, "messages[1].tool_calls[0].type"],
  ])("%s is refused with its path", (_, members, place) => {
    const messages = [user, { role: "assistant", content: "a", ...members }];
    expect(refusedBy({ messages })).toBe(place);
  });
});

describe("tool calls and results", () => {
  const round = (calls: readonly object[], ...rest: Messages): Messages => [
    user,
    { role: "assistant", content: null, tool_calls: calls },
    ...rest,
  ];

  test.each([
    ["", "{}"],
    [undefined, "{}"],
    [null, "{}"],
    ['{"n":12345678901234567890,"f":1.50,"s":"\\u00e9\\ud800"}', undefined],
    ['{ "a" : [1,\n2] }', undefined],
  ])("arguments %j are carried digit for digit", (args, expected) => {
    const { text: bytes } = sent({ messages: round([call("c1", args)]) });
    expect(bytes).toContain(`"input":${expected ?? args}`);
  });

  const noObjects = ["[1]", "7", "{", '{"a":1}}', '{"__proto__":1}', "null"];
  test.each(noObjects)("arguments %j are refused with their path", (args) => {
    const refused = refusedBy({ messages: round([call("c0"), call("c1", args)]) });
    expect(refused).toBe("messages[1].tool_calls[1].function.arguments");
  });

  const parts = [text("a"), text("b")];
  test.each([
    ["an empty string becomes a tool_result without content", "", {}],
    ["text parts becomes a tool_result with text blocks", parts, { content: parts }],
  ])("a result of %s", (_, content, members) => {
    const messages = round([call("c1")], { role: "tool", tool_call_id: "c1", content });
    const told = { role: "user", content: [result("c1", members)] };
    expect(messagesOf(messages)).toMatchObject([user, { role: "assistant" }, told]);
  });

  test("get an id of their own if an earlier call has it, and each result follows its call", () => {
    const answered = (...ids: string[]): Messages => [
      { role: "assistant", tool_calls: ids.map((id) => call(id)) },
      ...ids.map((id, at) => ({ role: "tool", tool_call_id: id, content: `${id}/${at}` })),
    ];
    const history = [user, ...answered("c"), ...answered("c", "d", "c"), ...answered("toolu_1")];
    const messages = messagesOf(history) as readonly { content: readonly Sent["body"][] }[];
    const nameOf = ({ id, tool_use_id, content: said }: Sent["body"]) => id ?? [tool_use_id, said];
    const named = messages.slice(1).map(({ content }) => content.map(nameOf));
    expect(named).toEqual([
      ["c"],
      [["c", "c/0"]],
      ["toolu_1", "d", "toolu_3"],
      [
        ["toolu_1", "c/0"],
        ["d", "d/1"],
        ["toolu_3", "c/2"],
      ],
      ["toolu_4"],
      [["toolu_4", "toolu_1/0"]],
    ]);
  });

  test("with an image in a result are refused with its path", () => {
    const content = [{ type: "image_url", image_url: { url: "https://a.test/i.png" } }];
    const messages = round([call("c1")], { role: "tool", tool_call_id: "c1", content });
    expect(refusedBy({ messages })).toBe("messages[2].content[0]");
  });

  test("are sent even if a result has no call before it", () => {
    const sentContent = [result("x", { content: "r" }), text("hi")];
    const messages = [user, { role: "tool", tool_call_id: "x", content: "r" }];
    expect(messagesOf(messages)).toEqual([{ role: "user", content: sentContent }]);
  });

  test("define a tool for each called function if the request has no tools, with tool_choice none", () => {
    const { body } = sent({ messages: round([call("c1"), call("c2"), call("c3", "{}", "g")]) });
    const tools = ["f", "g"].map((name) => ({ name, input_schema: emptySchema }));
    expect(body["tools"]).toEqual(tools);
    expect(body["tool_choice"]).toEqual({ type: "none" });
  });
});

describe("tools and their choice", () => {
  const hostile = { properties: { constructor: {} } };
  const odd = { properties: null, required: ["a"], type: null };
  test.each([
    [{ name: "f" }, { input_schema: emptySchema }],
    [
      { name: "f", description: "d", parameters: { properties: { a: {} } }, strict: true },
      { description: "d", input_schema: { type: "object", properties: { a: {} } } },
    ],
    [{ name: "f", parameters: hostile }, { input_schema: { type: "object", ...hostile } }],
    [{ name: "f", parameters: odd }, { input_schema: { ...odd, type: "object", properties: {} } }],
  ])("the function %j is sent as the tool %j", (spec, expected) => {
    const { body, dropped } = sent({ tools: [{ type: "function", function: spec }] });
    expect(body["tools"]).toEqual([{ name: "f", ...expected }]);
    expect(dropped).toEqual("strict" in spec ? ["tools[].function.strict"] : []);
  });

  test("refuse a custom tool, with its path", () => {
    const custom = { type: "custom", custom: { name: "x" } };
    expect(refusedBy({ tools: [tool, custom] })).toBe("tools[1].type");
  });

  const alone = { disable_parallel_tool_use: true };
  test.each([
    [{ tool_choice: "auto" }, { type: "auto" }],
    [{ tool_choice: "none" }, { type: "none" }],
    [{ tool_choice: "required" }, { type: "any" }],
    [{ tool_choice: { type: "function", function: { name: "f" } } }, { type: "tool", name: "f" }],
    [{ parallel_tool_calls: false }, { type: "auto", ...alone }],
    [
      { parallel_tool_calls: false, tool_choice: "required" },
      { type: "any", ...alone },
    ],
    [{ parallel_tool_calls: false, tool_choice: "none" }, { type: "none" }],
  ])("%j is sent as the tool_choice %j", (members, expected) => {
    expect(sent({ tools: [tool], ...members }).body["tool_choice"]).toEqual(expected);
  });

  test.each([
    ["auto", "auto"],
    ["required", "any"],
  ])("allowed tools in mode %s are the tools that are sent", (mode, type) => {
    const other = { type: "function", function: { name: "g" } };
    const choice = { type: "allowed_tools", allowed_tools: { mode, tools: [other] } };
    const { body } = sent({ tools: [tool, other], tool_choice: choice });
    expect(body["tools"]).toEqual([{ name: "g", input_schema: emptySchema }]);
    expect(body["tool_choice"]).toEqual({ type });
  });

  test("drop a choice without tools and report it", () => {
    const { body, dropped } = sent({ tool_choice: "auto", parallel_tool_calls: false });
    expect(body).not.toHaveProperty("tool_choice");
    expect(dropped).toEqual(["tool_choice", "parallel_tool_calls"]);
  });

  test("refuse a choice of another kind", () => {
    for (const choice of ["sometimes", { type: "custom", custom: { name: "x" } }]) {
      expect(refusedBy({ tools: [tool], tool_choice: choice })).toBe("tool_choice");
    }
  });
});

describe("the other fields", () => {
  test.each([
    [{}, { max_tokens: 4096 }],
    [{ max_tokens: 7 }, { max_tokens: 7 }],
    [{ max_completion_tokens: 7 }, { max_tokens: 7 }],
    [{ temperature: 0.3 }, { temperature: 0.3 }],
    [{ top_p: 0.9 }, { top_p: 0.9 }],
    [{ stop: "x" }, { stop_sequences: ["x"] }],
    [{ stop: ["x", "y"] }, { stop_sequences: ["x", "y"] }],
    [{ stream: true, stream_options: { include_usage: false } }, { stream: true }],
    [{ user: "u" }, { metadata: { user_id: "u" } }],
    [{ safety_identifier: "s" }, { metadata: { user_id: "s" } }],
    [{ n: 1 }, {}],
    [{ user: "" }, {}],
    [{ response_format: null, thinking: null, stop: null, audio: null, seed: null }, {}],
  ])("%j goes as %j and nothing is dropped", (members, expected) => {
    const { body, dropped } = sent(members);
    const { model, messages, max_tokens, ...rest } = body;
    expect({ model, messages }).toEqual({ model: "acme/test-1", messages: [user] });
    expect({ max_tokens, ...rest }).toEqual({ max_tokens: 4096, ...expected });
    expect(dropped).toEqual([]);
  });

  test("leave out blank stop sequences, and report stop as dropped", () => {
    const { body, dropped } = sent({ stop: ["\n", "x", ""] });
    expect(body["stop_sequences"]).toEqual(["x"]);
    expect(dropped).toEqual(["stop"]);
    expect(sent({ stop: " " }).body).not.toHaveProperty("stop_sequences");
  });

  test.each([
    ["joe@example.com", sha256("joe@example.com")],
    ["é", sha256("é")],
    ["x".repeat(65), sha256("x".repeat(65))],
    ["x".repeat(64), "x".repeat(64)],
    ["Team-7_a", "Team-7_a"],
  ])("send the user %j as %j, which every messages provider accepts", (id, expected) => {
    expect(sent({ user: id }).body["metadata"]).toEqual({ user_id: expected });
    expect(sent({ safety_identifier: id }).body["metadata"]).toEqual({ user_id: expected });
    const escaped = JSON.stringify(id).replaceAll("é", "\\u00e9");
    const body = buildBody({ user: "@" }).replace('"@"', escaped);
    expect(sendAcross("wire_a", body).body["metadata"]).toEqual({ user_id: expected });
  });

  test("prefer user to safety_identifier", () => {
    const { body, dropped } = sent({ user: "u", safety_identifier: "s" });
    expect(body["metadata"]).toEqual({ user_id: "u" });
    expect(dropped).toEqual(["safety_identifier"]);
  });

  test.each([
    ["metadata", { a: "b" }], ["store", true], ["seed", 1], ["logprobs", true], ["top_logprobs", 2],
    ["logit_bias", { 1: 2 }], ["frequency_penalty", 1], ["presence_penalty", 1], ["verbosity", "low"],
    ["prediction", {}], ["moderation", {}], ["prompt_cache_key", "k"], ["prompt_cache_options", {}],
    ["service_tier", "auto"], ["reasoning_effort", "high"], ["reasoning", { effort: "low" }],
    ["top_k", 5], ["min_p", 0.1], ["repetition_penalty", 1], ["modalities", ["text"]], ["vendor_x", [1]],
  ])("%s is dropped and reported", (field, value) => {
    const { body, dropped } = sent({ [field]: value });
    expect(Object.keys(body)).toEqual(["model", "max_tokens", "messages"]);
    expect(dropped).toEqual([field]);
  }); // prettier-ignore

  test.each([
    ["response_format", { type: "json_object" }],
    ["thinking", { type: "enabled" }], ["audio", { voice: "x" }], ["web_search_options", {}],
    ["modalities", ["text", "audio"]],
  ])("%s %j is refused, and the refusal names the field", (field, value) => {
    expect(refusedBy({ [field]: value })).toBe(field);
  }); // prettier-ignore

  test("are reported as dropped in header-safe names of at most 64 characters, at most 64 names", () => {
    const { dropped } = sent({ ["é\r\nset-cookie: x,y"]: 1, ["k".repeat(500)]: 1 });
    expect(dropped).toEqual(["???set-cookie:?x?y", "k".repeat(64)]);
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`field${i}`, 1]));
    expect(sent(many).dropped).toHaveLength(64);
  });
});
