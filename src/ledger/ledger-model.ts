/**
 * The ledger in plain memory, one row after the other, no batches and no locks: what the SQL
 * functions must agree with. Amounts are micro-dollars.
 */
export interface ModelReserve {
  readonly attempt: bigint;
  readonly org: string;
  readonly key: string;
  readonly amount: bigint;
}

export interface ModelClose {
  readonly attempt: bigint;
  readonly costPico: bigint;
  readonly kind: "usage" | "void";
}

export type ModelReserveOutcome =
  | { readonly kind: "reserved" }
  | { readonly kind: "low_balance"; readonly available: bigint; readonly held: bigint }
  | {
      readonly kind: "cap";
      readonly scope: "org" | "key";
      readonly cap: bigint;
      readonly settled: bigint;
      readonly inFlight: bigint;
    }
  | { readonly kind: "unavailable" };

export interface ModelCloseOutcome {
  readonly kind: "closed" | "already_closed" | "unknown";
  readonly debit: bigint;
  readonly overrun: bigint;
}

interface ModelAttempt extends ModelReserve {
  readonly month: number;
  state: "open" | "settled" | "void" | "unknown_after_crash";
  debit: bigint;
  overrun: bigint;
}

interface ModelOrg {
  credits: bigint;
  debits: bigint;
  cap: bigint | null;
  readonly keys: Map<string, bigint | null>;
}

export class LedgerModel {
  readonly orgs: Map<string, ModelOrg> = new Map();
  readonly attempts: Map<bigint, ModelAttempt> = new Map();
  readonly grants: Map<string, { readonly org: string; readonly amount: bigint }> = new Map();
  month = 0;

  reserve(row: ModelReserve): ModelReserveOutcome {
    const org = this.orgs.get(row.org);
    const keyCap = org?.keys.get(row.key);
    if (org === undefined || keyCap === undefined) return { kind: "unavailable" };
    const ofKey = (attempt: ModelAttempt): boolean => attempt.key === row.key;
    const ofOrg = (attempt: ModelAttempt): boolean => attempt.org === row.org;
    const caps = [
      { scope: "key" as const, cap: keyCap, of: ofKey },
      { scope: "org" as const, cap: org.cap, of: ofOrg },
    ];
    for (const { scope, cap, of } of caps) {
      const settled = this.#sum(of, (attempt) => (this.#isNow(attempt) ? attempt.debit : 0n));
      const inFlight = this.#held(of);
      if (cap !== null && settled + inFlight + row.amount > cap) {
        return { kind: "cap", scope, cap, settled, inFlight };
      }
    }
    const held = this.#held(ofOrg);
    const available = org.credits - org.debits - held;
    if (row.amount > available) return { kind: "low_balance", available, held };
    const fresh = { month: this.month, state: "open" as const, debit: 0n, overrun: 0n };
    this.attempts.set(row.attempt, { ...row, ...fresh });
    return { kind: "reserved" };
  }

  close(row: ModelClose): ModelCloseOutcome {
    const attempt = this.attempts.get(row.attempt);
    if (attempt === undefined) return { kind: "unknown", debit: 0n, overrun: 0n };
    const { debit, overrun } = attempt;
    if (attempt.state !== "open") return { kind: "already_closed", debit, overrun };
    const micro = row.kind === "usage" ? row.costPico / 1_000_000n : 0n;
    attempt.state = row.kind === "usage" ? "settled" : "void";
    attempt.debit = micro < attempt.amount ? micro : attempt.amount;
    attempt.overrun = micro - attempt.debit;
    this.#charge(attempt);
    return { kind: "closed", debit: attempt.debit, overrun: attempt.overrun };
  }

  /** Every open attempt is charged in full. */
  crash(): number {
    const open = [...this.attempts.values()].filter((attempt) => attempt.state === "open");
    for (const attempt of open) {
      attempt.state = "unknown_after_crash";
      attempt.debit = attempt.amount;
      this.#charge(attempt);
    }
    return open.length;
  }

  /** `undefined`: the reference belongs to another grant. */
  grant(org: string, amount: bigint, ref: string): boolean | undefined {
    const known = this.grants.get(ref);
    if (known !== undefined)
      return known.org === org && known.amount === amount ? false : undefined;
    this.grants.set(ref, { org, amount });
    const wallet = this.orgs.get(org);
    if (wallet !== undefined) wallet.credits += amount;
    return true;
  }

  wallet(org: string): { readonly settled: bigint; readonly held: bigint } {
    const { credits = 0n, debits = 0n } = this.orgs.get(org) ?? {};
    return { settled: credits - debits, held: this.#held((attempt) => attempt.org === org) };
  }

  #charge(attempt: ModelAttempt): void {
    const org = this.orgs.get(attempt.org);
    if (org !== undefined) org.debits += attempt.debit;
  }

  #isNow(attempt: ModelAttempt): boolean {
    return attempt.month === this.month;
  }

  #held(of: (attempt: ModelAttempt) => boolean): bigint {
    return this.#sum(of, (attempt) => (attempt.state === "open" ? attempt.amount : 0n));
  }

  #sum(of: (attempt: ModelAttempt) => boolean, read: (attempt: ModelAttempt) => bigint): bigint {
    let sum = 0n;
    for (const attempt of this.attempts.values()) if (of(attempt)) sum += read(attempt);
    return sum;
  }
}
