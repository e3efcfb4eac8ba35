import { createHash } from "node:crypto";

import { expect, test } from "vitest";

import { escapeHtml, plainPage } from "./plain-page.ts";

test("a page's policy allows its own style by hash, and no script", () => {
  const { html, policy } = plainPage({ title: "A <b>", body: "<p>text</p>" });
  const style = /<style>(.*)<\/style>/s.exec(html)?.[1] ?? "";
  const hash = createHash("sha256").update(style).digest("base64");
  expect(policy).toContain(`default-src 'none'; style-src 'sha256-${hash}'; img-src 'self' data:;`);
  expect(policy).not.toMatch(/script|unsafe/);
  expect(html).not.toMatch(/<script|style=|https:/);
  expect(html).toContain("<title>A &#60;b&#62; · Token Market</title>");
});

test("a page's policy allows its own script by hash", () => {
  const script = "document.title = 1";
  const { html, policy } = plainPage({ title: "A", body: "", script });
  const hash = createHash("sha256").update(script).digest("base64");
  expect(policy).toContain(`script-src 'sha256-${hash}';`);
  expect(html).toContain(`<script>${script}</script>`);
});

test("escapeHtml leaves no character that could end a text or an attribute", () => {
  expect(escapeHtml(`"><img src=x onerror='a'>&`)).not.toMatch(/[<>"']/);
});
