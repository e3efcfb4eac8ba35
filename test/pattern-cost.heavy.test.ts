import { expect, test } from "vitest";

import { isProduct, nodesOf, readSourceFiles, type SourceFile } from "./tidy/source-files.ts";

/*
 * One text from outside must not keep the process busy. So every pattern of the program is matched
 * against texts that repeat words of the pattern, and are as long as any text that it gets uncut.
 */
const CHARS = 8_192;
const MATCH_MS_MAX = 15;
const RUNS = 3;

/** Files that cut a text before they match it, with the number of characters that are kept. */
const CUT: Readonly<Record<string, number>> = {
  "src/account/console-api/public-text.ts": 1_200,
  "src/kernel/core/email-address.ts": 64,
  "src/kernel/core/served-model.ts": 400,
  "src/kernel/mail/mail-text.ts": 256,
  "src/account/optimize/search-tasks.ts": 256,
  "src/formats/wire/failure/provider-message.ts": 1_024,
  "src/formats/wire/failure/retry-after.ts": 128,
};

/** Patterns for endings of addresses and decimals, which are always short. */
const SHORT_ENDINGS: ReadonlySet<string> = new Set([String.raw`\/+$`, "0+$", String.raw`\.?0+$`]);
const SHORT_CHARS = 1_024;

/** Folders whose patterns match only texts of the program or of its operator. */
const OWN_TEXTS = ["src/dev/", "src/kernel/storage/", "src/app/backup/"];

interface Pattern {
  readonly place: string;
  readonly file: string;
  readonly source: string;
  readonly regex: RegExp;
}

const patterns = readSourceFiles("src")
  .filter(isProduct)
  .filter(({ file }) => !OWN_TEXTS.some((folder) => file.startsWith(folder)))
  .flatMap(patternsOf);

function patternsOf(source: SourceFile): Pattern[] {
  return nodesOf(source).flatMap(({ type, regex, start }) => {
    if (type !== "Literal" || typeof regex !== "object" || regex === null) return [];
    const { pattern, flags } = regex as { pattern: string; flags: string };
    const line = source.text.slice(0, start).split("\n").length;
    // Without the sticky flag a match is tried from every place in the text.
    const made = new RegExp(pattern, flags.replace("y", ""));
    return [{ place: `${source.file}:${line}`, file: source.file, source: pattern, regex: made }];
  });
}

const FILLERS = ["", " ", "a", "0", ".", "-", ":", "\n", '"', "{", "a.", "a-"];

/** Returns the words of a pattern, with one character for each of its character classes. */
function wordsIn(pattern: string): string[] {
  const plain = pattern
    .replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, "(")
    .replaceAll(/\\[dD]/g, "0")
    .replaceAll(/\\[wWSpPkbB]/g, "a")
    .replaceAll(/\\s/g, " ")
    .replaceAll(/\\n/g, "\n")
    .replaceAll(/\\(.)/g, "$1")
    .replaceAll(/\[\^[^\]]*\]/g, "a")
    .replaceAll(/\[([^\]])[^\]]*\]/g, "$1");
  const words = plain.split(/[()|?*+^$]|\{[\d,]+\}/).filter((word) => word !== "");
  return [...new Set(["", ...words, plain.replaceAll(/[()|?*+^$]|\{[\d,]+\}/g, "")])];
}

function pumpedTexts(pattern: string, chars: number): string[] {
  const texts = new Set<string>();
  for (const word of wordsIn(pattern)) {
    for (const filler of FILLERS) {
      if (word + filler === "") continue;
      texts.add(`${(word + filler).repeat(chars).slice(0, chars - 1)}\u0001`);
      texts.add(`${word}${(filler || word).repeat(chars).slice(0, chars - word.length - 1)}\u0001`);
    }
  }
  return [...texts];
}

function matchMs(regex: RegExp, text: string): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && fastest > MATCH_MS_MAX; run += 1) {
    const before = process.cpuUsage();
    if (regex.global) text.replaceAll(regex, "");
    else regex.test(text);
    const { user, system } = process.cpuUsage(before);
    fastest = Math.min(fastest, (user + system) / 1_000);
  }
  return fastest;
}

test("every regular expression matches a long text of its own words in at most 15 ms", () => {
  expect(patterns.length).toBeGreaterThan(150);
  const slow = patterns.flatMap(({ place, file, source, regex }) => {
    const chars = SHORT_ENDINGS.has(source) ? SHORT_CHARS : (CUT[file] ?? CHARS);
    const texts = pumpedTexts(source, chars);
    const worst = texts.find((text) => matchMs(regex, text) > MATCH_MS_MAX);
    return worst === undefined
      ? []
      : [`${place} /${source}/ on ${JSON.stringify(worst.slice(0, 30))}`];
  });
  expect(slow).toEqual([]);
});

test("no regular expression repeats a group over text of unlimited length", () => {
  const grouped = patterns.filter(
    ({ file, source }) => CUT[file] === undefined && /\)(?:[*+]|\{\d+,\})/.test(source),
  );
  expect(grouped.map(({ place, source }) => `${place} /${source}/`)).toEqual([]);
});
