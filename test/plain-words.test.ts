import { readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import {
  comments,
  DIALECT,
  dialectIn,
  hasAt,
  page,
  shownText,
  type Allowance,
  type Reading,
} from "./tidy/plain-words.ts";
import { isTest, readSourceFile, readSourceFiles, type SourceFile } from "./tidy/source-files.ts";

const ROOT = resolve(import.meta.dirname, "..");

/** Instruments are for ourselves, and the text of a migration never changes. */
const NOT_SHOWN = /^src\/(dev|storage\/migrations)\//;

/** Where a word has its ordinary meaning, or is stored and may not change. */
const ALLOWED: readonly Allowance[] = [
  {
    file: "docs/simulator.md",
    text: "the answer has N words",
    reason: "words of a text are counted",
  },
  {
    file: "src/conformance/chat/chat-probes.ts",
    text: "about five hundred words",
    reason: "asks a model for a text of a length",
  },
  {
    file: "src/catalog/own-key-deployment.ts",
    text: "own key\\n${deployment.id}",
    reason: "is hashed into ids that are stored",
  },
];

const program = readSourceFiles("src", "console/src").filter((source) => !isTest(source));
const shown = program.filter(({ file }) => !NOT_SHOWN.test(file));
const pages = [
  "README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "STYLE.md",
  ...["docs", "src", "console", "examples", "manifests", "bench"].flatMap(pagesBelow),
].map(readSourceFile);
const commented = readSourceFiles("src", "console/src", "test", "bench", "scripts").filter(
  ({ file }) => !file.startsWith("src/storage/migrations/"),
);

function pagesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith("bench/peer/"));
}

const found = (files: readonly SourceFile[], read: Reading): string[] =>
  files.flatMap((source) => dialectIn(source, read, ALLOWED));

test("a plausible number of texts is read", () => {
  expect(shown.length).toBeGreaterThan(600);
  expect(pages.length).toBeGreaterThan(50);
  expect(commented.length).toBeGreaterThan(1000);
});

describe("standard terms are used in", () => {
  test("messages, commands and pages of the console", () => {
    expect(found(shown, shownText)).toEqual([]);
  });

  test("the documentation", () => {
    expect(found(pages, page)).toEqual([]);
  });

  test("comments", () => {
    expect(found(commented, comments)).toEqual([]);
  });
});

describe.each(DIALECT)("$planted", ({ planted, better }) => {
  test.each<readonly [string, Reading, SourceFile]>([
    ["a string", shownText, { file: "src/a.ts", text: `const a = "${planted}";` }],
    ["a template", shownText, { file: "src/a.ts", text: `\`\${a} ${planted}\`;` }],
    ["a page", shownText, { file: "console/src/a.tsx", text: `<p>${planted}</p>;` }],
    ["an attribute", shownText, { file: "console/src/a.tsx", text: `<p title="${planted}" />;` }],
    [
      "two lines",
      shownText,
      { file: "console/src/a.tsx", text: `<p>${broken(planted, "\n  ")}</p>;` },
    ],
    [
      "joined strings",
      shownText,
      { file: "src/a.ts", text: `f("a ${broken(planted, ' " +\n"')} here");` },
    ],
    ["a document", page, { file: "docs/a.md", text: `- ${planted}` }],
    ["a comment", comments, { file: "src/a.ts", text: `/** ${planted}. */` }],
    [
      "a long comment",
      comments,
      { file: "src/a.ts", text: `/*\n * ${broken(planted, "\n * ")}\n */` },
    ],
  ])("is noticed in %s", (_where, read, source) => {
    const lines = dialectIn(source, read);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\S+:\d+ ".+": /);
    expect(lines[0]).toContain(source.file);
    expect(lines[0]).toContain(better);
  });
});

/** With something else for each space, as formatting may break a text. */
function broken(text: string, between: string): string {
  return text.replaceAll(" ", between);
}

test.each<readonly [string, Reading, string]>([
  ["a name without a space", shownText, 'const a = "look";'],
  ["code", shownText, "const world = told(apart);"],
  ["a comment, where texts are read", shownText, "// nobody is told\nf();"],
  ["code, where comments are read", comments, 'f("nobody is told");'],
  ["code in a document", page, "run `npm run world` ([here](test/simulation.ts))"],
  ["an ordinary use", shownText, 'f("it looks like a key; look up the id; a real-world case");'],
  ["your own keys", shownText, 'f("your own keys and the customer\'s own provider key");'],
])("%s is passed", (_what, read, text) => {
  expect(dialectIn({ file: "src/a.ts", text }, read)).toEqual([]);
});

test("every allowance is needed and names its reason", () => {
  for (const { file, text, reason } of ALLOWED) {
    expect(reason).not.toBe("");
    const source = readSourceFile(file);
    const at = source.text.indexOf(text);
    expect(at).toBeGreaterThan(-1);
    const without = dialectIn(source, file.endsWith(".md") ? page : shownText);
    const line = source.text.slice(0, at).split("\n").length;
    expect(without.some((each) => each.startsWith(`${file}:${line} `))).toBe(true);
  }
});

test("an allowance is for its place only", () => {
  const text = "a told b; c told d";
  expect(hasAt(text, "a told b", text.indexOf("told"))).toBe(true);
  expect(hasAt(text, "a told b", text.lastIndexOf("told"))).toBe(false);
});
