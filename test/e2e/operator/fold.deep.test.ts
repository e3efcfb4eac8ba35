import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";

import { microUsd } from "../../../src/core/money.ts";
import { DayFolder } from "../../../src/ledger/retention/day-folder.ts";
import { openSigningKey } from "../../../src/ledger/retention/signing-key.ts";
import { until } from "../../support/books.ts";
import { closeRow } from "../../support/ledger-rows.ts";
import { brokenChecks, dayOf, retireOldDays, withOldBooks } from "../../support/old-days.ts";
import { jsonCommand, OPERATOR_ENV } from "../../support/operator.ts";
import {
  type CommandResult,
  killCommand,
  runProgram,
  spawnCommand,
} from "../../support/program.ts";
import { testOperator } from "../../support/test-operator.ts";

const books = withOldBooks();
/** Each with its days; the month behind the last makes it one that is over. */
const MONTHS = Array.from({ length: 8 }, (_, at) => `2026-${String(at + 1).padStart(2, "0")}`);
const NEXT_MONTH = "2026-09";
const DAY_FILLS = 40;
/** Whatever the machine's speed: kills are spread over the time that a whole run took. */
const KILLS_PER_RUN = 12;

let root: string;
let before: unknown;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "tokenmarket-fold-kills-"));
  for (const month of [...MONTHS, NEXT_MONTH]) {
    await toMonth(month);
    const day = dayOf(`${month}-15`);
    const fills = month === NEXT_MONTH ? 1 : DAY_FILLS;
    for (let filled = 0; filled < fills; filled++) await books.fill(day);
    await books.backend.creditStore.grant(
      { orgId: books.org.orgId, amountMicroUsd: microUsd(7n), ref: `in-${month}` },
      testOperator,
    );
  }
  const last = dayOf(`${NEXT_MONTH}-15`);
  await books.close(closeRow(await books.hold(last), 5n));
  await books.settle();
  const key = openSigningKey(join(root, "data", "retention-signing-key.pem"));
  const { backend } = books;
  await backend.closeDay(last, { key }, testOperator);
  await retireOldDays(books, { key, archive: new DayFolder(join(root, "days")), drop: true });
  before = await figures();
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function toMonth(month: string): Promise<void> {
  const first = `${month}-01`;
  await books.backend.query("select ensure_transfer_partition($1)", [first]);
  await books.backend.query("select setval('ledger_position', month_position($1), false)", [first]);
}

async function figures(): Promise<unknown> {
  const { backend } = books;
  return {
    accounts: await backend.query("select * from account order by account_id"),
    spend: await backend.query("select * from spend order by scope, id, month"),
    single: await backend.query(
      "select * from transfer where attempt_id is null order by transfer_id",
    ),
    moved: await backend.query(`
      select kind, sum(transfers)::text as transfers, sum(amount)::text as amount from (
        select kind, 1 as transfers, amount from transfer where attempt_id is not null
        union all select kind, transfers, amount from folded_transfer
      ) x group by kind order by kind`),
  };
}

function env(): Record<string, string> {
  return {
    ...OPERATOR_ENV,
    DATABASE_URL: books.backend.connectionString,
    TM_DATA: join(root, "data"),
  };
}

function fold(month: string): readonly string[] {
  return ["ledger", "fold", "--month", month, "--older-than-months", "1", "--drop"];
}

const isFolded = (phase: string): boolean => phase === "folded" || phase === "dropped";

/** How far a killed run came with its month. */
async function phaseOf(month: string): Promise<string> {
  const table = `transfer_${month.replace("-", "")}`;
  const [row] = await books.backend.query(
    `select exists (select from folded_month where part = $1) as is_folded,
      to_regclass('retired.' || $2) is not null as is_detached,
      exists (select from pg_trigger where tgname = 'month_is_frozen'
        and tgrelid = $2::regclass) as is_frozen,
      exists (select from pg_namespace where nspname = 'folding') as is_torn`,
    [month, table],
  );
  expect(row?.["is_torn"]).toBe(false);
  if (row?.["is_folded"] === true) return row["is_detached"] === true ? "folded" : "dropped";
  const files = readdirSync(join(root, "data"), { recursive: true }).map(String);
  if (files.some((name) => name.endsWith(`transfer-${month}.json`))) return "exported";
  return row?.["is_frozen"] === true ? "frozen" : "untouched";
}

async function expectWhole(): Promise<void> {
  expect(await brokenChecks(books)).toEqual([]);
  expect(await figures()).toEqual(before);
}

async function runToItsEnd(month: string): Promise<void> {
  let result: CommandResult = { code: null, stdout: "", stderr: "" };
  // The lock of a process that was killed goes with its connection, a moment later.
  for (let tried = 0; tried < 20 && result.code !== 0; tried++) {
    if (tried > 0) await sleep(500);
    result = await runProgram([...fold(month), "--json"], env());
  }
  expect(result).toMatchObject({ code: 0 });
  expect(await phaseOf(month)).toBe("dropped");
}

/** All of the month is written and proven, and only the lock of the books is missing. */
async function killedBeforeItsLock(month: string): Promise<void> {
  const reader = new Client({ connectionString: books.backend.connectionString });
  await reader.connect();
  try {
    const trigger = "create trigger month_is_frozen before insert or update or delete on";
    const table = `transfer_${month.replace("-", "")}`;
    // Frozen by an earlier run: the lock for that would wait for this reader too.
    await reader.query(`${trigger} ${table} for each row execute function refuse_change()`);
    await reader.query("begin; select count(*) from transfer");
    const running = await spawnCommand(fold(month), env());
    await until("it waits", () => running.stderr().includes(": exported"));
    await running.end("SIGKILL");
  } finally {
    await reader.end();
  }
}

/** Kills the command after so many milliseconds; answers whether it had not ended before. */
async function killAfter(month: string, delayMs: number): Promise<boolean> {
  const running = await spawnCommand(fold(month), env());
  await sleep(delayMs);
  return (await running.end("SIGKILL")) === null;
}

test("killed at any time and run again, a month is folded once and every sum is the same", async () => {
  const [measured = "", ...months] = MONTHS;
  const began = performance.now();
  await runToItsEnd(measured);
  const wholeMs = performance.now() - began;
  const phases = new Set<string>();
  const [blocked = "", told = "", ...left] = months;
  await killedBeforeItsLock(blocked);
  expect(await phaseOf(blocked)).toBe("exported");
  await killCommand(fold(told), env(), ": folded");
  for (const month of [blocked, told]) {
    phases.add(await phaseOf(month));
    await expectWhole();
    await runToItsEnd(month);
    await expectWhole();
  }
  let kills = 0;
  for (const month of left) {
    // Later each time, from a moment that is random, until a run has come to its folding.
    const stepMs = wholeMs / KILLS_PER_RUN;
    for (let delayMs = Math.random() * stepMs; !isFolded(await phaseOf(month)); delayMs += stepMs) {
      kills += (await killAfter(month, delayMs)) ? 1 : 0;
      phases.add(await phaseOf(month));
      await expectWhole();
    }
    await runToItsEnd(month);
    await expectWhole();
  }
  expect(kills).toBeGreaterThan(left.length);
  process.stderr.write(`fold: ${kills} random kills, ended ${[...phases].sort().join(", ")}\n`);
  const audit = await jsonCommand(["ledger", "audit"], env());
  expect(audit).toMatchObject({ code: 0, json: { ok: true } });
}, 900_000);
