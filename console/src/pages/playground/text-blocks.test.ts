import { expect, test } from "vitest";

import { textBlocks } from "./text-blocks.ts";

test("fenced code is separate from the text around it", () => {
  expect(textBlocks("Try this:\n\n```ts\nlet a = 1;\n```\n\nDone.")).toEqual([
    { kind: "text", text: "Try this:" },
    { kind: "code", language: "ts", text: "let a = 1;" },
    { kind: "text", text: "Done." },
  ]);
});

test("a fence that is still open holds what has come so far", () => {
  expect(textBlocks("```py\nprint(1)")).toEqual([
    { kind: "code", language: "py", text: "print(1)" },
  ]);
});

test("a longer fence holds a shorter one, and markup stays the text it is", () => {
  expect(textBlocks("````\n```\n<b>x</b>\n```\n````")).toEqual([
    { kind: "code", language: "", text: "```\n<b>x</b>\n```" },
  ]);
  expect(textBlocks("<script>alert(1)</script>")).toEqual([
    { kind: "text", text: "<script>alert(1)</script>" },
  ]);
});
