import { createHash } from "node:crypto";

import { expect, test } from "vitest";

import { escapeHtml, plainPage } from "./plain-page.ts";

test("a page's own style is the only thing that its policy lets run or load", () => {
  const { html, policy } = plainPage({ title: "A <b>", body: "<p>text</p>" });
  const style = /<style>(.*)<\/style>/s.exec(html)?.[1] ?? "";
  const hash = createHash("sha256").update(style).digest("base64");
  expect(policy).toContain(`default-src 'none'; style-src 'sha256-${hash}'; img-src 'self' data:;`);
  expect(policy).not.toMatch(/script|unsafe/);
  expect(html).not.toMatch(/<script|style=|https:/);
  expect(html).toContain("<title>A &#60;b&#62; · Token Market</title>");
});

test("a script is named by its hash, and only the one that the page has", () => {
  const script = "document.title = 1";
  const { html, policy } = plainPage({ title: "A", body: "", script });
  const hash = createHash("sha256").update(script).digest("base64");
  expect(policy).toContain(`script-src 'sha256-${hash}';`);
  expect(html).toContain(`<script>${script}</script>`);
});

test("what was typed stays a text", () => {
  expect(escapeHtml(`"><img src=x onerror='a'>&`)).not.toMatch(/[<>"']/);
});
