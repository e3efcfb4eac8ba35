import { describe, expect, test } from "vitest";
import {
  buildDeployment,
  call,
  chatFor,
  readGood,
  result,
  type Sent,
  send,
  sendAcross,
  sendSame,
  text,
  use,
  user,
} from "../../../../test/fixtures/modality/request-kit.ts";

/** The tests of this file translate messages requests for a chat-completions provider. */

type Messages = readonly Readonly<Record<string, unknown>>[];

function sent(members: Readonly<Record<string, unknown>>): Sent {
  return sendAcross("wire_b", members);
}

function messagesOf(messages: Messages): unknown {
  return sent({ messages }).body["messages"];
}

function refusedBy(members: Readonly<Record<string, unknown>>): string | undefined {
  return readGood("wire_b", members).decoded().needs.refused[0]?.field;
}

const image = { type: "image", source: { type: "url", url: "https://a.test/i.png" } };
const hint = { cache_control: { type: "ephemeral" } };

describe("system", () => {
  test.each([
    ["a string", "s", "s"],
    ["text blocks", [text("a"), text(""), { ...text("b"), ...hint }], "a\n\nb"],
  ])("%s becomes one leading message", (_, system, content) => {
    expect(sent({ system }).body["messages"]).toEqual([{ role: "system", content }, user]);
  });

  test("is left out if it is empty", () => {
    for (const system of ["", [], null]) expect(sent({ system }).body["messages"]).toEqual([user]);
  });

  const line = "x-anthropic-billing-header: cc_version=2.1.177.01c; cch=36ee5;";
  const billing = text(line);
  test.each([
    ["before other blocks is left out, so that prompts begin alike", [billing, text("s")], "s"],
    ["alone leaves no system message", [billing], undefined],
  ])("Claude Code's billing line %s", (_, system, content) => {
    const { body, dropped } = sent({ system });
    const expected = content === undefined ? [] : [{ role: "system", content }];
    expect(body["messages"]).toEqual([...expected, user]);
    expect(dropped).toEqual(["system.x-anthropic-billing-header"]);
    expect(sendSame("wire_b", { system }).body["system"]).toEqual(system);
    const strict = readGood("wire_b", { system, provider: { require_parameters: true } });
    const problem = chatFor(strict).servabilityProblem(strict, buildDeployment("wire_a"));
    expect(problem).toBeUndefined();
  });

  test.each([
    ["in a later block", [text("s"), billing], `s\n\n${line}`],
    ["with instructions below it", `${line}\ns`, `${line}\ns`],
  ])("a billing line %s is kept", (_, system, content) => {
    const { body, dropped } = sent({ system });
    expect(body["messages"]).toEqual([{ role: "system", content }, user]);
    expect(dropped).toEqual([]);
  });

  test("stays where it is in the middle of the messages", () => {
    const middle = { role: "system", content: [text("a"), text("b")] };
    const joined = { role: "system", content: "a\n\nb" };
    expect(messagesOf([user, middle, user])).toEqual([user, joined, user]);
  });
});

describe("tool changes in a system message", () => {
  const reference = { type: "tool_reference", name: "f" };
  const removal = { type: "tool_removal", tool: reference };
  const addition = { type: "tool_addition", tool: reference };
  const told = (content: unknown) => ({ role: "system", content });

  test("are dropped and named, and so is a message that has nothing else", () => {
    const messages = [user, told([removal, text("a")]), user, told([addition]), user];
    const { body, dropped } = sent({ messages });
    expect(body["messages"]).toEqual([user, told("a"), user, user]);
    expect(dropped).toEqual(["messages.content.tool_removal", "messages.content.tool_addition"]);
  });

  test("are dropped with the effort of a message that has no content", () => {
    const effort = { role: "system", output_config: { effort: "low" } };
    const { body, dropped } = sent({ messages: [user, effort] });
    expect(body["messages"]).toEqual([user]);
    expect(dropped).toEqual(["messages.output_config"]);
  });

  test("are refused by name if they define a tool that the model would not have", () => {
    const definition = { type: "tool_definition", definition: { name: "g" } };
    const messages = [user, told([{ ...addition, tool: definition }])];
    expect(refusedBy({ messages })).toBe("messages.1.content.0");
  });
});

describe("user messages", () => {
  test.each([
    ["with one text block get a string as content", [text("hi")], "hi"],
    ["with text blocks get a list of parts", [text("a"), text("b")], [text("a"), text("b")]],
  ])("%s", (_, content, expected) => {
    expect(messagesOf([{ role: "user", content }])).toEqual([{ role: "user", content: expected }]);
  });

  const media = ["image", "document", "search_result"];
  test.each(media)("with a %s block are refused with the block's path", (type) => {
    const block = { type, source: { type: "url", url: "https://a.test/x" } };
    const messages = [user, { role: "user", content: [text("x"), block] }];
    expect(refusedBy({ messages })).toBe("messages.1.content.1");
  });
});

describe("tool results", () => {
  test.each([
    ["without content get an empty string", {}, ""],
    ["with text blocks get one string of lines", { content: [text("a"), text("b")] }, "a\nb"],
  ])("%s", (_, members, content) => {
    const told = { role: "tool", tool_call_id: "t", content };
    expect(messagesOf([{ role: "user", content: [result("t", members)] }])).toEqual([told]);
  });

  test("become one message each, before the text around them", () => {
    const results = [result("t1", { content: "1" }), result("t2", { content: "2" })];
    const content = [text("before"), ...results, text("after")];
    expect(messagesOf([{ role: "user", content }])).toEqual([
      { role: "tool", tool_call_id: "t1", content: "1" },
      { role: "tool", tool_call_id: "t2", content: "2" },
      { role: "user", content: [text("before"), text("after")] },
    ]);
  });

  test.each([
    ["image", image],
    ["tool_reference", { type: "tool_reference", tool_name: "x" }],
  ])("with a block of type %s are refused with the block's path", (_, block) => {
    const content = [result("t", { content: [text("x"), block] })];
    const refused = refusedBy({ messages: [{ role: "user", content }] });
    expect(refused).toBe("messages.0.content.0.content.1");
  });
});

describe("assistant messages", () => {
  test.each([
    ["with text and a call get content and tool_calls", [text("a"), use("t", { x: 1 })], { content: "a", tool_calls: [call("t", '{"x":1}')] }],
    ["with text after a call get all text as one content", [text("a"), use("t"), text("b")], { content: "ab", tool_calls: [call("t")] }],
  ])("%s", (_, content, expected) => {
    expect(messagesOf([user, { role: "assistant", content }])).toEqual([
      user,
      { role: "assistant", ...expected },
    ]);
  }); // prettier-ignore

  test("keep the bytes of a call's input", () => {
    const input = '{"n":12345678901234567890, "s":"\\u00e9 \\"q\\" \\ud800",\n"f":1.50}';
    const block = `{"type":"tool_use","id":"t","name":"f","input":${input}}`;
    const body = `{"model":"m","messages":[{"role":"assistant","content":[${block}]}]}`;
    type Message = { tool_calls: { function: { arguments: string } }[] };
    const [message] = sendAcross("wire_b", body).body["messages"] as Message[];
    expect(message?.tool_calls[0]?.function.arguments).toBe(input);
  });

  test.each([
    ["server_tool_use", { id: "s", name: "web_search", input: {} }],
    ["compaction", { content: "x" }],
  ])("with a %s block are refused with the block's path", (type, members) => {
    const messages = [user, { role: "assistant", content: [text("a"), { type, ...members }] }];
    expect(refusedBy({ messages })).toBe("messages.1.content.1");
  });
});

describe("adjacent messages of one role", () => {
  const calls = (...ids: readonly string[]) => ({
    role: "assistant",
    content: ids.map((id) => use(id)),
  });
  const asked = (...content: readonly object[]) => ({ role: "user", content });
  const answered = (id: string) => result(id, { content: id });
  const told = { role: "system", content: "s" };
  const called = (...ids: readonly string[]) => ({
    role: "assistant", content: null, tool_calls: ids.map((id) => call(id)),
  }); // prettier-ignore
  const tool = (id: string) => ({ role: "tool", tool_call_id: id, content: id });
  const after = { role: "user", content: "t" };
  const said = { role: "assistant", content: "a" };

  test.each([
    ["two messages with results", [calls("A", "B"), asked(answered("A"), text("t")), asked(answered("B"))],
      [called("A", "B"), tool("A"), tool("B"), after]],
    ["text before results", [calls("A"), asked(text("t")), asked(answered("A"))],
      [called("A"), tool("A"), after]],
    ["text before results with text", [calls("A"), asked(text("t")), asked(answered("A"), text("t"))],
      [called("A"), tool("A"), after, after]],
    ["two messages with calls", [calls("A"), calls("B"), asked(answered("A"), answered("B"))],
      [called("A", "B"), tool("A"), tool("B")]],
    ["text after a call", [calls("A"), said, asked(answered("A"))],
      [{ ...called("A"), content: "a" }, tool("A")]],
    ["a system message after a call", [calls("A"), told, asked(answered("A"), text("t"))],
      [called("A"), tool("A"), told, after]],
    ["system messages among calls and results",
      [calls("A"), told, calls("B"), told, asked(answered("A")), told, asked(answered("B"))],
      [called("A", "B"), tool("A"), tool("B"), told, told, told]],
    ["no results", [user, user, said, said, calls("A")], [user, user, said, said, called("A")]],
  ])("are one turn of calls and results: %s", (_, messages, expected) => {
    expect(messagesOf([user, ...messages])).toEqual([user, ...expected]);
  }); // prettier-ignore
});

describe("hints", () => {
  test("are dropped and each reported once: cache_control anywhere, citations and is_error", () => {
    const { body, dropped, text: bytes } = sent({
      ...hint,
      system: [{ ...text("s"), ...hint }],
      messages: [
        { role: "user", content: [{ ...text("x"), ...hint, citations: [] }] },
        { role: "assistant", content: [{ ...use("t"), ...hint }] },
        { role: "user", content: [result("t", { ...hint, is_error: true, content: [{ ...text("r"), ...hint }] })] },
      ],
      tools: [{ name: "f", input_schema: { type: "object", properties: {} }, ...hint }],
    }); // prettier-ignore
    expect(bytes).not.toMatch(/cache_control|citations|error/);
    const names = ["cache_control", "messages.content.citations", "messages.content.is_error"];
    expect(dropped.toSorted()).toEqual(names);
    expect(body["messages"]).toHaveLength(4);
  });
});

describe("tools and their choice", () => {
  const tool = { name: "f", input_schema: { type: "object", properties: {} } };
  const fn = { name: "f", parameters: { type: "object", properties: {} } };

  test.each([undefined, null, "custom"])("a tool of type %j is a function", (type) => {
    const { body, dropped } = sent({ tools: [{ ...tool, type, description: "d" }] });
    const described = { type: "function", function: { ...fn, description: "d" } };
    expect(body["tools"]).toEqual([described]);
    expect(dropped).toEqual([]);
  });

  test("lose fields that only wire_b has, and these are reported as dropped", () => {
    const extra = {
      strict: true, defer_loading: true, allowed_callers: [], input_examples: [],
      eager_input_streaming: true,
    }; // prettier-ignore
    const { body, dropped } = sent({ tools: [{ ...tool, ...extra }] });
    expect(body["tools"]).toEqual([{ type: "function", function: fn }]);
    expect(dropped).toEqual(Object.keys(extra).map((name) => `tools.${name}`));
  });

  test.each(["web_search_20250305", "bash_20250124", "computer_20250124", "memory_20250818"])(
    "the server tool %s is refused with the tool's path",
    (type) => {
      expect(refusedBy({ tools: [tool, { type, name: "x" }] })).toBe("tools.1.type");
    },
  );

  const alone = { disable_parallel_tool_use: true };
  test.each([
    [{ type: "auto" }, { tool_choice: "auto" }],
    [{ type: "any" }, { tool_choice: "required" }],
    [{ type: "none" }, { tool_choice: "none" }],
    [{ type: "tool", name: "f" }, { tool_choice: { type: "function", function: { name: "f" } } }],
    [
      { type: "any", ...alone },
      { tool_choice: "required", parallel_tool_calls: false },
    ],
  ])("the choice %j is sent as %j", (choice, expected) => {
    const { tool_choice, parallel_tool_calls } = sent({ tools: [tool], tool_choice: choice }).body;
    expect(JSON.parse(JSON.stringify({ tool_choice, parallel_tool_calls }))).toEqual(expected);
  });

  test("drop a choice without tools and report it, and refuse an unknown choice", () => {
    expect(sent({ tool_choice: { type: "any" } }).dropped).toEqual(["tool_choice"]);
    expect(refusedBy({ tools: [tool], tool_choice: { type: "maybe" } })).toBe("tool_choice");
  });
});

describe("the other fields", () => {
  const sampling = { temperature: 0.3, top_p: 0.9 };
  const hashed = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
  test.each([
    [{}, { max_tokens: 4096 }],
    [{ max_tokens: 7 }, { max_tokens: 7 }],
    [sampling, sampling],
    [{ stop_sequences: ["a", " ", "b", "c"] }, { stop: ["a", " ", "b", "c"] }],
    [{ stream: true }, { stream: true, stream_options: { include_usage: true } }],
    [{ metadata: { user_id: "u-17" } }, { user: "u-17" }],
    // Claude Code sends a JSON text, which is longer than providers of the other wire accept.
    [{ metadata: { user_id: '{"a":1}' } }, { user: hashed }],
    [{ thinking: null, mcp_servers: [], container: null, output_config: null }, {}],
  ])("%j is sent as %j, and nothing is dropped", (members, expected) => {
    const { body, dropped } = sent(members);
    const { model, messages, ...rest } = body;
    expect({ model, messages }).toEqual({ model: "acme/test-1", messages: [user] });
    expect(rest).toEqual({ max_tokens: 4096, ...expected });
    expect(dropped).toEqual([]);
  });

  test("include the output bound, under the name that the listing declares", () => {
    const supportedParameters = new Map([["max_completion_tokens", { type: "unknown" } as const]]);
    const { body } = sendAcross("wire_b", { max_tokens: 7 }, { supportedParameters });
    expect(body).toMatchObject({ max_completion_tokens: 7 });
    expect(body).not.toHaveProperty("max_tokens");
  });

  test("include provider.upstream, sent as provider to an aggregator only", () => {
    const members = { provider: { upstream: { only: ["x"] } } };
    const { body } = sendAcross("wire_b", members, { priority: 1 });
    expect(body["provider"]).toEqual({ only: ["x"] });
    expect(sendAcross("wire_b", members).body).not.toHaveProperty("provider");
  });

  test.each([
    ["top_k", 5, "top_k"],
    ["service_tier", "auto", "service_tier"],
    ["output_config", { effort: "low" }, "output_config.effort"],
    ["metadata", { a: 1 }, "metadata.a"],
    ["vendor_x", 1, "vendor_x"],
  ])("%s %j is dropped and reported as %s", (field, value, name) => {
    const { body, dropped } = sent({ [field]: value });
    expect(Object.keys(body)).toEqual(["model", "messages", "max_tokens"]);
    expect(dropped).toEqual([name]);
  });

  test.each([
    ["thinking", { type: "enabled", budget_tokens: 1024 }, "thinking"],
    ["response_format", { type: "json_object" }, "response_format"],
    ["output_config", { format: { type: "json_schema" } }, "output_config.format"],
    ["container", "c", "container"],
    ["mcp_servers", [{ url: "https://a.test" }], "mcp_servers"],
    ["inference_geo", "eu", "inference_geo"],
  ])("%s %j is refused with the path %s", (field, value, name) => {
    expect(refusedBy({ [field]: value })).toBe(name);
  });

  test("include no beta header, and all its names are reported as dropped", () => {
    const request = readGood("wire_b", {}, "oauth-2025-04-20, foo,, foo");
    const { headers, dropped } = send(request, buildDeployment("wire_a"));
    expect(headers).toEqual({ "content-type": "application/json" });
    expect(dropped).toEqual(["oauth-2025-04-20", "foo"]);
  });
});
