import * as fc from "fast-check";
import { Client } from "pg";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";

import { ALERT_KINDS } from "../../src/account/alerts/alert-kinds.ts";
import {
  type AttemptId,
  type KeyId,
  type ModelId,
  createRecordId,
  type OrgId,
} from "../../src/kernel/core/ids.ts";
import { formatUsd, microUsd } from "../../src/kernel/core/money.ts";
import { type Month, spanOfMonth } from "../../src/account/billing/statements.ts";
import { quickOrDeep } from "../support/depth.ts";
import { closeRow, keyOf, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { unknownRow } from "../support/old-days.ts";
import {
  asAdmin,
  tamper,
  withMember,
  withOtherBackend,
  withPricedBackend,
} from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";
import { rollAll } from "../support/usage-journal.ts";

const MODELS = ["acme/small", "acme/large"] as const;
const RESERVE = 1_000n;
const backend = withPricedBackend();
/** The same database, opened by another process. */
const second = withOtherBackend(backend);
const member = withMember(backend);
const HOUR_MS = 3_600_000;
/**
 * A month is closed hours after its end. Near the turn of a month, this test and its database are
 * ahead, so that the last month is over.
 */
const HOURS_AHEAD = isNearTurn(Date.now()) ? 12 : 0;
const NOW = new Date(presentMs());
/** The current month and the three before it. */
const months = [3, 2, 1, 0].map((ago) => {
  const first = new Date(Date.UTC(NOW.getUTCFullYear(), NOW.getUTCMonth() - ago));
  return first.toISOString().slice(0, 7) as Month;
});

function presentMs(): number {
  return Date.now() + HOURS_AHEAD * HOUR_MS;
}

function isNearTurn(atMs: number): boolean {
  const [from, to] = [atMs - 7 * HOUR_MS, atMs + HOUR_MS].map((ms) => new Date(ms));
  return from?.getUTCMonth() !== to?.getUTCMonth();
}

beforeAll(async () => {
  const admin = new Client({ connectionString: await asAdmin(backend) });
  await admin.connect();
  // Only this database gets another clock.
  await admin.query("alter function pg_catalog.clock_timestamp() rename to true_clock");
  await admin.query(`create function public.clock_timestamp() returns timestamptz language sql
    volatile as $$ select pg_catalog.true_clock() + interval '${HOURS_AHEAD} hours' $$`);
  await admin.end();
});

const someMonth = fc.nat(3);
const spec = fc.oneof(
  fc.record({
    kind: fc.constant("grant" as const),
    month: someMonth,
    amount: fc.integer({ min: 1, max: 900 }),
  }),
  fc.record({
    kind: fc.constant("purchase" as const),
    month: someMonth,
    cents: fc.integer({ min: 1, max: 50 }),
    refund: fc.option(fc.integer({ min: 1, max: 50 })),
  }),
  fc.record({
    kind: fc.constant("attempt" as const),
    month: someMonth,
    /** The time of the admission as a share of the month, often its first or last instant. */
    at: fc.constantFrom(0, 0.3, 0.6, 1),
    model: fc.nat(1),
    key: fc.nat(1),
    cost: fc.integer({ min: 0, max: 999 }),
    /** The number of months from the admission to the end. */
    endsLater: fc.constantFrom(0, 0, 0, 1, 2),
    /** Months until a charge after a crash was corrected; null if there was no such charge. */
    correctedLater: fc.option(fc.constantFrom(0, 1, 2)),
  }),
);
type Spec = typeof spec extends fc.Arbitrary<infer S> ? S : never;

/** The figures that the statement of a month must have, by plain addition. */
interface Expected {
  credits: bigint;
  readonly models: Map<string, bigint>;
  readonly keys: Map<string, bigint>;
}

class History {
  readonly expected: readonly Expected[] = months.map(() => {
    return { credits: 0n, models: new Map(), keys: new Map() };
  });
  readonly #held = new Map<Spec, AttemptId>();
  #made = 0;

  readonly orgId: OrgId;
  readonly keys: readonly KeyId[];

  constructor(orgId: OrgId, keys: readonly KeyId[]) {
    this.orgId = orgId;
    this.keys = keys;
  }

  static async begin(): Promise<History> {
    const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 1_000_000_000n });
    const history = new History(orgId, [keyId, await keyOf(backend, orgId)]);
    await beganAtFirst(orgId);
    const granted = [`start ${orgId}`, instantIn(0, 0)];
    await tamper(backend, "update transfer set at = $2 where ref = $1", granted);
    history.#of(0).credits += 1_000_000_000n;
    return history;
  }

  /** Plays all events of one month. */
  async live(month: number, specs: readonly Spec[]): Promise<void> {
    for (const each of specs) {
      if (each.kind === "attempt") await this.#attempt(month, each);
      else if (each.month === month) await this.#credit(month, each);
    }
  }

  async #credit(month: number, each: Exclude<Spec, { kind: "attempt" }>): Promise<void> {
    this.#made += 1;
    const id = `${this.orgId}-${this.#made}`;
    const [last] = await backend.query("select coalesce(max(transfer_id), 0) as id from transfer");
    if (each.kind === "grant") {
      const amountMicroUsd = microUsd(BigInt(each.amount));
      const grant = { orgId: this.orgId, amountMicroUsd, ref: id };
      await backend.creditStore.grant(grant, testOperator);
      this.#of(month).credits += amountMicroUsd;
    } else {
      const micro = each.cents * 10_000;
      await backend.query(
        `insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money, created_at,
          expires_at) values ($1, $2, $3, $4, true, now(), now())`,
        [id, this.orgId, micro, each.cents],
      );
      await backend.query("select grant_purchase($1, null, null)", [id]);
      this.#of(month).credits += BigInt(micro);
      const back = Math.min((each.refund ?? 0) * 10_000, micro);
      if (back > 0) {
        const claim = "select claim_purchase($1, $2, 'refund', $3, false, true)";
        await backend.query(claim, [id, `re-${id}`, back]);
        this.#of(month).credits -= BigInt(back);
      }
    }
    const moved = "update transfer set at = $2 where attempt_id is null and transfer_id > $1";
    await tamper(backend, moved, [last?.["id"], instantIn(month, 0.5)]);
  }

  async #attempt(month: number, each: Extract<Spec, { kind: "attempt" }>): Promise<void> {
    if (each.month === month) this.#held.set(each, await this.#hold(each));
    const attemptId = this.#held.get(each);
    if (attemptId === undefined) return;
    const endsIn = Math.min(each.month + each.endsLater, 3);
    const [keyId, modelId] = [this.keys[each.key] as KeyId, MODELS[each.model] as ModelId];
    const count = (of: number, amount: bigint): void => {
      add(this.#of(of).models, modelId, amount);
      add(this.#of(of).keys, keyId, amount);
    };
    if (endsIn === month) {
      const isSeen = each.correctedLater === null;
      const row = isSeen ? closeRow(attemptId, BigInt(each.cost)) : unknownRow(attemptId);
      await backend.ledgerBatchStore.closeBatch([row]);
      const ended = [attemptId, instantIn(month, Math.max(each.at, 0.9))];
      await tamper(backend, "update attempt set closed_at = $2 where attempt_id = $1", ended);
      count(month, isSeen ? BigInt(each.cost) : RESERVE);
    }
    if (each.correctedLater !== null && Math.min(endsIn + each.correctedLater, 3) === month) {
      await backend.ledgerBatchStore.closeBatch([closeRow(attemptId, BigInt(each.cost))]);
      const sql = "update attempt set corrected_at = $2 where attempt_id = $1";
      await tamper(backend, sql, [attemptId, instantIn(month, 1)]);
      count(month, BigInt(each.cost) - RESERVE);
    }
  }

  async #hold(each: Extract<Spec, { kind: "attempt" }>): Promise<AttemptId> {
    const admitted = instantIn(each.month, each.at);
    await backend.query("select ensure_attempt_partition($1::date)", [admitted.slice(0, 10)]);
    const [first] = await backend.query("select attempt_id_at($1::timestamptz)::text as id", [
      `${admitted.slice(0, 10)}T00:00:00Z`,
    ]);
    attempts += 1n;
    const attemptId = (BigInt(String(first?.["id"])) + attempts) as AttemptId;
    const of = { orgId: this.orgId, keyId: this.keys[each.key] as KeyId, attemptId };
    const row = reserveRow(of, RESERVE, { modelId: MODELS[each.model] as ModelId });
    await backend.ledgerBatchStore.hold(member, row);
    return attemptId;
  }

  #of(month: number): Expected {
    return this.expected[month] as Expected;
  }
}

let attempts = 0n;

async function beganAtFirst(orgId: OrgId): Promise<void> {
  const began = [orgId, instantIn(0, 0)];
  await tamper(backend, "update org set created_at = $2 where org_id = $1", began);
}

function add(to: Map<string, bigint>, name: string, amount: bigint): void {
  to.set(name, (to.get(name) ?? 0n) + amount);
}

/** The time at this share of a month; 1 is its last millisecond. Never later than now. */
function instantIn(month: number, share: number): string {
  const { fromMs, toMs } = spanOfMonth(months[month] as Month);
  const endMs = Math.min(toMs, presentMs() - 1);
  return new Date(Math.min(Math.floor(fromMs + share * (endMs - fromMs)), endMs - 1)).toISOString();
}

async function documentOf(orgId: OrgId, month: Month) {
  const statement = await backend.statementStore.read(orgId, month);
  if (typeof statement === "string") throw new Error(statement);
  return statement;
}

/** The sums as the document lists them, without those that are zero. */
function listed(sums: ReadonlyMap<string, bigint>): Readonly<Record<string, string>> {
  const some = [...sums].filter(([, amount]) => amount !== 0n);
  return Object.fromEntries(some.map(([name, amount]) => [name, formatUsd(microUsd(amount))]));
}

function costs(lines: readonly { readonly cost_usd: string }[], name: "model" | "key_id") {
  const some = lines.filter(({ cost_usd: cost }) => cost !== "0.000000");
  return Object.fromEntries(
    some.map((line) => [String((line as Record<string, unknown>)[name]), line.cost_usd]),
  );
}

async function expectStatements(history: History): Promise<void> {
  const { orgId, expected } = history;
  let balance = 0n;
  let opening = formatUsd(microUsd(0n));
  for (const [at, month] of months.entries()) {
    const { document, state, number, differences } = await documentOf(orgId, month);
    const { credits, models, keys } = expected[at] as Expected;
    balance += credits - [...models.values()].reduce((sum, each) => sum + each, 0n);
    expect(document).toMatchObject({
      opening_usd: opening,
      closing_usd: formatUsd(microUsd(balance)),
      unlisted_usage_usd: "0.000000",
      lines_left_out: 0,
    });
    expect(costs(document.models, "model")).toEqual(listed(models));
    expect(costs(document.keys, "key_id")).toEqual(listed(keys));
    expect(differences).toEqual([]);
    expect([state, number === null]).toEqual(at === 3 ? ["so_far", true] : ["closed", false]);
    opening = document.closing_usd;
  }
  const { settledMicroUsd } = await backend.recordStore.balance(orgId);
  expect(settledMicroUsd).toBe(balance);
}

describe("statements of months", () => {
  test("add up to the balance month by month, whatever ends late or is corrected later", async () => {
    const history = fc.array(spec, { minLength: 1, maxLength: 14 });
    const reads = fc.array(fc.boolean(), { minLength: 4, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(history, reads, fc.boolean(), async (specs, isRead, isRolled) => {
        const [own, other] = [await History.begin(), await History.begin()];
        for (const month of months.keys()) {
          await own.live(month, specs);
          await other.live(month, specs.slice(-2));
          if (isRolled) await rollAll(backend);
          // A statement that is closed now leaves out everything that happens later.
          if (isRead[month] === true) await documentOf(own.orgId, months[month] as Month);
        }
        await expectStatements(own);
        await expectStatements(other);
      }),
      { numRuns: quickOrDeep(2, 150) },
    );
  });

  test("show a difference when the books or the stored text changed after the closing", async () => {
    const history = await History.begin();
    await history.live(0, [{ kind: "purchase", month: 0, cents: 5, refund: null }]);
    const { orgId } = history;
    const first = months[0] as Month;
    expect((await documentOf(orgId, first)).differences).toEqual([]);
    const start = [`start ${orgId}`];
    await tamper(backend, "update transfer set amount = amount + 1 where ref = $1", start);
    expect((await documentOf(orgId, first)).differences).toEqual([
      "credits: the statement says 1 × grant $1000.000000, 1 × purchase $0.050000, " +
        "the books say 1 × grant $1000.000001, 1 × purchase $0.050000",
      "closing balance: the statement says 1000.050000, the books say 1000.050001",
    ]);
    await tamper(backend, "update transfer set amount = amount - 1 where ref = $1", start);
    const change = "update org_statement set document = replace(document, 'org_', 'orh_')";
    await expect(backend.query(change)).rejects.toThrow();
    await tamper(backend, `${change} where org_id = $1`, [orgId]);
    expect((await documentOf(orgId, first)).differences).toEqual([
      "the text of the statement is not the one that was closed: its hash differs",
    ]);
  });
});

/** Closes every month that one instance finds due; returns the failures. */
async function closeAll({ statementClosing }: Pick<typeof backend, "statementClosing">) {
  const failed: unknown[] = [];
  for (let hasMore = true; hasMore;) {
    const piece = await statementClosing.closeSome();
    failed.push(...piece.failed);
    ({ hasMore } = piece);
  }
  return failed;
}

async function closedOf(orgId: OrgId): Promise<readonly unknown[]> {
  const rows = await backend.query(
    "select to_char(month, 'YYYY-MM') as month from org_statement where org_id = $1 order by month",
    [orgId],
  );
  return rows.map(({ month }) => month);
}

async function reportsOf(orgId: OrgId) {
  return await backend.query(
    `select e.facts, count(d.delivery_id)::integer as deliveries
    from alert_event e left join alert_delivery d using (event_id)
    where e.org_id = $1 and e.kind = 'statement.ready' group by e.event_id`,
    [orgId],
  );
}

async function addAddress(orgId: OrgId, kinds: readonly string[] | null): Promise<void> {
  const [destinationId, channel] = [createRecordId("dst"), "email"] as const;
  const address = `${destinationId}@example.com`;
  const wanted = { destinationId, channel, address, kinds };
  await backend.alertStore.addDestination(orgId, wanted, testOperator);
}

const used = (month: number): Spec => ({
  kind: "attempt",
  month,
  at: 0.3,
  model: 0,
  key: 0,
  cost: 320,
  endsLater: 0,
  correctedLater: null,
});

/** An organization with usage in the months `of`; one of its two addresses gets statements. */
async function lived(...of: readonly number[]): Promise<OrgId> {
  const history = await History.begin();
  for (const month of months.keys()) await history.live(month, of.map(used));
  await addAddress(history.orgId, ["statement.ready"]);
  await addAddress(history.orgId, ["balance.low"]);
  return history.orgId;
}

describe("the background closing of months", () => {
  // The index of the last month that is over; the next month is the current one.
  const LAST = 2;
  const isFreed = "update org_statement_pass set until_at = '-infinity'";
  const lastMonth = (): Month => months[LAST] as Month;

  beforeEach(async () => {
    await backend.query("delete from org_statement_pass");
  });

  test("closes the ended months of each organization with transfers, and alerts about the newest month", async () => {
    const [busy, still] = [await lived(0, LAST), await lived(0)];
    const { orgId: empty } = await orgWithKey(backend, { creditMicroUsd: 0n });
    await beganAtFirst(empty);
    // The alert about a statement is made even if a reading of it has closed the month already.
    await documentOf(busy, lastMonth());
    expect(await backend.statementClosing.oldestOpen()).toBeDefined();
    expect(await closeAll(backend)).toEqual([]);
    expect(await backend.statementClosing.oldestOpen()).toBeUndefined();
    expect(await closedOf(busy)).toEqual(months.slice(0, 3));
    expect([await closedOf(still), await closedOf(empty)]).toEqual([months.slice(0, 1), []]);
    const { document, number } = await documentOf(busy, lastMonth());
    const { closing_usd } = document;
    const facts = { month: lastMonth(), number, usage_usd: "0.000320", closing_usd };
    expect(await reportsOf(busy)).toEqual([{ facts, deliveries: 1 }]);
    const { example } = ALERT_KINDS["statement.ready"];
    expect(Object.keys(facts).toSorted()).toEqual(Object.keys(example).toSorted());
    expect([await reportsOf(still), await reportsOf(empty)]).toEqual([[], []]);
  });

  test("closes a month and alerts about it once, whichever instances and readers close it", async () => {
    const orgIds = [await lived(LAST), await lived(LAST), await lived(LAST)];
    await Promise.all([
      closeAll(backend),
      closeAll(second),
      ...orgIds.map((orgId) => documentOf(orgId, lastMonth())),
    ]);
    await backend.query(isFreed);
    await Promise.all([closeAll(second), closeAll(backend)]);
    expect(await backend.statementClosing.oldestOpen()).toBeUndefined();
    for (const orgId of orgIds) {
      expect(await closedOf(orgId)).toEqual(months.slice(0, 3));
      expect(await reportsOf(orgId)).toMatchObject([{ deliveries: 1 }]);
    }
  });

  test("leaves a month open if its alert cannot be stored, and does both once in the next pass", async () => {
    const [orgId, another] = [await lived(LAST), await lived(LAST)];
    await backend.query(`create function refuse_event() returns trigger language plpgsql as $$
      begin
        if new.org_id = '${orgId}' then raise 'the process ends here'; end if;
        return new;
      end $$`);
    await backend.query(`create trigger ends_here before insert on alert_event
      for each row execute function refuse_event()`);
    expect(await closeAll(backend)).toMatchObject([{ orgId, month: lastMonth() }]);
    expect(await closedOf(orgId)).toEqual(months.slice(0, LAST));
    expect(await reportsOf(another)).toMatchObject([{ deliveries: 1 }]);
    expect(await backend.statementClosing.oldestOpen()).toBe(lastMonth());
    await backend.query("drop function refuse_event cascade");
    expect(await closeAll(second)).toEqual([]);
    expect(await closedOf(orgId)).toEqual(months.slice(0, LAST));
    await backend.query(isFreed);
    expect(await closeAll(second)).toEqual([]);
    expect(await closedOf(orgId)).toEqual(months.slice(0, 3));
    expect(await reportsOf(orgId)).toMatchObject([{ deliveries: 1 }]);
    expect(await reportsOf(another)).toMatchObject([{ deliveries: 1 }]);
    expect(await backend.statementClosing.oldestOpen()).toBeUndefined();
  });
});
