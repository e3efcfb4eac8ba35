import {
  type Clock,
  ExpiringCache,
  type MicroUsd,
  type OrgId,
  SHORTFALL_MS,
  SHORTFALLS_MAX,
} from "../../kernel/index.ts";
import type { ReserveOutcome, ReserveRow } from "../../ledger/index.ts";

type Shortfall = Extract<ReserveOutcome, { kind: "low_balance" | "cap" }>;

/** That nothing of an organization has changed here since; compared by identity. */
type Unchanged = Record<never, never>;

interface KnownShortfall {
  readonly outcome: Shortfall;
  /** The reserve that was refused. */
  readonly refusedMicroUsd: MicroUsd;
  readonly unchanged: Unchanged;
}

/** How a hold was asked for, which decides whether its refusal may be remembered. */
export interface AskedHold {
  readonly unchanged: Unchanged;
  /** Monotonic milliseconds. */
  readonly askedAtMs: number;
}

/**
 * What the ledger refused for want of money a moment ago, so that a key which sends the same again
 * and again is refused without it. It never admits. Its answers are the ledger's, at most
 * `SHORTFALL_MS` old, and only to reserves that the ledger would have refused for the same reason.
 * What this process changes of an organization, or is notified of, counts at once.
 *
 * Only the second refusal in a row is remembered: the first begins to watch its organization, so
 * that one which is served costs two reads of a map and no entry.
 */
export class Shortfalls {
  readonly #clock: Clock;
  readonly #watched = new Map<OrgId, Unchanged>();
  readonly #known = new ExpiringCache<KnownShortfall>(SHORTFALL_MS, SHORTFALLS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The ledger's refusal of this hold; undefined: the ledger must be asked. */
  find({ orgId, keyId, reserveMicroUsd }: ReserveRow): Shortfall | undefined {
    const unchanged = this.#watched.get(orgId);
    if (unchanged === undefined) return undefined;
    const known = this.#known.get(keyId, this.#clock.monotonicMs());
    if (known === undefined || known.unchanged !== unchanged) return undefined;
    const { outcome, refusedMicroUsd } = known;
    // A larger one may break a rule that is checked earlier, and has to get that one's answer.
    if (reserveMicroUsd > refusedMicroUsd || reserveMicroUsd <= freeUnder(outcome))
      return undefined;
    return this.#isOver(outcome) ? undefined : outcome;
  }

  /** Call it before the ledger is asked. */
  asking(orgId: OrgId): AskedHold | undefined {
    const unchanged = this.#watched.get(orgId);
    return unchanged && { unchanged, askedAtMs: this.#clock.monotonicMs() };
  }

  /** What the ledger answered to it. */
  note(row: ReserveRow, outcome: ReserveOutcome, asked: AskedHold | undefined): void {
    if (outcome.kind !== "low_balance" && outcome.kind !== "cap") return;
    const { orgId, keyId, reserveMicroUsd: refusedMicroUsd } = row;
    const unchanged = this.#watched.get(orgId);
    if (unchanged === undefined) this.#watch(orgId);
    // What was asked before a change may be the answer of before it.
    if (unchanged === undefined || unchanged !== asked?.unchanged) return;
    this.#known.set(keyId, { outcome, refusedMicroUsd, unchanged }, asked.askedAtMs);
  }

  /** Something of this organization changed that may leave it more money, or of any. */
  forget(orgId: OrgId | undefined): void {
    if (orgId === undefined) this.#watched.clear();
    else this.#watched.delete(orgId);
  }

  #watch(orgId: OrgId): void {
    if (this.#watched.size >= SHORTFALLS_MAX) {
      for (const oldest of this.#watched.keys()) {
        this.#watched.delete(oldest);
        break;
      }
    }
    this.#watched.set(orgId, {});
  }

  /** A cap is another one in another month. */
  #isOver(outcome: Shortfall): boolean {
    return outcome.kind === "cap" && this.#clock.nowMs() >= outcome.resetAtMs;
  }
}

/** The most that could be held when this was answered. */
function freeUnder(outcome: Shortfall): bigint {
  if (outcome.kind === "low_balance") return outcome.availableMicroUsd;
  const { capMicroUsd, settledMicroUsd, inFlightMicroUsd } = outcome;
  return capMicroUsd - settledMicroUsd - inFlightMicroUsd;
}
