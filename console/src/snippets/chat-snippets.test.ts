import { expect, test } from "vitest";

import { chatSnippets, helloSnippets, python, type SnippetOf } from "./chat-snippets.ts";

const of: SnippetOf = {
  gatewayUrl: "https://gateway.example",
  modelId: "lab/chat-one",
  messages: [
    { role: "system", content: "be brief" },
    {
      role: "user",
      content: [
        { type: "text", text: "what's this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,SECRETPIXELS" } },
      ],
    },
  ],
  parameters: { temperature: 0.5, stop: ["END"], seed: 7 },
};

function codeOf(wire: "chat" | "messages", label: string): string {
  return chatSnippets(wire, of).find((each) => each.label === label)?.code ?? "";
}

test("every snippet has its wire's address and the key variable, but no file contents", () => {
  for (const wire of ["chat", "messages"] as const) {
    for (const { code } of chatSnippets(wire, of)) {
      expect(code).toContain("https://gateway.example");
      expect(code).toMatch(/TOKEN_MARKET_KEY/);
      expect(code).not.toContain("SECRETPIXELS");
      expect(code).toContain("lab/chat-one");
    }
  }
  expect(codeOf("chat", "TypeScript")).toContain('"https://gateway.example/v1"');
  expect(codeOf("messages", "TypeScript")).toContain('baseURL: "https://gateway.example"');
});

test("a quote in a message does not end the shell argument", () => {
  expect(codeOf("chat", "curl")).toContain(`what'"'"'s this?`);
});

test("the curl snippet for the messages wire has the conversation in that wire's format", () => {
  const code = codeOf("messages", "curl");
  const body = JSON.parse(
    (/-d '(.*)'$/s.exec(code)?.[1] ?? "").replaceAll(`'"'"'`, "'"),
  ) as unknown;
  expect(body).toEqual({
    model: "lab/chat-one",
    max_tokens: 4096,
    system: "be brief",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "what's this?" },
          {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: "BASE64_OF_YOUR_IMAGE" },
          },
        ],
      },
    ],
    temperature: 0.5,
    stop_sequences: ["END"],
  });
});

test("for a conversation with audio, the code of the messages wire says that it takes none", () => {
  const sound = { type: "input_audio", input_audio: { data: "SECRETSOUND", format: "wav" } };
  const spoken = { ...of, messages: [{ role: "user", content: [sound] }] } as const;
  for (const { label, code } of chatSnippets("messages", spoken)) {
    const mark = label === "TypeScript" ? "//" : "#";
    expect(code).toBe(`${mark} The messages interface takes no audio. Use chat completions.`);
  }
  expect(chatSnippets("chat", spoken)[0]?.code).toContain("input_audio");
});

test("JSON values are written as Python literals", () => {
  expect(python({ a: [true, null, 1.5], b: {} })).toBe(
    '{\n    "a": [\n        True,\n        None,\n        1.5,\n    ],\n    "b": {},\n}',
  );
});

test("a snippet has the key if one is given, and otherwise the key variable", () => {
  const hello = { gatewayUrl: "https://gateway.example/", modelId: "m" };
  for (const wire of ["chat", "messages"] as const) {
    for (const { code } of helloSnippets(wire, { ...hello, secret: "tm_vk_0123" })) {
      expect(code).toContain("tm_vk_0123");
    }
    for (const { code } of helloSnippets(wire, hello)) {
      expect(code).toContain("TOKEN_MARKET_KEY");
      expect(code).not.toContain("tm_vk_");
    }
  }
});

test("the snippets have tools, a response schema and routing in the format of their wire", () => {
  const called: SnippetOf = {
    gatewayUrl: "https://gateway.example",
    modelId: "m",
    messages: [
      { role: "user", content: "look" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c1", type: "function", function: { name: "see", arguments: "{}" } }],
      },
      { role: "tool", content: "seen", tool_call_id: "c1" },
    ],
    parameters: {
      tools: [{ type: "function", function: { name: "see", parameters: { type: "object" } } }],
      response_format: { type: "json_schema", json_schema: { schema: { type: "object" } } },
      provider: { only: ["p"] },
      reasoning_effort: "none",
    },
  };
  const bodies = (["chat", "messages"] as const).map((wire) => {
    const code = chatSnippets(wire, called)[0]?.code ?? "";
    return JSON.parse(/-d '(.*)'$/s.exec(code)?.[1] ?? "") as unknown;
  });
  expect(bodies[0]).toMatchObject({ ...called.parameters, messages: called.messages });
  expect(bodies[1]).toEqual({
    model: "m",
    max_tokens: 4096,
    messages: [
      { role: "user", content: "look" },
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "see", input: {} }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "c1", content: "seen" }],
      },
    ],
    tools: [{ name: "see", input_schema: { type: "object" } }],
    output_config: { format: { type: "json_schema", schema: { type: "object" } } },
    provider: { only: ["p"] },
  });
  // The client libraries accept unknown fields only in `extra_body` or with a cast.
  for (const wire of ["chat", "messages"] as const) {
    expect(chatSnippets(wire, called)[1]?.code).toMatch(/extra_body=\{\n {8}"provider"/);
    expect(chatSnippets(wire, called)[2]?.code).toMatch(/\} as (?:OpenAI|Anthropic)\.\w+\)/);
  }
});

test("a parameter that the Python client library does not know is passed in extra_body", () => {
  const parameters = { temperature: 0.5, top_k: 40, thinking_budget: 1024 };
  const findArguments = (wire: "chat" | "messages"): readonly string[] | null =>
    (chatSnippets(wire, { ...of, parameters })[1]?.code ?? "").match(
      /(?<=^ {4}|^ {8})"?\w+(?="?[:=])/gm,
    );
  expect(findArguments("chat")?.join(" ")).toBe(
    'base_url api_key model messages temperature extra_body "top_k "thinking_budget',
  );
  expect(findArguments("messages")?.join(" ")).toBe(
    'model max_tokens system messages extra_body "temperature "top_k',
  );
});

test("a snippet for the messages wire does not assume that the first content block is text", () => {
  for (const { code } of helloSnippets("messages", {
    gatewayUrl: "https://g.example",
    modelId: "m",
  })) {
    expect(code).not.toContain("content[0]");
  }
});
