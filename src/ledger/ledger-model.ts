import { CAP_PERIODS, type CapPeriod, type Caps, mondayOf } from "../kernel/index.ts";

// The ledger as a model in memory, without batches and locks: an audit replays the journal through
// it, and tests compare the SQL functions with it. Amounts are in micro-dollars, exact costs in
// pico-dollars. The caller decides when a wallet pays what its organization owes.
export interface ModelReserve {
  readonly attempt: bigint;
  readonly org: string;
  readonly key: string;
  /** The provider whose accounts change when the attempt ends. */
  readonly provider: string;
  readonly amount: bigint;
  /**
   * Absent for an attempt without an instance. Its reserve is not refused for an old epoch, and no
   * instance recovers it: only a closing of kind `crash` charges it at its reserve.
   */
  readonly member?: ModelMember;
}

export interface ModelMember {
  readonly instance: string;
  readonly epoch: bigint;
}

export type ModelReserveOutcome =
  | { readonly kind: "reserved" }
  | { readonly kind: "low_balance"; readonly available: bigint; readonly held: bigint }
  | {
      readonly kind: "cap";
      readonly scope: "org" | "key";
      readonly period: CapPeriod;
      readonly cap: bigint;
      readonly settled: bigint;
      readonly inFlight: bigint;
    }
  | { readonly kind: "unavailable" };

export interface ModelCloseOutcome {
  readonly kind: "closed" | "already_closed" | "unknown" | "corrected";
  readonly debit: bigint;
  readonly overrun: bigint;
}

export interface ModelHold extends ModelReserve {
  readonly month: number;
  readonly day: number;
  member?: ModelMember;
  /** True if the attempt has a provider job, so that recovery leaves it open for adoption. */
  isResumable: boolean;
}

/** A finished attempt. Only a late correction replaces it. */
export interface ModelAttempt extends Readonly<ModelHold>, ModelCharge {
  readonly state: "settled" | "void" | "unknown_after_crash";
  readonly isCorrected: boolean;
}

export class LedgerModel {
  /** Accounts by id: `wallet:<org>`, `receivable:<org>`, `grants`, `accrual:<provider>`, … */
  readonly accounts: Map<string, ModelAccount> = new Map();
  readonly orgs: Map<string, ModelOrg> = new Map();
  readonly holds: Map<bigint, ModelHold> = new Map();
  readonly attempts: Map<bigint, ModelAttempt> = new Map();
  /** The current UTC month, as a count of months. The caller chooses where the count begins. */
  month = 0;
  /** The current UTC day, in days since 1970. */
  day = 0;
  /** The order in which caps are checked. The database begins with the cap that resets last. */
  capPeriods: readonly CapPeriod[] = CAP_PERIODS;

  addOrg(org: string, keys: readonly string[] = []): ModelOrg {
    const fresh = { ...createSpender(), keys: new Map(keys.map((key) => [key, createSpender()])) };
    this.orgs.set(org, fresh);
    this.account(`wallet:${org}`);
    return fresh;
  }

  addKey(org: string, key: string): ModelSpender {
    const fresh = createSpender();
    this.orgs.get(org)?.keys.set(key, fresh);
    return fresh;
  }

  /** Returns the answer that a reserve would get. Changes nothing. */
  admit(row: ModelReserve): ModelReserveOutcome {
    const org = this.orgs.get(row.org);
    const key = org?.keys.get(row.key);
    if (org === undefined || key === undefined) return { kind: "unavailable" };
    for (const [scope, spender] of [["key", key] as const, ["org", org] as const]) {
      const { caps, inFlight } = spender;
      const spent = settledNow(spender, this);
      for (const period of this.capPeriods) {
        const cap = caps[period];
        const settled = spent[period];
        if (cap === null || settled + inFlight + row.amount <= cap) continue;
        return { kind: "cap", scope, period, cap, settled, inFlight };
      }
    }
    const { settled, held } = this.wallet(row.org);
    const available = settled - held;
    return row.amount > available ? { kind: "low_balance", available, held } : RESERVED;
  }

  /** Adds a hold without checking balance and caps. */
  hold(row: ModelReserve): void {
    this.holds.set(row.attempt, createHold(row, this));
    this.account(`wallet:${row.org}`).reserved += row.amount;
    for (const spender of this.#spenders(row)) {
      spender.inFlight += row.amount;
      openMonth(spender, this.month).reserved += row.amount;
    }
  }

  /** Adds an attempt charged at its reserve after a crash, whose transfers are already booked. */
  keepCrashed(row: ModelReserve): void {
    const charge = { ...NOTHING, debit: row.amount };
    this.attempts.set(row.attempt, endHold(createHold(row, this), "unknown_after_crash", charge));
  }

  /** The first closing wins, but one later closing may correct a charge made after a crash. */
  close(row: ModelClose): ModelCloseOutcome {
    const hold = this.holds.get(row.attempt);
    if (hold !== undefined) return { kind: "closed", ...this.#end(hold, row) };
    const attempt = this.attempts.get(row.attempt);
    if (attempt === undefined) return { kind: "unknown", debit: 0n, overrun: 0n };
    const isCorrectable = attempt.state === "unknown_after_crash" && !attempt.isCorrected;
    if (isCorrectable && row.kind !== "crash") {
      return { kind: "corrected", ...this.#correct(attempt, row) };
    }
    return { kind: "already_closed", debit: attempt.debit, overrun: attempt.overrun };
  }

  move(debitAccount: string, creditAccount: string, amount: bigint): void {
    if (amount === 0n) return;
    this.account(debitAccount).debits += amount;
    this.account(creditAccount).credits += amount;
  }

  /** `settled` is the balance minus the debt. If it is negative, the wallet has no free credit. */
  wallet(org: string): { readonly settled: bigint; readonly held: bigint } {
    const { credits, debits, reserved } = this.account(`wallet:${org}`);
    return { settled: credits - debits - this.owed(org), held: reserved };
  }

  /** The debt of an organization: credit that was taken back and not yet paid. */
  owed(org: string): bigint {
    const receivable = this.accounts.get(`receivable:${org}`);
    return receivable === undefined ? 0n : receivable.debits - receivable.credits;
  }

  account(id: string): ModelAccount {
    const known = this.accounts.get(id);
    if (known !== undefined) return known;
    const fresh = { debits: 0n, credits: 0n, reserved: 0n };
    this.accounts.set(id, fresh);
    return fresh;
  }

  #end(hold: ModelHold, row: ModelClose): Charge {
    const { attempt, provider, amount } = hold;
    const wallet = `wallet:${hold.org}`;
    this.holds.delete(attempt);
    this.account(wallet).reserved -= amount;
    for (const spender of this.#spenders(hold)) {
      spender.inFlight -= amount;
      openMonth(spender, hold.month).reserved -= amount;
    }
    const isCrash = row.kind === "crash";
    const charge = isCrash ? { ...NOTHING, debit: amount } : computeCharge(amount, row);
    const state = isCrash ? "unknown_after_crash" : row.kind === "usage" ? "settled" : "void";
    this.attempts.set(attempt, endHold(hold, state, charge));
    this.move(wallet, `${isCrash ? "unknown" : "accrual"}:${provider}`, charge.debit);
    this.move("overrun", `accrual:${provider}`, charge.overrun);
    this.#takeMargin(provider, charge.margin);
    this.#spend(hold, charge.debit);
    return { debit: charge.debit, overrun: charge.overrun };
  }

  /** Charges the observed cost of an attempt charged at its reserve, and refunds the difference. */
  #correct(attempt: ModelAttempt, row: ModelClose): Charge {
    const { provider, amount } = attempt;
    const charge = computeCharge(amount, row);
    const { debit, overrun } = charge;
    const corrected = { ...attempt, isCorrected: true, ...charge };
    this.attempts.set(attempt.attempt, corrected);
    this.move(`unknown:${provider}`, `wallet:${attempt.org}`, amount - debit);
    this.move(`unknown:${provider}`, `accrual:${provider}`, debit);
    this.move("overrun", `accrual:${provider}`, overrun);
    this.#takeMargin(provider, charge.margin);
    this.#spend(attempt, debit - amount);
    return { debit, overrun };
  }

  /** Moves the margin: what remains in `accrual:` is the debt to the provider, rounded down. */
  #takeMargin(provider: string, margin: bigint): void {
    const [accrual, own] = [`accrual:${provider}`, `margin:${provider}`];
    if (margin < 0n) this.move(own, accrual, -margin);
    else this.move(accrual, own, margin);
  }

  #spend({ month, day, ...of }: Readonly<ModelHold>, amount: bigint): void {
    for (const spender of this.#spenders(of)) {
      openMonth(spender, month).settled += amount;
      spender.days.set(day, (spender.days.get(day) ?? 0n) + amount);
    }
  }

  #spenders(of: { readonly org: string; readonly key: string }): readonly ModelSpender[] {
    const org = this.orgs.get(of.org);
    const key = org?.keys.get(of.key);
    return org === undefined || key === undefined ? [] : [org, key];
  }
}

const RESERVED: ModelReserveOutcome = { kind: "reserved" };

type Charge = Pick<ModelCharge, "debit" | "overrun">;

export function createHold(
  row: ModelReserve,
  { month, day }: { readonly month: number; readonly day: number },
): ModelHold {
  const { attempt, org, key, provider, amount, member } = row;
  const of = member === undefined ? {} : { member };
  return { attempt, org, key, provider, amount, ...of, month, day, isResumable: false };
}

export function endHold(
  hold: ModelHold,
  state: ModelAttempt["state"],
  charge: ModelCharge,
): ModelAttempt {
  return { ...hold, state, isCorrected: false, ...charge };
}

export interface ModelAccount {
  debits: bigint;
  credits: bigint;
  reserved: bigint;
}

export interface ModelSpender {
  /** Only keys have caps of a day or a week. */
  readonly caps: { [period in CapPeriod]: bigint | null };
  /** The sum of the open holds, which counts against every cap. */
  inFlight: bigint;
  readonly months: Map<number, { settled: bigint; reserved: bigint }>;
  /** Settled spend by the UTC day of admission, in days since 1970. */
  readonly days: Map<number, bigint>;
}

export interface ModelOrg extends ModelSpender {
  readonly keys: Map<string, ModelSpender>;
}

function settledNow({ months, days }: ModelSpender, now: LedgerModel): Caps<bigint> {
  const monday = mondayOf(now.day);
  let week = 0n;
  for (let day = monday; day < monday + 7; day += 1) week += days.get(day) ?? 0n;
  return { month: months.get(now.month)?.settled ?? 0n, week, day: days.get(now.day) ?? 0n };
}

function createSpender(): ModelSpender {
  const caps = { month: null, week: null, day: null };
  return { caps, inFlight: 0n, months: new Map(), days: new Map() };
}

function openMonth(spender: ModelSpender, month: number): { settled: bigint; reserved: bigint } {
  const known = spender.months.get(month);
  if (known !== undefined) return known;
  const fresh = { settled: 0n, reserved: 0n };
  spender.months.set(month, fresh);
  return fresh;
}

export interface ModelClose {
  readonly attempt: bigint;
  readonly costPico: bigint;
  /** The debt to the provider; absent if it equals the cost. */
  readonly owedPico?: bigint;
  /** `crash`: the end was not observed. */
  readonly kind: "usage" | "void" | "crash";
}

export interface ModelCharge {
  readonly costPico: bigint;
  readonly debit: bigint;
  readonly overrun: bigint;
  /** Debit plus overrun minus the debt to the provider; negative if the debt is the larger one. */
  readonly margin: bigint;
}

export const NOTHING: ModelCharge = { costPico: 0n, debit: 0n, overrun: 0n, margin: 0n };

/** Charges the exact cost rounded down, at most the reserve. The platform pays the excess. */
function computeCharge(reserve: bigint, row: ModelClose): ModelCharge {
  const costPico = row.kind === "usage" ? row.costPico : 0n;
  const floor = costPico / 1_000_000n;
  const debit = floor < reserve ? floor : reserve;
  const owed = row.kind === "usage" ? (row.owedPico ?? costPico) : 0n;
  return { costPico, debit, overrun: floor - debit, margin: floor - owed / 1_000_000n };
}
