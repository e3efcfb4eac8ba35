import { describe, expect, test } from "vitest";

import { INSTALL_SCRIPTS, installScriptsOf } from "./tidy/install-scripts.ts";
import { cyclesOf, MAY_IMPORT, programImportsOf } from "./tidy/layers.ts";
import { RULES, type RuleName } from "./tidy/rules.ts";
import {
  isProduct,
  readSourceFile,
  readSourceFiles,
  type SourceFile,
} from "./tidy/source-files.ts";
import { exactFiles } from "./tidy/values.ts";

const everything = readSourceFiles("src", "test", "console/src", "bench", "scripts");
const product = everything.filter(isProduct);

test("the rules see the program: a plausible number of files and of imports", () => {
  expect(product.length).toBeGreaterThan(400);
  expect(everything.length - product.length).toBeGreaterThan(400);
  expect(exactFiles(product).length).toBeGreaterThan(50);
  expect(product.flatMap(programImportsOf).length).toBeGreaterThan(1000);
});

describe.each(Object.keys(RULES) as RuleName[])("%s", (name) => {
  const { check, covers, breakages, nearMisses } = RULES[name];

  test("holds in the repository", () => {
    expect(check(covers === "product" ? product : everything)).toEqual([]);
  });

  test.each(Object.entries(breakages))("notices %s", (_what, [file, text]) => {
    const planted: SourceFile = { file, text };
    expect(check([planted])).toHaveLength(1);
    // Nor does it get lost among the files of the repository.
    const others = product.filter((each) => each.file !== file).slice(0, 5);
    expect(check([...others, planted])).toHaveLength(1);
  });

  test.each(Object.entries(nearMisses))("passes %s", (_what, [file, text]) => {
    expect(check([{ file, text }])).toEqual([]);
  });
});

test("a rule notices a breakage in a copy of a real file", () => {
  const money = readSourceFile("src/core/money.ts");
  const broken = { ...money, text: `import "../ledger/replay.ts";\n${money.text}` };
  const { check } = RULES["imports go downhill"];
  expect(check([money])).toEqual([]);
  expect(check([broken])).toEqual(["src/core/money.ts imports src/ledger/replay.ts"]);
});

describe("the layer table", () => {
  test("has no two rows that import each other", () => {
    expect(cyclesOf(MAY_IMPORT)).toEqual([]);
  });

  test("notices rows that import each other through a third", () => {
    expect(cyclesOf({ a: ["b"], b: ["c/inner"], c: ["a"], d: ["a"] })).toEqual(["a", "b", "c"]);
  });
});

describe("only named packages run a script when they are installed", () => {
  const lockFile = readSourceFile("package-lock.json").text;

  test("the lock file", () => {
    expect(installScriptsOf(lockFile)).toEqual(Object.keys(INSTALL_SCRIPTS).sort());
  });

  test("notices one more, also where it is below another package", () => {
    const planted = JSON.parse(lockFile) as { packages: Record<string, unknown> };
    planted.packages["node_modules/fastify/node_modules/@new/thing"] = { hasInstallScript: true };
    planted.packages["node_modules/quiet"] = { version: "1.0.0" };
    const found = installScriptsOf(JSON.stringify(planted));
    expect(found.filter((name) => !(name in INSTALL_SCRIPTS))).toEqual(["@new/thing"]);
  });
});
