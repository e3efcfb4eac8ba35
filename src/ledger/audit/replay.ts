import { type CapPeriod, unreachable } from "../../kernel/index.ts";
import {
  LedgerModel,
  type ModelAccount,
  type ModelCloseOutcome,
  type ModelReserve,
  type ModelReserveOutcome,
  type ModelSpender,
} from "../ledger-model.ts";
import { AuditTally, type AuditCheck } from "./ledger-audit.ts";

export interface SpenderName {
  readonly scope: "org" | "key";
  readonly id: string;
  readonly org: string;
}

/** One line of the journal. `month` is the number of UTC months since year 0. */
export type JournalEntry =
  | {
      readonly kind: "cap";
      readonly of: SpenderName;
      readonly period: CapPeriod;
      readonly cap: bigint | null;
    }
  | {
      readonly kind: "retired";
      readonly of: SpenderName;
      readonly month: number;
      readonly settled: bigint;
    }
  /** A transfer for a grant, a purchase or another event, or for an attempt of a retired day. */
  | {
      readonly kind: "transfer";
      readonly debitAccount: string;
      readonly creditAccount: string;
      readonly amount: bigint;
    }
  /** The debits and credits of an account before the journal begins. */
  | {
      readonly kind: "account";
      readonly account: string;
      readonly debits: bigint;
      readonly credits: bigint;
    }
  | OpenEntry
  | EndEntry;

export interface OpenEntry extends Omit<ModelReserve, "member"> {
  /** `held`: open when the journal begins. `crashed`: charged at its reserve before it begins. */
  readonly kind: "open" | "held" | "crashed";
  readonly position: bigint;
  readonly month: number;
  /** The UTC day of the admission, in days since 1970. */
  readonly day: number;
}

export interface EndEntry {
  /** `corrected`: the attempt was closed at its reserve before, and its end was observed later. */
  readonly kind: "closed" | "corrected";
  readonly attempt: bigint;
  readonly state: string;
  /** True if a correction follows, which sets the final debit. */
  readonly isCorrected: boolean;
  readonly costPico: bigint | null;
  /** The debt to the provider; null if it equals the cost. */
  readonly owedPico: bigint | null;
  readonly debit: bigint;
  readonly overrun: bigint;
}

export interface MonthSpend {
  readonly settled: bigint;
  readonly reserved: bigint;
}

/**
 * Replays the journal through the ledger model in memory, in the order of positions, and reports
 * where the books differ from the result. It keeps only attempts that may still change.
 */
export class JournalReplay {
  // The model pays no debt by itself: the journal has a transfer for every such payment.
  readonly #model = new LedgerModel();
  readonly #admissions = new AuditTally("I8", "every admission fitted the balance and the caps");
  readonly #debits = new AuditTally("replay-debits", "the replayed journal gives every debit");
  readonly #accounts = new AuditTally(
    "replay-accounts",
    "the replayed journal gives every account",
  );
  readonly #spend = new AuditTally("replay-spend", "the replayed journal gives all monthly spend");
  readonly #retiredThrough: bigint;
  readonly #firstMonth: number;

  /**
   * `retiredThrough` is the position of the last transfer of a retired attempt, or 0. `firstMonth`
   * is the first month whose spend is complete in this journal.
   */
  constructor(retiredThrough: bigint, firstMonth = 0) {
    this.#retiredThrough = retiredThrough;
    this.#firstMonth = firstMonth;
  }

  take(entry: JournalEntry): void {
    switch (entry.kind) {
      case "cap":
        this.#spender(entry.of).caps[entry.period] = entry.cap;
        return;
      case "retired":
        this.#spender(entry.of).months.set(entry.month, { settled: entry.settled, reserved: 0n });
        return;
      case "transfer":
        return this.#model.move(entry.debitAccount, entry.creditAccount, entry.amount);
      case "account": {
        const { debits, credits } = entry;
        Object.assign(this.#model.account(entry.account), { debits, credits });
        return;
      }
      case "open":
        return this.#open(entry);
      case "held":
        this.#admitted(entry);
        return this.#model.hold(entry);
      case "crashed":
        this.#admitted(entry);
        return this.#model.keepCrashed(entry);
      case "closed":
      case "corrected":
        return this.#end(entry);
      default:
        return unreachable(entry);
    }
  }

  /** Compares an account of the books with the replayed one, and removes the replayed one. */
  compareAccount(id: string, stored: ModelAccount): void {
    const replayed = this.#model.accounts.get(id) ?? EMPTY_ACCOUNT;
    this.#model.accounts.delete(id);
    this.#accounts.compare(`account ${id}`, accountText(stored), accountText(replayed));
  }

  /** Compares a month's spend in the books with the replayed one, and removes the replayed one. */
  compareSpend(of: SpenderName, month: number, stored: MonthSpend): void {
    const { months } = this.#spender(of);
    const replayed = months.get(month) ?? EMPTY_MONTH;
    months.delete(month);
    const row = `spend of ${of.scope} ${of.id} in ${monthText(month)}`;
    this.#spend.compare(row, spendText(stored), spendText(replayed));
  }

  compareCap(of: SpenderName, period: CapPeriod, cap: bigint | null): void {
    const replayed = this.#spender(of).caps[period];
    const row = `${period === "month" ? "cap" : `cap by the ${period}`} of ${of.scope} ${of.id}`;
    this.#admissions.compare(row, capText(cap), capText(replayed));
  }

  /** Removes and returns the accounts of the platform, which replays of other ranges change too. */
  takeShared(): ReadonlyMap<string, ModelAccount> {
    const { accounts } = this.#model;
    const shared = new Map([...accounts].filter(([id]) => !isOfOrganization(id)));
    for (const id of shared.keys()) accounts.delete(id);
    return shared;
  }

  /** Reports non-empty replayed accounts and months that were never compared. Call it last. */
  finish(): readonly AuditCheck[] {
    for (const id of this.#model.accounts.keys()) this.compareAccount(id, EMPTY_ACCOUNT);
    for (const of of this.#names()) {
      for (const month of this.#spender(of).months.keys()) {
        if (month >= this.#firstMonth) this.compareSpend(of, month, EMPTY_MONTH);
      }
    }
    return [this.#admissions, this.#debits, this.#accounts, this.#spend].map(({ check }) => check);
  }

  #open(entry: OpenEntry): void {
    this.#admitted(entry);
    const outcome = this.#model.admit(entry);
    // The replay knows how much retired attempts have spent, but not when. So it reports no
    // violated cap up to the position of the last transfer of a retired attempt.
    const isKnown = outcome.kind !== "cap" || entry.position > this.#retiredThrough;
    if (outcome.kind !== "reserved" && isKnown) {
      const row = `attempt ${entry.attempt} of key ${entry.key} of ${entry.org}`;
      this.#admissions.add({ row, found: `reserve ${entry.amount}`, expected: limitText(outcome) });
    }
    this.#model.hold(entry);
  }

  /** Sets the model's clock to the admission, and drops daily spend that no cap needs any more. */
  #admitted({ key, org, month, day }: OpenEntry): void {
    const spender = this.#spender({ scope: "key", id: key, org });
    this.#model.month = month;
    this.#model.day = day;
    for (const { days } of [spender, this.#spender({ scope: "org", id: org, org })]) {
      if (days.size <= DAYS_KEPT) continue;
      for (const old of days.keys()) if (old < day - DAYS_KEPT) days.delete(old);
    }
  }

  #end(entry: EndEntry): void {
    const { attempt, debit, overrun } = entry;
    const kind = endKind(entry);
    const costPico = kind === "usage" ? (entry.costPico ?? 0n) : 0n;
    const owed = entry.owedPico === null ? {} : { owedPico: entry.owedPico };
    const outcome = this.#model.close({ attempt, costPico, kind, ...owed });
    const isProvisional = entry.kind === "closed" && entry.isCorrected;
    const isEqual = outcome.debit === debit && outcome.overrun === overrun;
    if (outcome.kind !== entry.kind || !(isEqual || isProvisional)) {
      const row = `attempt ${attempt}`;
      this.#debits.add({ row, found: endText(entry), expected: endText(outcome) });
    }
    if (kind !== "crash") this.#model.attempts.delete(attempt);
  }

  #spender(of: SpenderName): ModelSpender {
    const org = this.#model.orgs.get(of.org) ?? this.#model.addOrg(of.org);
    if (of.scope === "org") return org;
    return org.keys.get(of.id) ?? this.#model.addKey(of.org, of.id);
  }

  *#names(): Generator<SpenderName> {
    for (const [org, { keys }] of this.#model.orgs) {
      yield { scope: "org", id: org, org };
      for (const id of keys.keys()) yield { scope: "key", id, org };
    }
  }
}

export function isOfOrganization(account: string): boolean {
  return /^(wallet|receivable):/.test(account);
}

/** Daily spend is kept for longer than any cap needs it, because a clock may be set back. */
const DAYS_KEPT = 14;

export const EMPTY_ACCOUNT: ModelAccount = { debits: 0n, credits: 0n, reserved: 0n };
const EMPTY_MONTH: MonthSpend = { settled: 0n, reserved: 0n };

function endKind(entry: EndEntry): "usage" | "void" | "crash" {
  if (entry.kind === "corrected") return entry.costPico === null ? "void" : "usage";
  if (entry.state === "unknown_after_crash") return "crash";
  return entry.state === "settled" ? "usage" : "void";
}

export function accountText({ debits, credits, reserved }: ModelAccount): string {
  return `debits ${debits}, credits ${credits}, reserved ${reserved}`;
}

function spendText({ settled, reserved }: MonthSpend): string {
  return `settled ${settled}, reserved ${reserved}`;
}

function endText(end: Omit<ModelCloseOutcome, "kind"> & { readonly kind: string }): string {
  return `${end.kind}, debit ${end.debit}, overrun ${end.overrun}`;
}

function capText(cap: bigint | null): string {
  return cap === null ? "none" : `${cap}`;
}

function monthText(month: number): string {
  const inYear = (month % 12) + 1;
  return `${Math.floor(month / 12)}-${String(inYear).padStart(2, "0")}`;
}

function limitText(outcome: ModelReserveOutcome): string {
  switch (outcome.kind) {
    case "low_balance":
      return `at most the balance available, ${outcome.available}`;
    case "cap":
      return `cap of the ${outcome.scope}${outcome.period === "month" ? "" : ` by the ${outcome.period}`} ${outcome.cap}, settled ${outcome.settled}, in flight ${outcome.inFlight}`;
    case "reserved":
    case "unavailable":
      return outcome.kind;
    default:
      return unreachable(outcome);
  }
}
