import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Month, Statement } from "../../src/billing/statements.ts";
import type { OrgId } from "../../src/core/ids.ts";
import { formatUsd, microUsd } from "../../src/core/money.ts";
import { DayFolder } from "../../src/ledger/retention/day-folder.ts";
import { readFold, verifyFold } from "../../src/ledger/retention/fold-manifest.ts";
import { foldMonths, type FoldOutcome } from "../../src/ledger/retention/fold-months.ts";
import { FIRST_PART, type FoldSession, type Part } from "../../src/ledger/retention/fold.ts";
import { openSigningKey, type SigningKey } from "../../src/ledger/retention/signing-key.ts";
import { until } from "../support/books.ts";
import { changesOf } from "../support/change-writes.ts";
import { quickOrDeep } from "../support/depth.ts";
import { closeRow, voidRow } from "../support/ledger-rows.ts";
import {
  brokenChecks,
  dayOf,
  retireOldDays,
  unknownRow,
  withOldBooks,
} from "../support/old-days.ts";
import { testOperator } from "../support/test-operator.ts";

const JANUARY = "2026-01" as Part;
const FIRST_DAY = dayOf("2026-01-30");
const LAST_DAY = dayOf("2026-01-31");
const NEXT_DAY = dayOf("2026-02-01");
const books = withOldBooks();
let root: string;
let key: SigningKey;
let before: unknown;
let closedBefore: Statement;
let costOfJanuary: bigint;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "tokenmarket-fold-"));
  key = openSigningKey(join(root, "key.pem"));
  await books.fill(FIRST_DAY);
  await toMonth("2026-01-01");
  await grant("in-january");
  await books.fill(LAST_DAY);
  await randomTraffic(LAST_DAY);
  await toMonth("2026-02-01");
  await books.fill(NEXT_DAY);
  // The last end of a day comes after its last correction, and so does the day's checkpoint.
  await books.close(closeRow(await books.hold(NEXT_DAY), 5n));
  await grant("in-february");
  await books.settle();
  await close(NEXT_DAY);
  await damage("update org set created_at = '2026-01-01'");
  closedBefore = await statementOf(books.org.orgId, "2026-01");
  costOfJanuary = await chargedIn(books.other.orgId);
  await retireOldDays(books, { key, archive: new DayFolder(join(root, "days")), drop: true });
  before = await figures();
}, 60_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function statementOf(orgId: OrgId, month: string): Promise<Statement> {
  const statement = await books.backend.statementStore.read(orgId, month as Month);
  if (typeof statement === "string") throw new Error(statement);
  return statement;
}

/** What attempts of an organization that ended in January cost at its end, by plain addition. */
async function chargedIn(orgId: OrgId): Promise<bigint> {
  const [row] = await books.backend.query(
    `select sum(case when corrected_at >= '2026-02-01Z' then reserve else debit end)::text as cost
    from attempt where org_id = $1 and closed_at < '2026-02-01Z'`,
    [orgId],
  );
  return BigInt(String(row?.["cost"]));
}

async function toMonth(month: string): Promise<void> {
  await books.backend.query("select ensure_transfer_partition($1)", [month]);
  await books.backend.query("select setval('ledger_position', month_position($1), false)", [month]);
}

async function grant(ref: string): Promise<void> {
  const of = { orgId: books.org.orgId, amountMicroUsd: microUsd(77n), ref };
  await books.backend.creditStore.grant(of, testOperator);
}

/** Attempts of every end; the numbers are from a seed, so that a failure comes again. */
async function randomTraffic(day: ReturnType<typeof dayOf>): Promise<void> {
  let seed = 20_260_131;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let i = 0; i < quickOrDeep(12, 300); i++) {
    const id = await books.hold(day, random(2) === 0 ? {} : books.other);
    const ends = [
      closeRow(id, BigInt(1 + random(1_600))),
      closeRow(id, BigInt(1 + random(1_600))),
      voidRow(id),
      unknownRow(id),
    ] as const;
    await books.close(ends[random(ends.length)] ?? voidRow(id));
  }
}

async function close(day: string): Promise<void> {
  const done = await books.backend.closeDay(day, { key }, testOperator);
  expect(done.checkpoint?.day).toBe(day);
}

/** All that is said of money: accounts, the wallets' entries, spend, periods, what was granted. */
async function figures(): Promise<unknown> {
  const { backend, org, other } = books;
  return {
    accounts: await backend.query("select * from account order by account_id"),
    spend: await backend.query("select * from spend order by scope, id, month"),
    periods: await backend.settlementStore.balances(),
    single: await backend.query(
      "select * from transfer where attempt_id is null order by position",
    ),
    entries: [
      await backend.creditStore.ledgerEntries(org.orgId),
      await backend.creditStore.ledgerEntries(other.orgId),
    ],
  };
}

async function run(
  more: {
    readonly folder?: string;
    readonly part?: Part;
    readonly isDry?: boolean;
    readonly drop?: boolean;
    readonly session?: (real: FoldSession) => FoldSession;
  } = {},
): Promise<FoldOutcome> {
  const real = await until("no other run is under way", () =>
    books.backend.retentionStore.openFold(testOperator),
  );
  const { folder = "months", session = (same) => same, ...options } = more;
  const archive = new DayFolder(join(root, folder));
  try {
    return await foldMonths(
      { session: session(real), archive, key, progress: () => undefined },
      { olderThanMonths: 1, drop: false, ...options },
    );
  } finally {
    await real.close();
  }
}

async function tablesOf(part: string): Promise<unknown> {
  const rows = await books.backend.query(
    "select schemaname as name from pg_tables where tablename = $1 order by 1",
    [`transfer_${part.replace("-", "")}`],
  );
  return rows.map(({ name }) => name);
}

const NOT_READY = [
  [
    "attempts of 1 days are not retired, the first is 2026-01-31",
    "update retired_day set day = '2020-01-31' where day = '2026-01-31'",
    "update retired_day set day = '2026-01-31' where day = '2020-01-31'",
  ],
  [
    "was opened before its last transfer",
    `insert into hold (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
      upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve,
      month, opened_position)
    values (1, gen_random_uuid(), 1, 'o', 'k', 'm', 'p', 'm', 'pin', 'r', false, 'i', 1, 1, 1,
      '2026-01-01', 12000000000001)`,
    "delete from hold where attempt_id = 1",
  ],
  [
    "newest closed day does not hold all of it",
    "update audit_checkpoint set position = position - 1000000000000",
    "update audit_checkpoint set position = position + 1000000000000",
  ],
  [
    "not gone on to a later month",
    "select setval('ledger_position', 12999999999999)",
    "select setval('ledger_position', 13000000001000)",
  ],
] as const;

/** The sums are written, it waits for the lock of the books, and its connection is gone. */
async function killedWhileItFolds(): Promise<void> {
  const reader = new Client({ connectionString: books.backend.connectionString });
  await reader.connect();
  await reader.query("begin; select count(*) from transfer");
  // The month is frozen already, so that only the last lock waits for this reader.
  const ended = run({ part: JANUARY }).catch(String);
  const pid = await until("the month waits for its lock", async () => {
    const [row] = await books.backend.query(
      `select pid from pg_stat_activity
      where datname = current_database() and query like '%pg_stat_activity a using (pid)%'
        and pid <> pg_backend_pid() and state = 'idle in transaction'`,
    );
    return row?.["pid"];
  });
  await books.backend.query("select pg_terminate_backend($1)", [pid]);
  expect(await ended).toMatch(/connection/);
  await reader.end();
}

/** Every step of it is done, and then the process is gone. */
function tornAfter(step: string): (real: FoldSession) => FoldSession {
  return (real) =>
    new Proxy(real, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...input: unknown[]): unknown => {
          const result: unknown = Reflect.apply(value, target, input);
          if (name !== step || !(result instanceof Promise)) return result;
          return result.then(() => {
            throw new Error("pulled the plug");
          });
        };
      },
    });
}

test("a month is folded when all of it is proven, and a run that ends anywhere is run again", async () => {
  const { backend } = books;
  // Each in turn is missing: a retired day, an attempt's age, the closed day, the next month.
  for (const [reason, statement, undo] of NOT_READY) {
    await damage(statement);
    const { folded, stopped } = await run({ part: JANUARY, isDry: true });
    expect({ folded, reason: stopped?.reason }).toEqual({
      folded: [],
      reason: expect.stringContaining(reason) as unknown,
    });
    await damage(undo);
  }
  const dry = await run({ part: JANUARY, isDry: true });
  expect(dry.folded.map(({ part }) => part)).toEqual([JANUARY]);
  expect(await tablesOf(JANUARY)).toEqual(["public"]);

  // A transfer that changed behind the books' back: nothing is folded, the alarm is raised.
  await damage(
    "update transfer_202601 set amount = amount + 1 where kind = 'settle' and amount = 320",
  );
  await expect(run({ part: JANUARY })).rejects.toThrow(/not folded, the books do not agree: day/);
  const alarm = "select violations > 0 as is_on from audit_result";
  expect(await backend.query(alarm)).toEqual([{ is_on: true }]);
  expect(await tablesOf(JANUARY)).toEqual(["public"]);
  await damage("update transfer_202601 set amount = 320 where kind = 'settle' and amount = 321");
  rmSync(join(root, "months"), { recursive: true });

  await expect(run({ part: JANUARY, session: tornAfter("freeze") })).rejects.toThrow("plug");
  await expect(
    run({
      part: JANUARY,
      session: (real) =>
        new Proxy(real, {
          get: (t, name) =>
            name === "fold" ? () => Promise.reject(new Error("before the commit")) : bound(t, name),
        }),
    }),
  ).rejects.toThrow("before the commit");
  await killedWhileItFolds();
  expect(await tablesOf(JANUARY)).toEqual(["public"]);
  expect(await backend.query("select part from folded_month")).toEqual([]);
  const exported = readFileSync(join(root, "months", "transfer-2026-01.json"));
  expect(await tablesOf(JANUARY)).toEqual(["public"]);
  await expect(run({ part: JANUARY, session: tornAfter("fold") })).rejects.toThrow("plug");
  // Exported twice: byte for byte the same.
  expect(readFileSync(join(root, "months", "transfer-2026-01.json"))).toEqual(exported);
  expect(await tablesOf(JANUARY)).toEqual(["public", "retired"]);
  expect(await brokenChecks(books)).toEqual([]);
  expect(await figures()).toEqual(before);
  // Another folder has no files of it: what was folded is deleted only when they were read.
  const elsewhere = await run({ drop: true, folder: "elsewhere" });
  expect(elsewhere).toMatchObject({ dropped: [], kept: [{ part: JANUARY }] });
  await expect(run({ drop: true, session: tornAfter("drop") })).rejects.toThrow("plug");
  const again = await run({ drop: true });
  expect(again.kept).toEqual([]);
  expect(await tablesOf(JANUARY)).toEqual(["public"]);
  const files = readdirSync(join(root, "months")).filter((name) => name.includes("2026-01"));
  expect(files.sort()).toEqual(["transfer-2026-01.csv.gz", "transfer-2026-01.json"]);
}, 60_000);

const bound = (target: FoldSession, name: string | symbol): unknown => {
  const value: unknown = Reflect.get(target, name, target);
  return typeof value === "function" ? value.bind(target) : value;
};

test("every balance, every figure of money and both audits are the same after it", async () => {
  const { backend } = books;
  expect(await figures()).toEqual(before);
  expect(await brokenChecks(books)).toEqual([]);
  const since = await backend.auditBooks({ trustedKey: key.publicKey });
  expect(since.checks.filter(({ violations }) => violations > 0)).toEqual([]);
  const left = "select from transfer_202601 where attempt_id is not null";
  expect(await backend.query(left)).toEqual([]);
  expect(await backend.query("select ref from transfer_202601")).toEqual([{ ref: "in-january" }]);
});

test("the change log has the folding and the deletion, once each", async () => {
  const folded = await changesOf(books.backend, "ledger.fold");
  expect(folded.map(({ target }) => target)).toEqual(["2026-01"]);
  const dropped = await changesOf(books.backend, "ledger.drop");
  expect(dropped.filter(({ target }) => target === "2026-01")).toHaveLength(1);
});

test("nothing can be added to a folded month, and its references stay used", async () => {
  const { backend } = books;
  const late = `insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount)
    values (month_position('2026-01-01') + 900, 1, 'settle', 'a', 'b', 1)`;
  await expect(backend.query(late)).rejects.toThrow("transfer_202601 rows are never changed");
  const { created } = await backend.creditStore.grant(
    { orgId: books.org.orgId, amountMicroUsd: microUsd(77n), ref: "in-january" },
    testOperator,
  );
  expect(created).toBe(false);
});

test("the export proves itself, and a changed one does not", async () => {
  const folder = new DayFolder(join(root, "months"));
  const manifest = readFold((await folder.readManifest(JANUARY)) ?? "");
  if (typeof manifest !== "object") throw new Error(`no manifest: ${manifest}`);
  const rows = (): AsyncIterable<Uint8Array> => folder.readPublished(JANUARY);
  const trustedKey = key.publicKey;
  const good = await verifyFold({ manifest, rows: rows(), trustedKey });
  expect(good.map(({ ok }) => ok)).toEqual([true, true, true]);
  const other = {
    ...manifest,
    sums: { ...manifest.sums, transfers: manifest.sums.transfers + 1n },
  };
  const bad = await verifyFold({ manifest: other, rows: rows(), trustedKey });
  expect(bad.at(-1)).toMatchObject({ ok: false, detail: "the rows add up to other sums" });
});

test("a statement that was closed before stays as it is, and one that is made now has the same sums without lines", async () => {
  const { org, other, backend } = books;
  const kept = await statementOf(org.orgId, "2026-01");
  expect(kept).toEqual({ ...closedBefore, hasLeft: true });
  expect([kept.state, kept.differences]).toEqual(["closed", []]);
  expect(kept.document.models).not.toEqual([]);
  const late = await statementOf(other.orgId, "2026-01");
  const cost = formatUsd(microUsd(costOfJanuary));
  expect(late.document).toMatchObject({ usage_usd: cost, unlisted_usage_usd: cost, models: [] });
  expect([late.state, late.differences, late.hasLeft]).toEqual(["closed", [], false]);
  for (const { orgId } of [org, other]) {
    const { document } = await statementOf(orgId, new Date().toISOString().slice(0, 7));
    const { settledMicroUsd } = await backend.recordStore.balance(orgId);
    expect(document.closing_usd).toBe(formatUsd(settledMicroUsd));
  }
});

test("an error in a folded month is found by the audit", async () => {
  const one =
    "where part = '2026-01' and kind = 'settle' and debit_account = 'wallet:" +
    `${books.org.orgId}' and credit_account like 'accrual:%'`;
  await damage(`update folded_transfer set amount = amount + 1 ${one}`);
  const broken = (await brokenChecks(books)) as readonly { readonly id: string }[];
  expect(broken.map(({ id }) => id)).toEqual(expect.arrayContaining(["I1", "I5", "rebuild"]));
  await damage(`update folded_transfer set amount = amount - 1 ${one}`);
  await damage("update folded_day set margin = margin + 1 where part = '2026-01'");
  expect(await brokenChecks(books)).toMatchObject([{ id: "I5" }, { id: "I11" }]);
  await damage("update folded_day set margin = margin - 1 where part = '2026-01'");
  expect(await brokenChecks(books)).toEqual([]);
});

test("what was moved before there were months stays while its month is young, then folds too", async () => {
  expect(await tablesOf(FIRST_PART)).toEqual(["public"]);
  await damage("update transfer_first set at = '2026-01-29Z'");
  before = await figures();
  const done = await run();
  expect(done).toMatchObject({ folded: [{ part: FIRST_PART }], stopped: { part: "2026-02" } });
  expect(await tablesOf(FIRST_PART)).toEqual(["public", "retired"]);
  expect(await brokenChecks(books)).toEqual([]);
  expect(await figures()).toEqual(before);
  // Its references are still checked in the table of that name.
  await grant("in-february");
  const [used] = await books.backend.query("select ref from transfer_first limit 1");
  const again = {
    orgId: books.org.orgId,
    amountMicroUsd: microUsd(1n),
    ref: String(used?.["ref"]),
  };
  await expect(books.backend.creditStore.grant(again, testOperator)).rejects.toThrow(
    "another grant",
  );
});

async function damage(statement: string): Promise<void> {
  await books.backend.query("begin");
  await books.backend.query("set local session_replication_role = replica");
  await books.backend.query(statement);
  await books.backend.query("commit");
}
