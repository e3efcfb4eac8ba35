import { describe, expect, test } from "vitest";
import type { Deployment } from "../../../catalog/catalog.ts";
import type { ManifestWireProfile } from "../../../catalog/manifest/index.ts";
import {
  type Members,
  EVERY_HISTORY_RULE,
  findProblem,
  profiled,
} from "../../../../test/fixtures/modality/profile-kit.ts";
import {
  buildDeployment,
  readGood,
  send,
  sendAcross,
  sendSame,
} from "../../../../test/fixtures/modality/request-kit.ts";

const strict: Members = { require_parameters: true };
const callA = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const user = { role: "user", content: "hi" };

describe("history rules", () => {
  const rules = (...history: NonNullable<ManifestWireProfile["history"]>) => profiled({ history });
  const sendHistory = (messages: readonly object[], changes: Partial<Deployment>) =>
    sendSame("wire_a", { messages }, changes);

  test("no-name removes names, except the one that identifies a function's result", () => {
    const named = [
      { name: "Ada", role: "user", content: "hi" },
      { role: "function", name: "f", content: "1" },
    ];
    const sent = sendHistory(named, rules("no-name"));
    expect(sent.body["messages"]).toEqual([user, named[1]]);
    expect(sent.dropped).toEqual(["messages.name"]);
    const strictly = { messages: named, provider: strict };
    expect(findProblem("wire_a", strictly, rules("no-name"))).toBe("messages.name");
  });

  test("no-null removes null members at every depth", () => {
    const call = { ...callA, index: null };
    const assistant = { role: "assistant", content: null, refusal: null, tool_calls: [call] };
    const sent = sendHistory([user, assistant], rules("no-null"));
    expect(sent.body["messages"]).toEqual([user, { role: "assistant", tool_calls: [callA] }]);
    expect(sent.dropped).toEqual([]);
  });

  test("no-null keeps nulls in the arguments of a call", () => {
    const input = { until: null, deep: [{ a: null }] };
    const use = { type: "tool_use", id: "c1", name: "f", input };
    const messages = [user, { role: "assistant", content: [{ ...use, cache_control: null }] }];
    const sent = sendSame("wire_b", { messages }, rules("no-null"));
    expect(sent.body["messages"]).toEqual([user, { role: "assistant", content: [use] }]);
  });

  test("no-reasoning removes the model's reasoning and reports its fields as dropped", () => {
    const thought = { reasoning: "r", reasoning_content: "r", reasoning_details: [{}] };
    const said = { role: "assistant", content: "a" };
    const sent = sendHistory([{ ...thought, ...said }], rules("no-reasoning"));
    expect(sent.body["messages"]).toEqual([said]);
    expect(sent.dropped).toHaveLength(3);
    const strictly = { messages: [{ ...thought, ...user }], provider: strict };
    expect(findProblem("wire_a", strictly, rules("no-reasoning"))).toBeUndefined();
  });

  test("no-strict and no-cache-control remove both fields, but no schema property of that name", () => {
    const cache_control = { type: "ephemeral", ttl: "1h" };
    const parameters = { type: "object", properties: { strict: {}, cache_control: {} } };
    const fn = { name: "f", parameters };
    const tools = [{ type: "function", function: { ...fn, strict: true }, cache_control }];
    const part = { type: "text", text: "hi" };
    const messages = [{ role: "user", content: [{ cache_control, ...part }], cache_control }];
    const changes = rules("no-strict", "no-cache-control");
    const sent = sendSame("wire_a", { messages, tools }, changes);
    expect(sent.body).toMatchObject({
      messages: [{ role: "user", content: [part] }],
      tools: [{ type: "function", function: fn }],
    });
    expect(sent.text).not.toContain("ephemeral");
    expect(sent.text).not.toContain('"strict":true');
    expect(sent.dropped.toSorted()).toEqual(["cache_control", "cache_control.ttl", "tools.strict"]);
  });

  test("no-cache-control removes cache marks from the system blocks of a wire_b request", () => {
    const marked = { type: "text", text: "s", cache_control: { type: "ephemeral" } };
    const sent = sendSame("wire_b", { system: [marked] }, rules("no-cache-control"));
    expect(sent.body["system"]).toEqual([{ type: "text", text: "s" }]);
  });

  test("text-only-content joins text parts, and keeps content that has other parts", () => {
    const text = (content: string) => ({ type: "text", text: content });
    const image = { type: "image_url", image_url: { url: "https://a.example/b.png" } };
    const inputModalities = new Set(["text", "image"] as const);
    const taken = { ...rules("text-only-content"), inputModalities };
    const messages = [
      { role: "user", content: [text("é"), text("b")] },
      { role: "user", content: [text("a"), image] },
    ];
    const sent = sendHistory(messages, taken).body["messages"];
    expect(sent).toEqual([{ role: "user", content: "é\nb" }, messages[1]]);
    const across = { messages: [{ role: "user", content: [text("a"), text("b")] }] };
    const joined = [{ role: "user", content: "a\nb" }];
    expect(sendAcross("wire_b", across, taken).body["messages"]).toEqual(joined);
  });

  test("system-for-developer replaces the role developer by system", () => {
    const developer = { role: "d\u0065veloper", content: "x" };
    const sent = sendHistory([developer, user], rules("system-for-developer"));
    expect(sent.body["messages"]).toEqual([{ role: "system", content: "x" }, user]);
  });

  const said = { role: "assistant", content: "yo" };
  const told = (content: unknown, role = "system") => ({ role, content });
  const text = (content: string) => ({ type: "text", text: content });
  const marked = { ...text("s"), cache_control: { type: "ephemeral" } };

  test.each([
    ["to the first", [told("a"), user, said, told([text("é"), text("c")], "developer"), user],
      [told("a\n\né\n\nc"), user, said, user]],
    ["to the front where none was", [user, told("a"), told("b"), user],
      [told("a\n\nb"), user, user]],
    ["at the front", [told("a", "developer"), told(""), told("b"), user],
      [told("a\n\nb"), user]],
    ["of a conversation without others", [told("a"), told("b")], [told("a\n\nb")]],
  ] as const)("system-first joins later system messages of wire_a %s", (_where, messages, wanted) => {
    const sent = sendHistory(messages, rules("system-first"));
    expect(sent.body["messages"]).toEqual(wanted);
    expect(sent.dropped).toEqual([]);
  }); // prettier-ignore

  test.each([
    ["text", "s", [text("s"), text("a"), text("b")]],
    ["block", [marked], [marked, text("a"), text("b")]],
    ["empty list", [], [text("a"), text("b")]],
    ["null", null, [text("a"), text("b")]],
    ["absent text", undefined, [text("a"), text("b")]],
  ])("system-first joins system messages of wire_b to a system %s", (_form, system, wanted) => {
    const late = [told([text("b")]), told("")];
    const messages = [told("a"), user, said, user, ...late];
    const sent = sendSame("wire_b", { messages, system }, rules("system-first"));
    expect(sent.body["system"]).toEqual(wanted);
    expect(sent.body["messages"]).toEqual([user, said, user]);
    expect(sent.dropped).toEqual([]);
  });

  test.each([
    ["wire_a", [told([marked]), { ...user, content: [text("hi")] }, said]],
    ["wire_b", [user, said, user]],
    ["wire_b", [told("a"), told("b")]],
    ["wire_a", [user, told([{ type: "image_url", image_url: { url: "https://a.example/b" } }])]],
  ] as const)(
    "system-first leaves the bytes of a %s request that it cannot improve (%#)",
    (wire, messages) => {
      const system = wire === "wire_b" ? "s" : undefined;
      const inputModalities = new Set(["text", "image"] as const);
      const plain = sendSame(wire, { messages, system }, { inputModalities });
      const ruled = { ...rules("system-first"), inputModalities };
      expect(sendSame(wire, { messages, system }, ruled).text).toBe(plain.text);
    },
  );

  test("system-first keeps the parts of the first system message, with their cache marks", () => {
    const messages = [told([marked], "developer"), user, told("a"), told("")];
    const sent = sendHistory(messages, rules("system-first"));
    expect(sent.body["messages"]).toEqual([told([marked, text("\n\na")]), user]);
    expect(sent.dropped).toEqual([]);
    const plain = sendHistory(messages, rules("system-first", "text-only-content"));
    expect(plain.body["messages"]).toEqual([told("s\n\na"), user]);
  });

  test("system-first adds no text for system messages that are blank", () => {
    const named = { ...told("s"), name: "x" };
    const sent = sendHistory([named, user, told("")], rules("system-first"));
    expect(sent.body["messages"]).toEqual([named, user]);
    expect(sent.dropped).toEqual([]);
    expect(sendHistory([user, told("")], rules("system-first")).body["messages"]).toEqual([user]);
  });

  test("system-first names what a joined message loses", () => {
    const messages = [user, { ...told([marked]), name: "x" }];
    const sent = sendHistory(messages, rules("system-first", "no-cache-control"));
    expect(sent.body["messages"]).toEqual([told("s"), user]);
    expect(sent.dropped).toEqual(["cache_control", "messages.name"]);
    const strictly = { messages, provider: strict };
    expect(findProblem("wire_a", strictly, rules("system-first"))).toBe("messages.name");
  });

  test("system-first joins system messages that also change tools, without those changes", () => {
    const removal = { type: "tool_removal", tool: { type: "tool_reference", name: "f" } };
    const asks = { role: "system", output_config: { effort: "low" } };
    const messages = [user, told([removal]), said, asks, user, told([removal, text("a")])];
    const sent = sendSame("wire_b", { messages }, rules("system-first"));
    expect(sent.body).toMatchObject({ system: [text("a")], messages: [user, said, user] });
    const names = ["messages.content.tool_removal", "messages.output_config"];
    expect(sent.dropped.toSorted()).toEqual(names);
    const betas = "inline-tools-2026-09-15,per-turn-control-2026-07-01";
    const opened = send(
      readGood("wire_b", { messages }, betas),
      buildDeployment("wire_b", rules("system-first")),
    );
    expect(opened.text).toBe(sent.text);
  });

  test("system-first also joins the system messages of a translated conversation", () => {
    const messages = [user, told("a"), said, user, told("b")];
    const asked = { system: "s", messages };
    expect(sendAcross("wire_b", asked, rules("system-first")).body["messages"]).toEqual([
      told("s\n\na\n\nb"),
      user,
      said,
      user,
    ]);
    expect(sendAcross("wire_b", asked).body["messages"]).toEqual([told("s"), ...messages]);
  });

  describe("no-effort-with-tools", () => {
    const values = ["none", "low", "high"];
    const supportedParameters = new Map([["reasoning_effort", { type: "enum", values } as const]]);
    const ruled = { ...rules("no-effort-with-tools"), supportedParameters };
    const toolsA = [{ type: "function", function: { name: "f" } }];
    const toolsB = [{ name: "f", input_schema: { type: "object" } }];
    const output_config = { effort: "high" };

    test.each([
      ["with tools", { tools: toolsB, output_config }, "none", ["output_config.effort"]],
      ["with tools, without an effort", { tools: toolsB }, "none", []],
      ["without tools", { output_config }, "high", []],
    ])("sends a translated request %s with the effort that it may have", (_, asked, sent, lost) => {
      const across = sendAcross("wire_b", asked, ruled);
      expect(across.body["reasoning_effort"]).toBe(sent);
      expect(across.dropped).toEqual(lost);
    });

    test("keeps a translated request from the deployment if the effort must not be lost", () => {
      const strictly = { tools: toolsB, output_config, provider: strict };
      const problem = findProblem("wire_b", strictly, { ...ruled, to: "wire_a" });
      expect(problem).toBe("output_config.effort");
    });

    test.each([
      ["no effort", { tools: toolsA }, "none"],
      ["the effort null", { tools: toolsA, reasoning_effort: null }, "none"],
      ["an effort of its own", { tools: toolsA, reasoning_effort: "high" }, "high"],
      ["no tools", { tools: [] }, undefined],
    ])("sends a request of wire_a that has %s with the effort that it needs", (_, asked, sent) => {
      const same = sendSame("wire_a", asked, ruled);
      expect(same.body["reasoning_effort"]).toBe(sent);
      expect(same.dropped).toEqual([]);
    });

    test("writes no effort beside one that the listing fixes", () => {
      const fixedBody = [{ name: "reasoning_effort", json: '"low"' }];
      const { text: sent } = sendSame("wire_a", { tools: toolsA }, { ...ruled, fixedBody });
      expect(sent.split("reasoning_effort")).toHaveLength(2);
    });
  });

  test("all rules together leave only role, content and calls of a message", () => {
    const message = {
      name: null,
      reasoning: null,
      role: "assistant",
      parsed: {},
      content: [{ type: "text", text: "a", cache_control: null }],
      reasoning_content: "x",
      cache_control: { ttl: "1h" },
      tool_calls: [{ ...callA, function: { ...callA.function, parsed_arguments: null } }],
    };
    expect(
      sendHistory([message], profiled({ history: EVERY_HISTORY_RULE })).body["messages"],
    ).toEqual([{ role: "assistant", content: "a", tool_calls: [callA] }]);
  });
});
