import {
  createHold,
  endHold,
  LedgerModel,
  type ModelAttempt,
  type ModelClose,
  type ModelCloseOutcome,
  type ModelHold,
  type ModelMember,
  type ModelReserve,
  type ModelReserveOutcome,
  NOTHING,
} from "../../src/ledger/ledger-model.ts";

/** A finished attempt, or an open hold in the form of an attempt with the state `open`. */
export interface ModelLine extends Omit<ModelAttempt, "state"> {
  readonly state: ModelAttempt["state"] | "open";
}

/** The ledger model with instances that start and die, grants, and debts that are collected. */
export class BooksModel extends LedgerModel {
  readonly grants: Map<string, { readonly org: string; readonly amount: bigint }> = new Map();
  readonly epochs: Map<string, bigint> = new Map();

  reserve(row: ModelReserve): ModelReserveOutcome {
    const { member } = row;
    const isFenced = member !== undefined && this.epochs.get(member.instance) !== member.epoch;
    if (isFenced) return { kind: "unavailable" };
    const outcome = this.admit(row);
    if (outcome.kind === "reserved") this.hold(row);
    return outcome;
  }

  override close(row: ModelClose): ModelCloseOutcome {
    const outcome = super.close(row);
    const org = this.attempts.get(row.attempt)?.org;
    const hasMoved = outcome.kind === "closed" || outcome.kind === "corrected";
    if (hasMoved && org !== undefined) this.#collect(org);
    return outcome;
  }

  /** Voids an attempt whose reserve was not answered, whether it had been reserved or not. */
  annul(row: ModelReserve): void {
    if (this.line(row.attempt) !== undefined) {
      this.close({ attempt: row.attempt, costPico: 0n, kind: "void" });
    } else {
      this.attempts.set(row.attempt, endHold(createHold(row, this), "void", NOTHING));
    }
  }

  attachJob(id: bigint): boolean {
    const hold = this.holds.get(id);
    if (hold === undefined) return false;
    hold.isResumable = true;
    return true;
  }

  /** Ends the epoch of a dead instance; if it holds nothing, changes nothing and returns false. */
  takeOver(instance: string): boolean {
    const epoch = this.epochs.get(instance);
    const held = [...this.holds.values()].some(
      ({ member }) => member?.instance === instance && member.epoch === epoch,
    );
    if (held) this.epochs.set(instance, (epoch ?? 0n) + 1n);
    return held;
  }

  /** Gives the caller at most `limit` open jobs of ended epochs, oldest first. */
  adopt(member: ModelMember, limit: number): readonly bigint[] {
    if (this.epochs.get(member.instance) !== member.epoch) return [];
    const left = this.#leftOpen().filter((hold) => hold.isResumable);
    const adopted = left.sort((a, b) => (a.attempt < b.attempt ? -1 : 1)).slice(0, limit);
    for (const hold of adopted) hold.member = member;
    return adopted.map(({ attempt }) => attempt);
  }

  /** Charges the reserve of attempts left open by ended epochs, except jobs; returns how many. */
  recover(): number {
    return this.#crash(this.#leftOpen());
  }

  crash(): number {
    return this.#crash([...this.holds.values()]);
  }

  /** Ends all epochs, as a restore does; closes open attempts except jobs; returns how many. */
  reopen(open: "void" | "charge"): number {
    for (const [instance, epoch] of this.epochs) this.epochs.set(instance, epoch + NEW_LIFE_EPOCHS);
    if (open === "charge") return this.crash();
    const lost = [...this.holds.values()].filter((hold) => !hold.isResumable);
    for (const { attempt } of lost) this.close({ attempt, costPico: 0n, kind: "void" });
    return lost.length;
  }

  line(id: bigint): ModelLine | undefined {
    const hold = this.holds.get(id);
    return hold === undefined ? this.attempts.get(id) : openLine(hold);
  }

  lines(): readonly ModelLine[] {
    return [...this.attempts.values(), ...[...this.holds.values()].map(openLine)];
  }

  /** Returns true if credited, false if it was already, undefined if another grant has `ref`. */
  grant(org: string, amount: bigint, ref: string): boolean | undefined {
    const known = this.grants.get(ref);
    if (known !== undefined)
      return known.org === org && known.amount === amount ? false : undefined;
    this.grants.set(ref, { org, amount });
    this.credit("grants", org, amount);
    return true;
  }

  credit(from: string, org: string, amount: bigint): void {
    this.move(from, `wallet:${org}`, amount);
    this.#collect(org);
  }

  /** Takes money back: the wallet pays as much as it has, and owes the rest. */
  chargeBack(org: string, to: string, amount: bigint): void {
    this.move(`receivable:${org}`, to, amount);
    this.#collect(org);
  }

  #collect(org: string): void {
    const owed = this.owed(org);
    if (owed === 0n) return;
    const { credits, debits, reserved } = this.account(`wallet:${org}`);
    const free = credits - debits - reserved;
    this.move(`wallet:${org}`, `receivable:${org}`, free < owed ? free : owed);
  }

  #crash(open: readonly ModelHold[]): number {
    const lost = open.filter((hold) => !hold.isResumable);
    for (const { attempt } of lost) this.close({ attempt, costPico: 0n, kind: "crash" });
    return lost.length;
  }

  #leftOpen(): ModelHold[] {
    return [...this.holds.values()].filter(({ member }) => {
      if (member === undefined) return false;
      return member.epoch < (this.epochs.get(member.instance) ?? 0n);
    });
  }
}

/** More epochs than an instance can have begun between a backup and its restore. */
const NEW_LIFE_EPOCHS = 1_000_000n;

function openLine(hold: ModelHold): ModelLine {
  return { ...hold, state: "open", isCorrected: false, ...NOTHING };
}
