import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { BooksModel } from "../../../test/support/books-model.ts";
import { runs } from "../../../test/support/depth.ts";
import { assert } from "../../kernel/core/assert.ts";
import type { AttemptId, KeyId, OrgId } from "../../kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../kernel/core/money.ts";
import type { ModelReserveOutcome } from "../../ledger/ledger-model.ts";
import type { CloseRow, Ledger, ReserveOutcome, ReserveRow } from "../../ledger/ledger-store.ts";
import { tokenCount } from "../limits/limit-store.ts";
import { ClaimedScopes } from "./claim.ts";
import { CallHold } from "./hold.ts";
import { Shortfalls } from "./refusal-memory.ts";

const RUNS = 400;
const STEPS_MAX = 80;
const REMEMBERED_MS = 250;
/** Short, so that refusals are remembered when one ends. */
const MONTH_MS = 900;
const KEYS = [
  { keyId: "key_a", orgId: "org_a" },
  { keyId: "key_b", orgId: "org_a" },
  { keyId: "key_c", orgId: "org_b" },
] as const;
const ORGS = ["org_a", "org_b"] as const;
const START_CREDIT = 5n;
const AMOUNT_MAX = 7n;
const PICO_PER_MICRO = 1_000_000n;

type Org = (typeof ORGS)[number];
interface Spend {
  readonly key: (typeof KEYS)[number];
  readonly amount: bigint;
}
/**
 * `pick` selects an open or pending call; `isQuick` means that nothing happens before its answer.
 */
type Step =
  | ({ readonly do: "call"; readonly isQuick: boolean } & Spend)
  | { readonly do: "fail over"; readonly pick: number; readonly amount: bigint }
  | { readonly do: "end"; readonly pick: number; readonly cost: bigint }
  | { readonly do: "ledger"; readonly pick: number }
  | { readonly do: "credit"; readonly org: Org; readonly amount: bigint; readonly notice: Notice }
  | {
      readonly do: "org cap";
      readonly org: Org;
      readonly cap: bigint | null;
      readonly notice: Notice;
    }
  | {
      readonly do: "key cap";
      readonly key: (typeof KEYS)[number];
      readonly cap: bigint | null;
      readonly notice: Notice;
    }
  | { readonly do: "notices are received again" }
  | { readonly do: "pass"; readonly ms: number };
/** `at once`: the change was made by this process. `none`: the notice is lost. */
type Notice = "at once" | "later" | "none";

/** The answers that the ledger would have given to every reserve, as long as nothing changed. */
interface Version {
  untilMs: number;
  readonly answers: ReadonlyMap<string, ReserveOutcome>;
}

/** Something on its way: `commit` changes the books, `arrive` makes it known here. */
interface UnderWay {
  commit: (() => void) | undefined;
  readonly arrive: () => void;
}

interface OpenCall {
  readonly hold: CallHold;
  row: ReserveRow;
}

/** One process with the calls of its customers, on a ledger that is the model. */
class ProcessOnModel {
  /** The number of refusals without the ledger. */
  remembered = 0;
  readonly #model = new BooksModel();
  readonly #versions: Version[] = [];
  readonly #askedAtMs = new Map<ReserveOutcome, number>();
  /** From which version on an answer may be of, by organization. */
  readonly #countedFrom = new Map<string, number>();
  /** Organizations that have got more money, or may have, which does not count here yet. */
  readonly #behind = new Set<string>();
  readonly #underWay: UnderWay[] = [];
  readonly #open: OpenCall[] = [];
  readonly #shortfalls: Shortfalls;
  #nowMs = 0;
  #lastAttempt = 0n;

  constructor() {
    for (const org of ORGS) {
      const keys = KEYS.filter(({ orgId }) => orgId === org).map(({ keyId }) => keyId);
      this.#model.addOrg(org, keys);
      this.#model.credit("grants", org, START_CREDIT);
      this.#countedFrom.set(org, 0);
    }
    this.#shortfalls = new Shortfalls({ nowMs: () => this.#nowMs, monotonicMs: () => this.#nowMs });
    this.#changed();
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case "call":
        return await this.#call(step);
      case "fail over":
        return this.#failOver(step);
      case "end":
        return this.#end(step);
      case "ledger":
        return await this.#advance(picked(this.#underWay, step.pick));
      case "credit":
        return this.#change(step, () => this.#model.credit("grants", step.org, step.amount));
      case "org cap":
        return this.#change(step, () => this.#setCap(step.org, undefined, step.cap));
      case "key cap": {
        const { orgId: org, keyId } = step.key;
        return this.#change({ ...step, org }, () => this.#setCap(org, keyId, step.cap));
      }
      case "notices are received again":
        return this.#forget(undefined);
      case "pass":
        return this.#pass(step.ms);
    }
  }

  async #call({ key, amount, isQuick }: Spend & { readonly isQuick: boolean }): Promise<void> {
    const row = this.#row(key, amount);
    const before = this.#underWay.length;
    const asked = (): UnderWay | undefined => this.#underWay[before];
    const hold = new CallHold(this.#ports(), new ClaimedScopes(NO_LIMITS));
    const answered = hold.reserve(row, undefined).then((outcome) => {
      if (outcome.kind === "reserved") this.#open.push({ hold, row });
      else hold.undo();
    });
    if (isQuick) {
      await this.#advance(asked());
      await this.#advance(asked());
      await answered;
    }
  }

  #failOver({ pick, amount }: { readonly pick: number; readonly amount: bigint }): void {
    const call = taken(this.#open, pick);
    if (call === undefined) return;
    const next = this.#row(call.row, amount);
    void call.hold.roll(closing(call.row, 0n), next, undefined).then((outcome) => {
      this.#counted(next.orgId);
      if (outcome.kind === "reserved") this.#open.push({ hold: call.hold, row: next });
      else this.#released(call);
    });
  }

  #end({ pick, cost }: { readonly pick: number; readonly cost: bigint }): void {
    const call = taken(this.#open, pick);
    if (call === undefined) return;
    void call.hold.close(closing(call.row, cost)).then(() => this.#released(call));
  }

  #released({ hold, row }: OpenCall): void {
    hold.release(tokenCount(0, 0));
    this.#counted(row.orgId);
  }

  #change({ org, notice }: { readonly org: Org; readonly notice: Notice }, run: () => void): void {
    run();
    this.#behind.add(org);
    this.#changed();
    if (notice === "at once") this.#forget(org);
    else if (notice === "later") {
      this.#underWay.push({ commit: undefined, arrive: () => this.#forget(org) });
    }
  }

  #setCap(org: Org, keyId: string | undefined, cap: bigint | null): void {
    const spender = this.#model.orgs.get(org);
    const capped = keyId === undefined ? spender : spender?.keys.get(keyId);
    if (capped !== undefined) capped.cap = cap;
  }

  /** As the program does with a notice. */
  #forget(org: Org | undefined): void {
    this.#shortfalls.forget(org as OrgId | undefined);
    for (const each of ORGS) if (org === undefined || org === each) this.#counted(each);
  }

  /** Later changes of this organization count from now on. */
  #counted(org: string): void {
    this.#countedFrom.set(org, this.#versions.length - 1);
    this.#behind.delete(org);
  }

  #pass(ms: number): void {
    this.#nowMs += ms;
    const month = Math.floor(this.#nowMs / MONTH_MS);
    if (month === this.#model.month) return;
    this.#model.month = month;
    this.#changed();
  }

  /** First the books change, then their answer arrives. */
  async #advance(one: UnderWay | undefined): Promise<void> {
    if (one === undefined) return;
    const { commit } = one;
    one.commit = undefined;
    if (commit !== undefined) return commit();
    const at = this.#underWay.indexOf(one);
    if (at === -1) return;
    this.#underWay.splice(at, 1);
    one.arrive();
    await new Promise(setImmediate);
  }

  #ports(): ConstructorParameters<typeof CallHold>[0] {
    const clock = { nowMs: () => this.#nowMs, monotonicMs: () => this.#nowMs };
    const ledger: Pick<Ledger, "reserve" | "close" | "roll"> = {
      reserve: (row) => {
        const askedAtMs = this.#nowMs;
        return this.#later(() => {
          const outcome = this.#reserve(row);
          this.#askedAtMs.set(outcome, askedAtMs);
          return outcome;
        });
      },
      close: (row) => this.#later(() => this.#close(row)),
      roll: (row, next) =>
        this.#later(() => {
          this.#close(row);
          return this.#reserve(next);
        }),
    };
    const find = (row: ReserveRow): ReturnType<Shortfalls["find"]> => {
      const found = this.#shortfalls.find(row);
      if (found !== undefined) this.#check(row, found);
      return found;
    };
    const shortfalls = {
      find,
      asking: (org: OrgId) => this.#shortfalls.asking(org),
      note: (...noted: Parameters<Shortfalls["note"]>) => this.#shortfalls.note(...noted),
      forget: (org: OrgId | undefined) => this.#shortfalls.forget(org),
    };
    return { ledger: ledger as Ledger, shortfalls, clock };
  }

  #later<T>(commit: () => T): Promise<T> {
    return new Promise((resolve) => {
      let arrive = (): void => undefined;
      const run = (): void => {
        const answer = commit();
        this.#changed();
        arrive = () => resolve(answer);
      };
      this.#underWay.push({ commit: run, arrive: () => arrive() });
    });
  }

  #reserve(row: ReserveRow): ReserveOutcome {
    return this.#outcome(this.#model.reserve(modelRow(row)));
  }

  #close({ attemptId, costPicoUsd }: CloseRow): { readonly kind: "pending" } {
    const org = this.#model.holds.get(attemptId)?.org;
    this.#model.close({ attempt: attemptId, costPico: costPicoUsd, kind: "usage" });
    if (org !== undefined) this.#behind.add(org);
    return { kind: "pending" };
  }

  #changed(): void {
    const last = this.#versions.at(-1);
    if (last !== undefined) last.untilMs = this.#nowMs;
    const answers = new Map<string, ReserveOutcome>();
    for (const key of KEYS) {
      for (let amount = 1n; amount <= AMOUNT_MAX; amount += 1n) {
        const row = { ...key, reserveMicroUsd: amount, attemptId: 0n };
        answers.set(nameOf(row), this.#outcome(this.#model.admit(modelRow(row))));
      }
    }
    this.#versions.push({ untilMs: Infinity, answers });
  }

  /** A remembered refusal must be one that the ledger gave and would still give. */
  #check(row: ReserveRow, found: ReserveOutcome): void {
    this.remembered += 1;
    const askedAtMs = this.#askedAtMs.get(found) ?? -Infinity;
    assert(this.#nowMs - askedAtMs < REMEMBERED_MS, "the ledger was asked in the last 250 ms");
    const possible = this.#versions
      .slice(this.#countedFrom.get(row.orgId))
      .filter(({ untilMs }) => untilMs > this.#nowMs - REMEMBERED_MS)
      .map(({ answers }) => answers.get(nameOf(row)));
    assert(
      possible.some((answer) => isDeepStrictEqual(answer, found)),
      "the ledger gave this answer after the last change that counts",
    );
    const isRefused = this.#behind.has(row.orgId) || possible.at(-1)?.kind !== "reserved";
    assert(isRefused, "the ledger would refuse it now");
    assert(found.kind !== "cap" || found.resetAtMs > this.#nowMs, "a cap is of this month");
  }

  #row({ orgId, keyId }: { orgId: string; keyId: string }, amount: bigint): ReserveRow {
    this.#lastAttempt += 1n;
    const ids = { orgId: orgId as OrgId, keyId: keyId as KeyId };
    const attemptId = this.#lastAttempt as AttemptId;
    return { ...ids, attemptId, reserveMicroUsd: microUsd(amount) } as ReserveRow;
  }

  #outcome(answer: ModelReserveOutcome): ReserveOutcome {
    if (answer.kind === "unavailable") return { kind: "unavailable", reason: "unknown key" };
    if (answer.kind === "reserved") return answer;
    if (answer.kind === "low_balance") {
      const { kind, available, held } = answer;
      return { kind, availableMicroUsd: microUsd(available), heldMicroUsd: microUsd(held) };
    }
    const { kind, scope, period, cap, settled, inFlight } = answer;
    return {
      kind,
      scope,
      period,
      capMicroUsd: microUsd(cap),
      settledMicroUsd: microUsd(settled),
      inFlightMicroUsd: microUsd(inFlight),
      resetAtMs: (this.#model.month + 1) * MONTH_MS,
    };
  }
}

const NO_LIMITS = { depart: () => undefined, release: () => undefined, undo: () => undefined };

type Reserved = Record<"orgId" | "keyId", string> & Record<"attemptId" | "reserveMicroUsd", bigint>;

function modelRow({ attemptId, orgId, keyId, reserveMicroUsd }: Reserved) {
  const ids = { attempt: attemptId, org: orgId, key: keyId };
  return { ...ids, provider: "acme", amount: reserveMicroUsd };
}

function nameOf({ keyId, reserveMicroUsd }: Pick<Reserved, "keyId" | "reserveMicroUsd">): string {
  return `${reserveMicroUsd} of ${keyId}`;
}

function closing({ attemptId }: ReserveRow, cost: bigint): CloseRow {
  return { attemptId, costPicoUsd: picoUsd(cost * PICO_PER_MICRO) } as CloseRow;
}

function picked<T>(from: readonly T[], pick: number): T | undefined {
  return from[pick % Math.max(from.length, 1)];
}

function taken<T>(from: T[], pick: number): T | undefined {
  return from.splice(pick % Math.max(from.length, 1), 1)[0];
}

const KEY = fc.constantFrom(...KEYS);
const ORG = fc.constantFrom(...ORGS);
const AMOUNT = fc.bigInt(1n, AMOUNT_MAX);
const CAP = fc.option(fc.bigInt(0n, 2n * AMOUNT_MAX));
const NOTICE = fc.constantFrom<Notice>("at once", "at once", "later", "none");
const PICK = fc.nat(7);

const STEP: fc.Arbitrary<Step> = fc.oneof(
  weighing(16, { do: only("call"), key: KEY, amount: AMOUNT, isQuick: only(true) }),
  weighing(4, { do: only("call"), key: KEY, amount: AMOUNT, isQuick: only(false) }),
  weighing(8, { do: only("ledger"), pick: PICK }),
  weighing(3, { do: only("end"), pick: PICK, cost: fc.bigInt(0n, AMOUNT_MAX) }),
  weighing(2, { do: only("fail over"), pick: PICK, amount: AMOUNT }),
  weighing(1, { do: only("credit"), org: ORG, amount: AMOUNT, notice: NOTICE }),
  weighing(1, { do: only("org cap"), org: ORG, cap: CAP, notice: NOTICE }),
  weighing(1, { do: only("key cap"), key: KEY, cap: CAP, notice: NOTICE }),
  weighing(1, { do: only("notices are received again") }),
  weighing(3, { do: only("pass"), ms: fc.nat(REMEMBERED_MS + 1) }),
);

function only<const T>(value: T): fc.Arbitrary<T> {
  return fc.constant(value);
}

function weighing<T>(
  weight: number,
  fields: { [F in keyof T]: fc.Arbitrary<T[F]> },
): { readonly weight: number; readonly arbitrary: fc.Arbitrary<T> } {
  return { weight, arbitrary: fc.record(fields) };
}

test("a remembered refusal is of the last 250 ms and of after every change here", async () => {
  let remembered = 0;
  const history = fc.array(STEP, { maxLength: STEPS_MAX, size: "max" });
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const process = new ProcessOnModel();
      for (const each of steps) await process.run(each);
      remembered += process.remembered;
    }),
    { numRuns: runs(RUNS) },
  );
  // Otherwise nothing was compared.
  expect(remembered).toBeGreaterThan(runs(RUNS));
});
