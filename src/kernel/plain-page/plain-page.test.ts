import { createHash } from "node:crypto";

import { expect, test } from "vitest";

import { escapeHtml, plainPage } from "./plain-page.ts";

test("a page's own style is the only thing that its policy lets run or load", () => {
  const { html, policy } = plainPage({ title: "A <b>", body: "<p>text</p>" });
  const style = /<style>(.*)<\/style>/s.exec(html)?.[1] ?? "";
  const hash = createHash("sha256").update(style).digest("base64");
  expect(policy).toContain(`default-src 'none'; style-src 'sha256-${hash}'; img-src data:;`);
  expect(policy).not.toMatch(/script|unsafe/);
  expect(html).not.toMatch(/<script|style=|https:/);
  expect(html).toContain("<title>A &#60;b&#62; · Token Market</title>");
});

test("what was typed stays a text", () => {
  expect(escapeHtml(`"><img src=x onerror='a'>&`)).not.toMatch(/[<>"']/);
});
