import * as fc from "fast-check";
import { expect, test } from "vitest";

import { BooksModel } from "../../../test/support/books-model.ts";
import { runs } from "../../../test/support/depth.ts";
import { unreachable } from "../../kernel/core/assert.ts";
import type { CapPeriod } from "../../kernel/core/cap-period.ts";
import type { AuditCheck } from "./ledger-audit.ts";
import { type EndEntry, type JournalEntry, JournalReplay, type SpenderName } from "./replay.ts";

const ORG = "org";
const KEYS = ["first", "second"] as const;

type Step =
  | { readonly do: "grant"; readonly amount: bigint }
  | {
      readonly do: "cap";
      readonly key: 0 | 1 | undefined;
      readonly period: CapPeriod;
      readonly cap: bigint | null;
    }
  | { readonly do: "day" }
  | { readonly do: "reserve"; readonly key: 0 | 1; readonly amount: bigint }
  | { readonly do: "close"; readonly pick: number; readonly costPico: bigint | null }
  | { readonly do: "crash" }
  | { readonly do: "month" };

const amount = fc.bigInt({ min: 0n, max: 60n });
const key = fc.constantFrom(0 as const, 1 as const);
const costPico = fc.option(fc.bigInt({ min: 0n, max: 90_000_000n }));
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("grant" as const), amount: fc.bigInt({ min: 1n, max: 200n }) }),
    fc.record({
      do: fc.constant("cap" as const),
      key: fc.option(key, { nil: undefined }),
      period: fc.constantFrom("month" as const, "month" as const, "week" as const, "day" as const),
      cap: fc.option(amount),
    }),
    fc.record({ do: fc.constant("reserve" as const), key, amount }),
    fc.record({ do: fc.constant("reserve" as const), key, amount }),
    fc.record({ do: fc.constant("close" as const), pick: fc.nat(8), costPico }),
    fc.constant({ do: "crash" as const }),
    fc.constant({ do: "month" as const }),
    fc.constant({ do: "day" as const }),
  ),
  { maxLength: 80, size: "max" },
);

/** A ledger model that records its steps as the journal of a database does. */
class Writer {
  readonly model = new BooksModel();
  readonly journal: JournalEntry[] = [];

  constructor() {
    this.model.addOrg(ORG, KEYS);
  }

  run(step: Step): void {
    const { model, journal } = this;
    switch (step.do) {
      case "grant":
        model.grant(ORG, step.amount, `grant ${journal.length}`);
        journal.push({
          kind: "transfer",
          debitAccount: "grants",
          creditAccount: `wallet:${ORG}`,
          amount: step.amount,
        });
        return;
      case "cap":
        return this.#cap(step);
      case "reserve":
        return this.#reserve(step.key, step.amount);
      case "close":
        return this.#close(step.pick, step.costPico);
      case "crash": {
        const open = [...model.holds.keys()];
        model.crash();
        for (const attempt of open) this.#ended("closed", attempt, null);
        return;
      }
      case "day":
        model.day += 1;
        return;
      case "month":
        model.month += 1;
    }
  }

  get #attempts(): number {
    return this.model.lines().length;
  }

  #cap({ key: keyAt, period, cap }: Extract<Step, { do: "cap" }>): void {
    const org = this.model.orgs.get(ORG);
    const spender = keyAt === undefined ? org : org?.keys.get(KEYS[keyAt]);
    if (spender !== undefined) spender.caps[period] = cap;
    const of: SpenderName =
      keyAt === undefined
        ? { scope: "org", id: ORG, org: ORG }
        : { scope: "key", id: KEYS[keyAt], org: ORG };
    this.journal.push({ kind: "cap", of, period, cap });
  }

  #reserve(keyAt: 0 | 1, reserve: bigint): void {
    const { month, day } = this.model;
    const position = BigInt(this.journal.length + 1);
    const attempt = BigInt(this.#attempts + 1);
    const row = { attempt, org: ORG, key: KEYS[keyAt], provider: "acme", amount: reserve };
    if (this.model.reserve(row).kind !== "reserved") return;
    this.journal.push({ kind: "open", position, month, day, ...row });
  }

  #close(pick: number, cost: bigint | null): void {
    const attempt = BigInt(this.#attempts - pick);
    const kind = cost === null ? "void" : "usage";
    const owedPico = owedOf(attempt, cost);
    const owed = owedPico === undefined ? {} : { owedPico };
    const outcome = this.model.close({ attempt, costPico: cost ?? 0n, kind, ...owed });
    if (outcome.kind === "corrected") {
      const at = this.journal.findIndex((one) => one.kind === "closed" && one.attempt === attempt);
      this.journal[at] = { ...(this.journal[at] as EndEntry), isCorrected: true };
    }
    if (outcome.kind === "closed" || outcome.kind === "corrected") {
      this.#ended(outcome.kind, attempt, cost);
    }
  }

  #ended(kind: EndEntry["kind"], attempt: bigint, cost: bigint | null): void {
    const book = this.model.attempts.get(attempt);
    if (book === undefined) throw new Error(`no attempt ${attempt}`);
    const { state, debit, overrun } = book;
    const isCorrected = kind === "corrected";
    const owedPico = owedOf(attempt, cost) ?? null;
    this.journal.push({
      kind,
      attempt,
      state,
      isCorrected,
      costPico: cost,
      owedPico,
      debit,
      overrun,
    });
  }
}

/** Every second attempt has purchase prices below or above its sale prices. */
function owedOf(attempt: bigint, cost: bigint | null): bigint | undefined {
  if (cost === null || attempt % 2n === 0n) return undefined;
  return attempt % 3n === 0n ? 2n * cost + 1n : cost / 2n;
}

/** Replays the journal, compares the result with the model's books, returns the failed checks. */
function replayed(journal: readonly JournalEntry[], model: BooksModel): readonly AuditCheck[] {
  const replay = new JournalReplay(0n);
  for (const entry of journal) replay.take(entry);
  for (const [id, account] of model.accounts) replay.compareAccount(id, account);
  for (const [org, { keys, ...spender }] of model.orgs) {
    const named = [
      [{ scope: "org", id: org, org }, spender] as const,
      ...[...keys].map(([id, each]) => [{ scope: "key", id, org }, each] as const),
    ];
    for (const [of, { months, caps }] of named) {
      replay.compareCap(of, "month", caps.month);
      replay.compareCap(of, "week", caps.week);
      replay.compareCap(of, "day", caps.day);
      for (const [month, spend] of months) replay.compareSpend(of, month, spend);
    }
  }
  return replay.finish().filter(({ violations }) => violations > 0);
}

test("a replayed journal gives the books that were written with it", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const writer = new Writer();
      for (const step of list) writer.run(step);
      expect(replayed(writer.journal, writer.model)).toEqual([]);
    }),
    { numRuns: runs(300) },
  );
});

test("a replay reports a journal that has lost any one line", () => {
  fc.assert(
    fc.property(steps, fc.nat(), (list, pick) => {
      const writer = new Writer();
      for (const step of list) writer.run(step);
      const moving = writer.journal.filter((one) => !isWithoutEffect(one, writer.model));
      const lost = moving[pick % Math.max(moving.length, 1)];
      fc.pre(lost !== undefined);
      const rest = writer.journal.filter((one) => one !== lost);
      expect(replayed(rest, writer.model)).not.toEqual([]);
    }),
    { numRuns: runs(300) },
  );
});

/** True if losing this line cannot be noticed: it moved nothing, or a later line replaces it. */
function isWithoutEffect(entry: JournalEntry, model: BooksModel): boolean {
  switch (entry.kind) {
    case "cap":
      return true;
    case "open":
      return entry.amount === 0n && model.holds.has(entry.attempt);
    case "closed":
    case "corrected":
      return model.attempts.get(entry.attempt)?.amount === 0n;
    case "account":
    case "held":
    case "crashed":
    case "retired":
    case "transfer":
      return false;
    default:
      return unreachable(entry);
  }
}

test("a replay reports every row of the books that the journal lacks", () => {
  const replay = new JournalReplay(0n);
  const of = { scope: "key", id: "key", org: "org" } as const;
  replay.compareAccount("wallet:org", { debits: 1n, credits: 2n, reserved: 0n });
  replay.compareSpend(of, 2026 * 12 + 10, { settled: 1n, reserved: 0n });
  replay.compareCap(of, "month", 5n);
  replay.compareCap(of, "day", 6n);
  const broken = replay.finish().filter(({ violations }) => violations > 0);
  expect(Object.fromEntries(broken.map(({ id, examples }) => [id, examples]))).toEqual({
    I8: [
      { row: "cap of key key", found: "5", expected: "none" },
      { row: "cap by the day of key key", found: "6", expected: "none" },
    ],
    "replay-accounts": [
      {
        row: "account wallet:org",
        found: "debits 1, credits 2, reserved 0",
        expected: "debits 0, credits 0, reserved 0",
      },
    ],
    "replay-spend": [
      {
        row: "spend of key key in 2026-11",
        found: "settled 1, reserved 0",
        expected: "settled 0, reserved 0",
      },
    ],
  });
});

test("a replay reports an account that the journal has and the books lack", () => {
  const replay = new JournalReplay(0n);
  const of = { debitAccount: "grants", creditAccount: "wallet:org" } as const;
  replay.take({ kind: "transfer", ...of, amount: 7n });
  const broken = replay.finish().filter(({ violations }) => violations > 0);
  expect(broken.map(({ id, examples }) => [id, examples])).toEqual([
    [
      "replay-accounts",
      [
        {
          row: "account grants",
          found: "debits 0, credits 0, reserved 0",
          expected: "debits 7, credits 0, reserved 0",
        },
        {
          row: "account wallet:org",
          found: "debits 0, credits 0, reserved 0",
          expected: "debits 0, credits 7, reserved 0",
        },
      ],
    ],
  ]);
});
