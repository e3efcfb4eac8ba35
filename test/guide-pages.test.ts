import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { readBlocks } from "../console/src/pages/docs/markdown-blocks.ts";
import { GUIDES } from "../console/src/pages/docs/guide-list.ts";

const FOLDER = join(import.meta.dirname, "../docs/guides");

test("every guide is listed on the docs page under its own title", () => {
  expect(GUIDES.map(([name]) => `${name}.md`).toSorted()).toEqual(readdirSync(FOLDER).toSorted());
  for (const [name, title] of GUIDES) {
    const [first] = readFileSync(join(FOLDER, `${name}.md`), "utf8").split("\n");
    expect(first).toBe(`# ${title}`);
  }
});

test("every guide has code, and no Markdown mark remains in its rendered text", () => {
  for (const [name] of GUIDES) {
    const blocks = readBlocks(readFileSync(join(FOLDER, `${name}.md`), "utf8"));
    const kinds = new Set(blocks.map(({ kind }) => kind));
    expect(kinds, name).toContain("code");
    const texts = blocks.flatMap((block) => (block.kind === "text" ? [block.text] : []));
    expect(texts.filter((text) => /^(#|\||- |```|>)/.test(text))).toEqual([]);
  }
});

test("a guide's Markdown becomes headings, code with tabs, text, lists and tables", () => {
  const text =
    "# T\n\n```sh\ncurl\n```\n\n```python\nb\n```\n\nwords\n\n- one\n- two\n  more\n\n| A | B |\n| - | - |\n| `x` | y |\n";
  expect(readBlocks(text)).toEqual([
    { kind: "heading", level: 1, text: "T" },
    {
      kind: "code",
      tabs: [
        { label: "curl", code: "curl" },
        { label: "Python", code: "b" },
      ],
    },
    { kind: "text", text: "words" },
    { kind: "list", items: ["one", "two more"] },
    { kind: "table", head: ["A", "B"], rows: [["`x`", "y"]] },
  ]);
});
