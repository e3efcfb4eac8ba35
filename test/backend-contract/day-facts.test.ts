import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { AttemptId } from "../../src/kernel/core/ids.ts";
import { closeRow } from "../support/ledger-rows.ts";
import { dayOf, withOldBooks } from "../support/old-days.ts";
import { type CommandResult, runCommand } from "../support/program.ts";
import { newFolder } from "../support/run-folder.ts";

const DAY = dayOf("2026-04-10");
const NEXT = dayOf("2026-04-11");

const books = withOldBooks();
let ids: readonly AttemptId[];
const folder = newFolder("facts");

beforeAll(async () => {
  ids = await books.fill(DAY);
  await books.close(closeRow(await books.hold(NEXT), 10n));
});

function command(...words: string[]): Promise<CommandResult> {
  return runCommand(words, { DATABASE_URL: books.backend.connectionString });
}

interface Fact {
  readonly fact: string;
  readonly attempt_id: string;
  readonly amount: string;
  readonly cost_pico: string | null;
}

function factsIn(text: string): readonly Fact[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Fact);
}

test("ledger export writes each attempt of a day that is over once, with all its transfers", async () => {
  const { code, stdout } = await command("ledger", "export", "--day", DAY);
  expect(code).toBe(0);
  const facts = factsIn(stdout);
  const attempts = facts.filter(({ fact }) => fact === "attempt");
  expect(attempts.map(({ attempt_id: id }) => id)).toEqual([...ids].map(String).sort());
  const moved = facts
    .filter(({ fact }) => fact === "transfer")
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  const [row] = await books.backend.query(
    "select sum(amount)::text as moved from transfer where attempt_id = any ($1)",
    [ids],
  );
  expect(String(moved)).toBe(row?.["moved"]);
});

test("ledger export writes all lines to the --out file, and refuses to overwrite a file", async () => {
  const out = join(folder, "day.ndjson");
  const first = await command("ledger", "export", "--day", DAY, "--out", out, "--json");
  expect(first.code).toBe(0);
  const { lines } = JSON.parse(first.stdout) as { readonly lines: number };
  expect(factsIn(readFileSync(out, "utf8"))).toHaveLength(lines);
  expect((await command("ledger", "export", "--day", DAY, "--out", out)).code).toBe(2);
});

test("ledger export refuses an invalid day, a day that is not over, and one with open attempts", async () => {
  await books.hold(NEXT);
  const open = await command("ledger", "export", "--day", NEXT);
  expect(open).toMatchObject({ code: 2, stdout: "" });
  expect(open.stderr).toContain("1 attempts of 2026-04-11 are open");
  expect((await command("ledger", "export", "--day", "2999-01-01")).stderr).toContain("not over");
  expect((await command("ledger", "export", "--day", "2026-02-30")).stderr).toContain("YYYY-MM-DD");
});
