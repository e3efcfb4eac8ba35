import { expect, test } from "vitest";

import { codeSamples, python, type CodeOf } from "./code-samples.ts";

const of: CodeOf = {
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
  return codeSamples(wire, of).find((each) => each.label === label)?.code ?? "";
}

test("every sample has the address of its wire, the key's place and no file of the reader's", () => {
  for (const wire of ["chat", "messages"] as const) {
    for (const { code } of codeSamples(wire, of)) {
      expect(code).toContain("https://gateway.example");
      expect(code).toMatch(/TM_KEY/);
      expect(code).not.toContain("SECRETPIXELS");
      expect(code).toContain("lab/chat-one");
    }
  }
  expect(codeOf("chat", "TypeScript")).toContain('"https://gateway.example/v1"');
  expect(codeOf("messages", "TypeScript")).toContain('baseURL: "https://gateway.example"');
});

test("a quote in a message does not end the shell's argument", () => {
  expect(codeOf("chat", "curl")).toContain(`what'"'"'s this?`);
});

test("the messages wire has its own format for the same call", () => {
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

test("values are written as Python writes them", () => {
  expect(python({ a: [true, null, 1.5], b: {} })).toBe(
    '{\n    "a": [\n        True,\n        None,\n        1.5,\n    ],\n    "b": {},\n}',
  );
});
