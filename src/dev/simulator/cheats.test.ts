import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CHEATS, type Cheat } from "./cheats.ts";

const PAGE = new URL("../../../docs/simulator.md", import.meta.url);
const table: readonly (readonly [name: string, cheat: Cheat])[] = Object.entries(CHEATS);

function rowOf([name, cheat]: readonly [string, Cheat]): string {
  const { does, modalities, checks, needs } = cheat;
  const check = checks.endsWith("and others") ? checks : checks.replaceAll(" ", ", ");
  const offered = modalities.length === 4 ? "all" : modalities.join(", ");
  const checked = needs === undefined ? check : `${check}, if the listing has ${needs}`;
  return `| \`cheat:${name}\` | ${does} | ${offered} | ${checked} |`;
}

test("the page lists every cheat as the table has it", () => {
  const page = readFileSync(PAGE, "utf8");
  const rows = page.split("\n").filter((line) => /^\| `cheat:[a-z]/.test(line));
  const narrow = rows.map((row) => row.replaceAll(/ +/g, " "));
  expect(narrow).toEqual(table.map(rowOf));
});
