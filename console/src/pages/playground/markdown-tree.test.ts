import { describe, expect, test } from "vitest";

import { markdownTree, type MarkdownNode } from "./markdown-tree.ts";

/** The tree as a short text. */
function shown(nodes: readonly MarkdownNode[]): string {
  return nodes
    .map((node) => {
      if (typeof node === "string") return node;
      const { tag, children, href, level, start, language } = node;
      const more = [href, level, start, language].filter((each) => each !== undefined);
      return `<${[tag, ...more].join(" ")}>${shown(children)}</>`;
    })
    .join("");
}

describe("an answer in Markdown", () => {
  test("is parsed into headings, lists, tables, code and emphasis", () => {
    expect(shown(markdownTree("# Plan\n\nDo **this** and `that`:"))).toBe(
      "<heading 1>Plan</><p>Do <strong>this</> and <code>that</>:</>",
    );
    expect(shown(markdownTree("3. three\n4. four"))).toBe("<ol 3><li>three</><li>four</></>");
    expect(shown(markdownTree("| a | b |\n|---|---|\n| 1 | 2 |"))).toBe(
      "<table><thead><tr><th>a</><th>b</></></><tbody><tr><td>1</><td>2</></></></>",
    );
    expect(shown(markdownTree("one\ntwo\n\n---"))).toBe("<p>one<br></>two</><hr></>");
  });

  test("keeps code as it is, even before its fence is closed", () => {
    expect(shown(markdownTree("```ts\nconst a = 1;\n```"))).toBe("<block ts>const a = 1;</>");
    expect(shown(markdownTree("Look:\n```py\nprint(1)"))).toBe("<p>Look:</><block py>print(1)</>");
  });

  test("keeps HTML as text", () => {
    const said = "<img src=x onerror=alert(1)> <script>alert(1)</script>";
    expect(shown(markdownTree(said))).toBe(`<p>${said}</>`);
    expect(shown(markdownTree(`<div onclick="x()">\nhi\n</div>`))).toContain('<div onclick="x()">');
  });

  test("has links only to the web and to mail addresses", () => {
    expect(shown(markdownTree("[a](https://example.com/x)"))).toBe(
      "<p><a https://example.com/x>a</></>",
    );
    for (const address of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "data:text/html,<b>x",
      "/keys",
      "//example.com",
      "vbscript:x",
      "&#106;avascript:alert(1)",
    ]) {
      expect(shown(markdownTree(`[a](${address})`))).not.toContain("<a ");
    }
  });

  test("has links instead of images", () => {
    expect(shown(markdownTree("![a cat](https://example.com/cat.png)"))).toBe(
      "<p><a https://example.com/cat.png>Image: a cat</></>",
    );
    expect(shown(markdownTree("![x](data:image/png;base64,AAAA)"))).toBe("<p>Image: x</>");
  });

  test("with a thousand nested quotes is still parsed", () => {
    expect(shown(markdownTree(`${"> ".repeat(1_000)}deep`)).length).toBeGreaterThan(0);
  });
});
