import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { parseSync } from "oxc-parser";
import { describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "..");

/** What each room may import, besides itself. The table of ARCHITECTURE.md, as data. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  config: ["core"],
  manifest: ["core"],
  catalog: ["core", "manifest"],
  pricing: ["core", "catalog"],
  wires: ["core", "catalog"],
  auth: ["core", "limits"],
  limits: ["core"],
  ledger: ["core"],
  jobs: ["core", "ledger"],
  routing: ["core", "catalog", "wires"],
  admission: ["core", "auth", "limits", "ledger"],
  dispatch: ["core", "catalog", "wires", "routing", "limits"],
  gateway: rooms(
    "core config manifest catalog pricing wires auth limits ledger jobs routing admission dispatch",
  ),
  simulator: ["core", "wires/sse"],
  identity: ["core", "config", "auth", "ledger"],
  billing: ["core", "config", "auth", "ledger"],
  optimize: ["core", "auth", "ledger"],
  http: ["core", "config", "catalog", "auth", "wires", "gateway"],
  "console-api": rooms(
    "core config manifest catalog auth limits ledger routing gateway identity billing optimize",
  ),
  storage: rooms("core auth limits ledger jobs routing identity billing optimize"),
  compose: rooms(
    "core config manifest catalog pricing wires auth limits ledger jobs routing admission",
    "dispatch gateway simulator http identity billing optimize console-api storage",
  ),
  cli: rooms("core config manifest catalog auth ledger identity billing simulator compose"),
};

/** Files that are longer than a reader likes, each with the reason why it stays whole. */
const LONG_FILES: Readonly<Record<string, string>> = {};
/** Functions over the bound, with the reason. */
const LONG_FUNCTIONS: Readonly<Record<string, string>> = {};

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
const LINE_CHARS_MAX = 100;
const PARAMETERS_MAX = 4;

const sources = listFiles(join(ROOT, "src")).filter((file) => file.endsWith(".ts"));
const product = sources.filter((file) => !file.endsWith(".test.ts"));

test("the tidy test sees the program: a plausible number of files and of imports", () => {
  expect(product.length).toBeGreaterThan(60);
  expect(product.flatMap(importsOf).length).toBeGreaterThan(200);
});

describe("imports go downhill", () => {
  test("every room stands in the table", () => {
    const seen = new Set(product.map(roomOf));
    expect([...seen].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
  });

  test("no file imports a room above its own or beside it", () => {
    const uphill = product.flatMap((file) =>
      importsOf(file)
        .filter((target) => !isAllowed(file, target))
        .map((target) => `${short(file)} imports ${short(target)}`),
    );
    expect(uphill).toEqual([]);
  });

  test("only compose imports storage", () => {
    const importers = product
      .filter((file) => !["storage", "compose"].includes(roomOf(file)))
      .filter((file) => importsOf(file).some((target) => roomOf(target) === "storage"));
    expect(importers.map(short)).toEqual([]);
  });

  test("no room below dispatch touches network or disk", () => {
    const quiet = ["core", "config", "manifest", "catalog", "pricing", "wires"];
    quiet.push("auth", "limits", "ledger", "jobs", "routing", "admission");
    const loud = product
      .filter((file) => quiet.includes(roomOf(file)))
      .filter((file) =>
        /from "(node:(fs|net|http|https|dns|tls|child_process)|undici|pg)/.test(read(file)),
      );
    expect(loud.map(short)).toEqual([]);
  });
});

describe("money never touches a float", () => {
  const moneyRooms = ["core/money.ts", "pricing/", "ledger/", "admission/", "gateway/"];
  const moneyFiles = product.filter((file) =>
    moneyRooms.some((room) => short(file).startsWith(`src/${room}`)),
  );

  test("no amount of money is turned into a number", () => {
    const pattern = /\b(Number|parseFloat|Math\.\w+)\([^)]*([mM]icroUsd|[pP]icoUsd|cost|debit)/;
    expect(linesWith(product, pattern, /^src\/http\/metrics-text\.ts/)).toEqual([]);
  });

  test("no name with a money unit is declared as a number", () => {
    expect(linesWith(product, /\b\w*(MicroUsd|PicoUsd|Pico)\??: number/)).toEqual([]);
  });

  test("money rooms know no float arithmetic", () => {
    expect(moneyFiles.length).toBeGreaterThan(10);
    expect(linesWith(moneyFiles, /parseFloat|toFixed|\b\d+\.\d+\b(?!.*["`*])/)).toEqual([]);
  });
});

test("clocks and timers' time come in through the door: Date.now stands in one file", () => {
  const pattern = /Date\.now\(|performance\.now\(|new Date\(\)/;
  expect(linesWith(product, pattern, /^src\/core\/time\.ts/)).toEqual([]);
});

test("commands get environment, streams and exit from their caller, not from the process", () => {
  const commands = product.filter((file) => roomOf(file) === "cli");
  expect(commands.length).toBeGreaterThan(10);
  const pattern = /\bprocess\.(env|argv|std\w+|exit\w*)\b/;
  expect(linesWith(commands, pattern, /^src\/cli\/(main|workers)\.ts/)).toEqual([]);
});

test("only the wires compare a wire id", () => {
  const outside = product.filter((file) => roomOf(file) !== "wires");
  expect(linesWith(outside, /[!=]== "wire_[ab]"/)).toEqual([]);
});

describe("sizes a reader can hold", () => {
  test(`files have at most ${FILE_LINES_MAX} lines`, () => {
    const long = product.filter((file) => read(file).split("\n").length > FILE_LINES_MAX + 1);
    expect(long.map(short).filter((file) => !(file in LONG_FILES))).toEqual([]);
  });

  test(`functions have at most ${FUNCTION_LINES_MAX} lines and ${PARAMETERS_MAX} parameters`, () => {
    const long = product.flatMap((file) => functionsOf(file).filter(isLong));
    expect(long.map((each) => each.name).filter((name) => !(name in LONG_FUNCTIONS))).toEqual([]);
  });

  test(`lines of code have at most ${LINE_CHARS_MAX} characters, long messages apart`, () => {
    const long = product.flatMap((file) =>
      read(file)
        .split("\n")
        .map((line, at) => ({ line, place: `${short(file)}:${at + 1}` }))
        .filter(({ line }) => line.length > LINE_CHARS_MAX && !/["`/]/.test(line)),
    );
    expect(long.map(({ place }) => place)).toEqual([]);
  });
});

test("nothing is left behind: no TODO, no suppressed type or lint rule, no only, no skip", () => {
  const pattern = /\b(TODO|FIXME|XXX|HACK)\b|@ts-(ignore|expect-error|nocheck)|oxlint-disable/;
  expect(linesWith(sources, pattern)).toEqual([]);
  const tests = [...sources, ...listFiles(join(ROOT, "test"))].filter(
    (file) => file.endsWith(".test.ts") && !file.endsWith("tidy.test.ts"),
  );
  expect(linesWith(tests, /\b(test|it|describe)\.(only|todo)\b/)).toEqual([]);
});

function rooms(...lines: readonly string[]): readonly string[] {
  return lines.join(" ").split(" ");
}

function listFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? listFiles(path) : [path];
  });
}

const texts = new Map<string, string>();
function read(file: string): string {
  const known = texts.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, "utf8");
  texts.set(file, text);
  return text;
}

function short(file: string): string {
  return relative(ROOT, file);
}

function roomOf(file: string): string {
  return short(file).split("/")[1]?.replace(/\.ts$/, "") ?? "";
}

/** Files of this program that `file` imports, types and re-exports included. */
function importsOf(file: string): string[] {
  const { module } = parseSync(file, read(file));
  const specifiers = [
    ...module.staticImports.map((each) => each.moduleRequest.value),
    ...module.staticExports.flatMap((each) =>
      each.entries.flatMap((entry) => entry.moduleRequest?.value ?? []),
    ),
    ...module.dynamicImports.map((each) =>
      read(file).slice(each.moduleRequest.start + 1, each.moduleRequest.end - 1),
    ),
  ];
  return specifiers
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => resolve(dirname(file), specifier));
}

function isAllowed(file: string, target: string): boolean {
  const from = roomOf(file);
  const to = roomOf(target);
  if (from === to) return true;
  const folder = short(dirname(target)).replace(/^src\//, "");
  return (MAY_IMPORT[from] ?? []).some((room) => room === to || folder === room);
}

interface FunctionShape {
  readonly name: string;
  readonly lines: number;
  readonly parameters: number;
}

function isLong(shape: FunctionShape): boolean {
  return shape.lines > FUNCTION_LINES_MAX || shape.parameters > PARAMETERS_MAX;
}

function functionsOf(file: string): FunctionShape[] {
  const text = read(file);
  const found: FunctionShape[] = [];
  walk(parseSync(file, text).program, (node) => {
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) {
      return;
    }
    const line = text.slice(0, node.start).split("\n").length;
    found.push({
      name: `${short(file)}:${line}`,
      lines: text.slice(node.start, node.end).split("\n").length,
      parameters: Array.isArray(node["params"]) ? node["params"].length : 0,
    });
  });
  return found;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

function walk(value: unknown, visit: (node: SyntaxNode) => void): void {
  if (Array.isArray(value)) {
    for (const each of value) walk(each, visit);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  if ("type" in value && "start" in value) visit(value as SyntaxNode);
  for (const inner of Object.values(value)) walk(inner, visit);
}

function linesWith(files: readonly string[], pattern: RegExp, except?: RegExp): string[] {
  return files
    .filter((file) => except === undefined || !except.test(short(file)))
    .flatMap((file) =>
      read(file)
        .split("\n")
        .map((line, at) => ({ code: line.replace(/^\s*(\*|\/\/|\/\*).*$/, ""), at }))
        .filter(({ code }) => pattern.test(code))
        .map(({ at }) => `${short(file)}:${at + 1}`),
    );
}
