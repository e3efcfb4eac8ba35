import { readdirSync } from "node:fs";
import { basename } from "node:path";

import { describe, expect, test } from "vitest";

import { incompleteWings, SIDE_DOORS } from "./tidy/doors.ts";
import { INSTALL_SCRIPTS, installScriptsOf } from "./tidy/install-scripts.ts";
import {
  fileCycles,
  forbiddenImports,
  inputAndOutputAreAtTheEdge,
  IO_FILES,
  programImportsOf,
  readLayerTable,
  unknownFolders,
  unusedAllowances,
  uphillAllowances,
} from "./tidy/layers.ts";
import * as results from "./tidy/results.ts";
import { RULES } from "./tidy/rules.ts";
import {
  isProduct,
  readSourceFile,
  readSourceFiles,
  type SourceFile,
  wingOf,
} from "./tidy/source-files.ts";
import { exactFiles } from "./tidy/values.ts";

const everything = readSourceFiles("src", "test", "console/src", "bench", "scripts");
const product = everything.filter(isProduct);

test("the rules find a plausible number of files and imports", () => {
  expect(product.length).toBeGreaterThan(400);
  expect(everything.length - product.length).toBeGreaterThan(400);
  expect(exactFiles(product).length).toBeGreaterThan(50);
  expect(product.flatMap(programImportsOf).length).toBeGreaterThan(1000);
});

test.each(Object.entries(RULES))("%s", (_name, { check, covers, breakages }) => {
  expect(check(covers === "everything" ? everything : product)).toEqual([]);
  for (const [what, [file, text]] of Object.entries(breakages)) {
    expect(check([{ file, text }]), `notices ${what}`).toHaveLength(1);
  }
});

describe("the layer table of ARCHITECTURE.md", () => {
  const page = readSourceFile("ARCHITECTURE.md").text;
  const table = readLayerTable(page);
  /** Returns the program with one more import in one of its files. */
  const planted = (file: string, line: string): SourceFile[] =>
    product.map((each) => (each.file === file ? { file, text: `${line}\n${each.text}` } : each));

  test("names every wing, and no wing that does not exist", () => {
    expect(unknownFolders(product, table)).toEqual([]);
    const more = [...product, { file: "src/helpers/text.ts", text: "" }];
    expect(unknownFolders(more, table)).toEqual(["src/helpers is not in the layer table"]);
    const fewer = product.filter(({ file }) => !file.startsWith("src/upstream/"));
    expect(unknownFolders(fewer, table)).toEqual([
      "src/upstream is in the layer table and does not exist",
    ]);
  });

  test("allows every import of the program", () => {
    expect(forbiddenImports(product, table)).toEqual([]);
    const file = "src/kernel/core/money.ts";
    const silent = planted(file, '// import "../../formats/b.ts";\nimport "typebox";');
    expect(forbiddenImports(silent, table)).toEqual([]);
  });

  test.each([
    ["an import of a wing above", "src/kernel/core/money.ts", 'import "../../formats/b.ts";'],
    ["an import on the same level", "src/ledger/ledger-lane.ts", 'import "../catalog/index.ts";'],
    ["a type import", "src/kernel/core/money.ts", 'type B = import("../../ledger/b.ts").B;'],
    ["an upward re-export", "src/kernel/core/money.ts", 'export * from "../../gateway/b.ts";'],
    ["a dynamic import", "src/kernel/core/money.ts", 'await import("../../account/b.ts");'],
  ])("forbids %s", (_what, file, line) => {
    expect(forbiddenImports(planted(file, line), table)).toHaveLength(1);
  });

  test("allows only imports of lower levels", () => {
    expect(uphillAllowances(table)).toEqual([]);
    const changed = readLayerTable(page.replace(/(`ledger` +\| )`kernel`/, "$1`gateway`"));
    expect(uphillAllowances(changed)).toEqual(["ledger > gateway"]);
  });

  test("allows only imports that some file uses", () => {
    expect(unusedAllowances(product, table)).toEqual([]);
    const changed = readLayerTable(page.replace(/(`upstream` +\| )/, "$1`ledger`, "));
    expect(unusedAllowances(product, changed)).toEqual(["upstream > ledger"]);
  });
});

describe("every wing has a door and a short page that introduces it", () => {
  const wings = new Set(product.map(({ file }) => file.split("/").slice(0, 2).join("/")));
  const readmes = new Map(
    [...wings].map((wing) => [`${wing}/README.md`, readSourceFile(`${wing}/README.md`).text]),
  );

  test("holds for every wing of the repository", () => {
    expect(readmes.size).toBeGreaterThan(8);
    expect(incompleteWings(product, readmes)).toEqual([]);
  });

  test("notices a wing without a door or page, and a page that is too long", () => {
    const more = [...product, { file: "src/helpers/text.ts", text: "" }];
    expect(incompleteWings(more, readmes)).toEqual([
      "helpers has no door",
      "helpers has no README.md",
    ]);
    const long = new Map([...readmes, ["src/kernel/README.md", "line\n".repeat(31)]]);
    expect(incompleteWings(product, long)).toEqual(["the README.md of kernel is too long"]);
  });

  test("has no unused side door", () => {
    const targets = everything.flatMap((source) =>
      programImportsOf(source).filter((target) => wingOf(target) !== wingOf(source.file)),
    );
    const used = new Set(targets);
    expect(Object.keys(SIDE_DOORS).filter((file) => !used.has(file))).toEqual([]);
  });
});

describe('every "never" names an existing test', () => {
  const known = new Set(everything.map(({ file }) => basename(file)));
  const namedIn = (text: string): readonly string[] => text.match(/[\w-]+\.test\.ts/g) ?? [];

  test("in ARCHITECTURE.md", () => {
    const named = namedIn(readSourceFile("ARCHITECTURE.md").text);
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test("on the page of each folder", () => {
    const pages = readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith("README.md"))
      .map((file) => readSourceFile(`src/${file}`));
    const nevers = pages.flatMap(({ text }) => /^\*\*Never\.\*\* [^]*?\n\n/m.exec(text) ?? []);
    expect(nevers.length).toBeGreaterThan(20);
    const unproven = nevers.filter((never) => {
      const named = namedIn(never);
      return named.length === 0 || named.some((name) => !known.has(name));
    });
    expect(unproven).toEqual([]);
  });
});

test("no files import each other in a cycle", () => {
  expect(fileCycles(product)).toEqual([]);
  const text = 'import type { MicroUsd } from "./money.ts";';
  const circle = product.map((each) =>
    each.file === "src/kernel/core/money.ts"
      ? { ...each, text: `import "./planted.ts";\n${each.text}` }
      : each,
  );
  expect(fileCycles([...circle, { file: "src/kernel/core/planted.ts", text }])).toHaveLength(1);
});

test("every exception for a shape test and a branded value is needed", () => {
  const lists = [
    [results.SHAPE_TESTS, results.resultsAreDistinguishedByTheirTag],
    [results.BRANDING_FILES, results.idsAreParsedAtTheDoor],
  ] as const;
  const unneeded = lists.flatMap(([names, rule]) =>
    Object.keys(names).filter((file) => {
      const source = product.find((each) => each.file === file);
      return source === undefined || rule([{ ...source, file: "src/a.ts" }]).length === 0;
    }),
  );
  expect(unneeded).toEqual([]);
});

test("every exception for a file that opens files or sockets is needed", () => {
  const moved = product
    .filter(({ file }) => file in IO_FILES)
    .map(({ text }, at) => ({ file: `src/kernel/core/moved-${at}.ts`, text }));
  expect(moved).toHaveLength(Object.keys(IO_FILES).length);
  for (const each of moved) expect(inputAndOutputAreAtTheEdge([each])).not.toEqual([]);
});

describe("only named packages run a script when they are installed", () => {
  const lockFile = readSourceFile("package-lock.json").text;

  test("holds in the lock file", () => {
    expect(installScriptsOf(lockFile)).toEqual(Object.keys(INSTALL_SCRIPTS).sort());
  });

  test("notices another package, even a nested one", () => {
    const planted = JSON.parse(lockFile) as { packages: Record<string, unknown> };
    planted.packages["node_modules/fastify/node_modules/@new/thing"] = { hasInstallScript: true };
    planted.packages["node_modules/quiet"] = { version: "1.0.0" };
    const found = installScriptsOf(JSON.stringify(planted));
    expect(found.filter((name) => !(name in INSTALL_SCRIPTS))).toEqual(["@new/thing"]);
  });
});
