import { beforeAll, expect, test } from "vitest";
import type { AttemptId, OrgId } from "../../src/kernel/core/ids.ts";
import { DamagedBooks } from "../support/damaged-books.ts";
import { orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { withPricedBackend } from "../support/postgres.ts";
import { runCommand, type CommandResult } from "../support/program.ts";

let orgId: OrgId;

const backend = withPricedBackend();

beforeAll(async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const { ledgerBatchStore: store } = backend;
  const dead = await store.join("dead", 0);
  ({ orgId } = org);
  const lost = reserveRow({ ...org, attemptId: 1n as AttemptId }, 40n);
  const filming = reserveRow({ ...org, attemptId: 2n as AttemptId }, 300n);
  const rows = [lost, filming].map((row) => ({ row, close: null }));
  await store.reserveBatch(dead, rows);
  await store.attachJob(filming.attemptId, "job");
});

function ledger(...words: string[]): Promise<CommandResult> {
  return runCommand(["ledger", ...words], { DATABASE_URL: backend.connectionString });
}

test("ledger recover charges the open attempts of a dead instance once, and leaves running jobs open", async () => {
  const first = await ledger("recover", "--json");
  expect(first.code).toBe(0);
  expect(JSON.parse(first.stdout)).toEqual({ recovered: 1, instances: ["dead"], stuck: {} });
  const states = "select state, debit from journal where attempt_id in (1, 2) order by attempt_id";
  expect(await backend.query(states)).toEqual([
    { state: "unknown_after_crash", debit: "40" },
    { state: "open", debit: "0" },
  ]);
  const again = await ledger("recover");
  expect(again).toMatchObject({ code: 0, stdout: "0 attempts of 0 dead instances closed\n" });
});

test("ledger audit of clean books prints a line per check and how much it replayed, and exits with 0", async () => {
  const { code, stdout, stderr } = await ledger("audit");
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toHaveLength(24);
  expect(stdout).not.toContain("BROKEN");
  expect(stderr).toContain("replayed 4 of 4 journal entries");
});

test("ledger audit prints broken rows with both values, as text and JSON, and exits with 1", async () => {
  const wallet = `account wallet:${orgId}`;
  const damage = "update account set reserved = reserved - 1 where reserved > 0";
  await new DamagedBooks(backend).damage(damage);
  const words = await ledger("audit");
  expect(words.code).toBe(1);
  expect(words.stdout).toContain(
    `BROKEN  I3  every wallet holds exactly the reserves of its open attempts: 1\n        ${wallet}: reserved 299; expected reserved 300\n`,
  );
  const json = await ledger("audit", "--json");
  expect(json.code).toBe(1);
  const answer = JSON.parse(json.stdout) as { ok: boolean; checks: { id: string }[] };
  expect(answer.ok).toBe(false);
  expect(answer.checks.find(({ id }) => id === "I3")).toEqual({
    id: "I3",
    title: "every wallet holds exactly the reserves of its open attempts",
    violations: 1,
    examples: [{ row: wallet, found: "reserved 299", expected: "reserved 300" }],
  });
});
