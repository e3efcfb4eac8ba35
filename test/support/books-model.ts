import {
  createHold,
  endHold,
  LedgerModel,
  type ModelAttempt,
  type ModelCloseOutcome,
  type ModelHold,
  type ModelMember,
  type ModelReserve,
  type ModelReserveOutcome,
} from "../../src/ledger/ledger-model.ts";
import { type ModelClose, NOTHING } from "../../src/ledger/model-accounts.ts";

/** A line of the journal: a finished attempt, or a hold as an open one. */
export interface ModelLine extends Omit<ModelAttempt, "state"> {
  readonly state: ModelAttempt["state"] | "open";
}

/**
 * The model of the ledger with what only tests ask of it: instances that live and die, grants, and
 * wallets that pay what they owe as soon as they can.
 */
export class BooksModel extends LedgerModel {
  readonly grants: Map<string, { readonly org: string; readonly amount: bigint }> = new Map();
  /** The present life of every instance. */
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

  /** After a lost answer: the attempt holds nothing, whether it was reserved or not. */
  annul(row: ModelReserve): void {
    if (this.line(row.attempt) !== undefined) {
      this.close({ attempt: row.attempt, costPico: 0n, kind: "void" });
    } else {
      this.attempts.set(row.attempt, endHold(createHold(row, this), "void", NOTHING));
    }
  }

  /** The provider took a job for this attempt; false: it is not open. */
  attachJob(id: bigint): boolean {
    const hold = this.holds.get(id);
    if (hold === undefined) return false;
    hold.isResumable = true;
    return true;
  }

  /** Ends the life of an instance that is dead, when it holds something. */
  takeOver(instance: string): boolean {
    const epoch = this.epochs.get(instance);
    const held = [...this.holds.values()].some(
      ({ member }) => member?.instance === instance && member.epoch === epoch,
    );
    if (held) this.epochs.set(instance, (epoch ?? 0n) + 1n);
    return held;
  }

  /** Open jobs of lives that ended become the caller's, oldest first. */
  adopt(member: ModelMember, limit: number): readonly bigint[] {
    if (this.epochs.get(member.instance) !== member.epoch) return [];
    const left = this.#leftOpen().filter((hold) => hold.isResumable);
    const adopted = left.sort((a, b) => (a.attempt < b.attempt ? -1 : 1)).slice(0, limit);
    for (const hold of adopted) hold.member = member;
    return adopted.map(({ attempt }) => attempt);
  }

  /** Charges what lives that ended left open in full, except jobs at a provider. */
  recover(): number {
    return this.#crash(this.#leftOpen());
  }

  /** As if every life had ended: every open attempt is charged in full, except jobs. */
  crash(): number {
    return this.#crash([...this.holds.values()]);
  }

  /** A new life: every epoch is over, and what is open is closed, but for jobs. How many. */
  reopen(open: "void" | "charge"): number {
    for (const [instance, epoch] of this.epochs) this.epochs.set(instance, epoch + NEW_LIFE_EPOCHS);
    if (open === "charge") return this.crash();
    const lost = [...this.holds.values()].filter((hold) => !hold.isResumable);
    for (const { attempt } of lost) this.close({ attempt, costPico: 0n, kind: "void" });
    return lost.length;
  }

  /** Owed to a provider for what the books have lost. */
  bearLost(provider: string, costPico: bigint): void {
    this.move("lost", `accrual:${provider}`, costPico / PICO_PER_MICRO);
  }

  /** The journal's line of an attempt. */
  line(id: bigint): ModelLine | undefined {
    const hold = this.holds.get(id);
    return hold === undefined ? this.attempts.get(id) : openLine(hold);
  }

  /** The whole journal. */
  lines(): readonly ModelLine[] {
    return [...this.attempts.values(), ...[...this.holds.values()].map(openLine)];
  }

  /** `undefined`: the reference belongs to another grant. */
  grant(org: string, amount: bigint, ref: string): boolean | undefined {
    const known = this.grants.get(ref);
    if (known !== undefined)
      return known.org === org && known.amount === amount ? false : undefined;
    this.grants.set(ref, { org, amount });
    this.credit("grants", org, amount);
    return true;
  }

  /** Money for a wallet, which first pays what it owes. */
  credit(from: string, org: string, amount: bigint): void {
    this.move(from, `wallet:${org}`, amount);
    this.#collect(org);
  }

  /**
   * Takes money back: the amount becomes receivable, and the wallet pays as much of it as it has.
   */
  chargeBack(org: string, to: string, amount: bigint): void {
    this.move(`receivable:${org}`, to, amount);
    this.#collect(org);
  }

  /** A wallet that owes gives whatever is free in it. */
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

/** More than every start of a lost time can have counted. */
const NEW_LIFE_EPOCHS = 1_000_000n;
const PICO_PER_MICRO = 1_000_000n;

function openLine(hold: ModelHold): ModelLine {
  return { ...hold, state: "open", isCorrected: false, ...NOTHING };
}
