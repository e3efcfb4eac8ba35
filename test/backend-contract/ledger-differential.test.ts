import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { quickOrDeep, seedOf } from "../support/depth.ts";
import {
  INSTANCES,
  KEYS_PER_ORG,
  LedgerFixture,
  ORGS,
  type LedgerCommand,
} from "../support/ledger-fixture.ts";
import { freshBackend, type FreshBackend } from "../support/postgres.ts";
import { withReserveBatch } from "../support/reserve-batch.ts";
import { silentLog } from "../support/silent-log.ts";

/** `PROPERTY_COMMANDS=100000` searches longer; `PROPERTY_SEED=<reported seed>` repeats a search. */
const COMMANDS = Number(process.env["PROPERTY_COMMANDS"] ?? quickOrDeep(400, 20_000));
/** A search continues until it has met every answer, but at most for this many commands. */
const COMMANDS_MAX = Math.max(20_000, 4 * COMMANDS);
/** A quick run uses a seed whose first round covers every answer. */
const SEED = seedOf("ledger differential", 20_270);
const RUNS_PER_ROUND = 5;
/** The kinds of answers of the ledger; every search must meet all of them. */
const EVERY_ANSWER = [
  "adopted",
  "already_closed",
  "annulled",
  "cap of key by the day",
  "cap of key by the month",
  "cap of key by the week",
  "cap of org by the month",
  "claimed",
  "claimed before",
  "closed",
  "corrected",
  "late and cap",
  "late and low_balance",
  "late and rejected",
  "late and unavailable",
  "low_balance",
  "owes",
  "paid",
  "paid before",
  "recovered",
  "reopened, charge",
  "reopened, void",
  "reserved",
  "several attempts",
  "taken over",
  "unavailable",
  "unknown",
];
const WORLD = { minLength: 1, maxLength: 250, size: "max" } as const;

/** The cost in pico-dollars of 10 MiB of input and 32,768 output tokens at the largest price. */
const LARGEST_COST = (10_485_760n + 32_768n) * 9_999_999_999_999n;

let backend: FreshBackend;

beforeAll(async () => {
  const fresh = await freshBackend();
  // This test compares decisions, so its commits need not be durable.
  const [{ name } = {}] = await fresh.query("select current_database() as name");
  await fresh.query(`alter database ${String(name)} set synchronous_commit = off`);
  // Purchases below a cent are as small as the other amounts here, and meet edge cases more often.
  await fresh.query("alter table purchase drop constraint purchase_is_of_whole_cents");
  const { connectionString } = fresh;
  const hasty = openPostgresBackend({ connectionString, log: silentLog });
  backend = {
    ...hasty,
    connectionString,
    ledgerBatchStore: withReserveBatch(hasty.ledgerBatchStore),
    query: (sql, values) => fresh.query(sql, values),
    close: async () => {
      await hasty.close();
      await fresh.close();
    },
  };
});
afterAll(() => backend.close());

test("the SQL functions and an in-memory ledger agree on every command", async () => {
  const seen = { commands: 0, answers: new Set<string>() };
  const agreement = fc.asyncProperty(fc.array(command, WORLD), async (list) => {
    const fixture = await LedgerFixture.make(backend);
    try {
      for (const step of list) await fixture.run(step);
      await fixture.compare();
    } finally {
      await fixture.end();
    }
    seen.commands += list.length;
    for (const answer of fixture.answers) seen.answers.add(answer);
  });
  // The rarest answer occurs about once in 500 commands.
  const isAtIt = (): boolean => {
    const hasSeenAll = EVERY_ANSWER.every((answer) => seen.answers.has(answer));
    return seen.commands < (hasSeenAll ? COMMANDS : COMMANDS_MAX);
  };
  for (let round = 0; isAtIt(); round++) {
    await fc.assert(agreement, { numRuns: RUNS_PER_ROUND, seed: SEED + round });
  }
  expect(seen.commands).toBeGreaterThanOrEqual(COMMANDS);
  expect([...seen.answers].sort()).toEqual(EVERY_ANSWER);
  for (const check of await backend.audit()) {
    expect(check, `PROPERTY_SEED=${SEED}`).toMatchObject({ violations: 0 });
  }
}, 3_600_000);

test("the most expensive possible request is held and settled to the last digit", async () => {
  const reserve = LARGEST_COST / 1_000_000n + 1n;
  const fixture = await LedgerFixture.make(backend);
  const owedPico = LARGEST_COST;
  const close = { pick: 0, costPico: LARGEST_COST, owedPico, kind: "usage" } as const;
  await fixture.run({ do: "grant", org: 0, amount: reserve, ref: 0 });
  await fixture.run({ do: "reserve", by: 0, rows: [{ org: 0, key: 0, amount: reserve }] });
  await fixture.run({ do: "close", rows: [close] });
  await fixture.compare();
  const wallet = fixture.model.wallet(fixture.orgs[0]?.id ?? "");
  // The wallet had 100 before. The grant is rounded up and the debit down, which leaves 1 more.
  expect(wallet).toEqual({ settled: 101n, held: 0n });
});

const org = fc.nat(ORGS - 1);
const by = fc.nat(INSTANCES - 1);
const pick = fc.nat(30);
const reserveSpec = fc.record({
  org,
  // The index after the last key stands for a key of another organization.
  key: fc.oneof({ weight: 9, arbitrary: fc.nat(KEYS_PER_ORG - 1) }, only(KEYS_PER_ORG)),
  amount: fc.bigInt(0n, 40n),
});
const exactAmount = fc.oneof(
  { weight: 20, arbitrary: fc.bigInt(0n, 60_000_000n) },
  { weight: 1, arbitrary: fc.bigInt(0n, LARGEST_COST) },
);
const closeSpec = fc.record({
  pick,
  costPico: exactAmount,
  // The debt to the provider leaves a margin, a loss, or neither.
  owedPico: exactAmount,
  kind: fc.constantFrom("usage" as const, "usage" as const, "void" as const),
});
const rollSpec = fc
  .tuple(reserveSpec, fc.option(closeSpec))
  .map(([reserve, close]) => ({ ...reserve, close }));
const cap = fc.option(fc.bigInt(1n, 120n));
const ref = fc.nat(60);

const command: fc.Arbitrary<LedgerCommand> = fc.oneof(
  weighing(12, { do: only("reserve"), by, rows: some(reserveSpec) }),
  weighing(10, { do: only("close"), rows: some(closeSpec) }),
  weighing(6, { do: only("roll"), by, rows: some(rollSpec) }),
  weighing(3, { do: only("annul"), by, pick: fc.option(pick, { freq: 2 }), late: reserveSpec }),
  weighing(6, { do: only("grant"), org, amount: fc.bigInt(1n, 100n), ref }),
  weighing(3, { do: only("buy"), org, amount: fc.bigInt(1n, 100n) }),
  weighing(6, { do: only("pay"), pick: fc.nat(2) }),
  weighing(9, {
    do: only("claim"),
    pick: fc.nat(4),
    claim: fc.nat(2),
    kind: fc.constantFrom("refund" as const, "dispute" as const),
    amount: fc.bigInt(1n, 130n),
    isReversed: fc.boolean(),
  }),
  weighing(3, { do: only("cap"), org, key: fc.nat(KEYS_PER_ORG), cap }),
  weighing(4, {
    do: only("period cap"),
    org,
    key: fc.nat(KEYS_PER_ORG - 1),
    period: fc.constantFrom("day" as const, "week" as const),
    cap,
  }),
  weighing(1, { do: only("month") }),
  weighing(1, { do: only("week") }),
  weighing(4, { do: only("attach job"), pick: fc.nat(4) }),
  weighing(3, { do: only("adopt"), by, limit: fc.integer({ min: 1, max: 4 }) }),
  weighing(5, { do: only("join"), instance: by }),
  weighing(2, { do: only("take over"), instance: by }),
  weighing(3, { do: only("recover") }),
  weighing(1, { do: only("reopen"), open: fc.constantFrom("void" as const, "charge" as const) }),
);

function only<T extends string | number>(name: T): fc.Arbitrary<T> {
  return fc.constant(name);
}

function weighing<T>(
  weight: number,
  members: { [K in keyof T]: fc.Arbitrary<T[K]> },
): { readonly weight: number; readonly arbitrary: fc.Arbitrary<T> } {
  return { weight, arbitrary: fc.record(members) };
}

function some<T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.array(one, { minLength: 1, maxLength: 12, size: "max" });
}
