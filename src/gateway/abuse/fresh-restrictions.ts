import type { AbuseRestriction } from "../accounts/account-rules.ts";
import { assert, type OrgId } from "../../kernel/index.ts";
import type { UsageFinding } from "./abuse-restriction-store.ts";

/** Most holds that are remembered before every process can read them from the store. */
const FRESH_HOLDS_MAX = 10_000;
/**
 * A request on its way carries the principal of before a change while its body arrives: a stored
 * hold applies so much longer, or one such request would pass between the old and the new one.
 */
export const REQUESTS_ON_THEIR_WAY_MS = 1_000;

/** A hold that this process has made, until principals carry it. */
export interface FreshHold {
  readonly orgId: OrgId;
  readonly hold: AbuseRestriction;
  /** From then on principals carry it, or it has ended. */
  readonly goodUntilMs: number;
  /** What must still be written to the store; undefined: it is stored, or being written. */
  readonly untold: UntoldFinding | undefined;
  /** The store has answered with it: who reads a principal from now on reads this hold too. */
  readonly isStored: boolean;
}

export interface UntoldFinding {
  readonly finding: Omit<UsageFinding, "ageMs" | "limitedMs">;
  /** When the oldest request ended that counts in it. */
  readonly sinceMs: number;
  /** When the hold ends that this process has made by itself. */
  readonly untilMs: number;
  readonly tries: number;
  readonly nextTryMs: number;
}

/** Holds that are too new for the store's answer to be known everywhere. Bounded, and they expire. */
export class FreshHolds {
  readonly #holds = new Map<string, FreshHold>();

  get size(): number {
    return this.#holds.size;
  }

  find(key: string, nowMs: number): FreshHold | undefined {
    const fresh = this.#holds.get(key);
    if (fresh === undefined || nowMs < fresh.goodUntilMs) return fresh;
    this.#holds.delete(key);
    return undefined;
  }

  set(key: string, fresh: FreshHold, nowMs: number): void {
    this.#holds.delete(key);
    for (const [other, { goodUntilMs }] of this.#holds) {
      if (nowMs >= goodUntilMs || this.#holds.size >= FRESH_HOLDS_MAX) this.#holds.delete(other);
    }
    this.#holds.set(key, fresh);
    assert(this.#holds.size <= FRESH_HOLDS_MAX, "fresh holds are bounded");
  }

  delete(key: string): void {
    this.#holds.delete(key);
  }

  /** The holds of this organization, or of all, that principals carry when read again end soon. */
  forgetStored(orgId: OrgId | undefined, nowMs: number): void {
    const endMs = nowMs + REQUESTS_ON_THEIR_WAY_MS;
    for (const [key, fresh] of this.#holds) {
      if (!fresh.isStored || (orgId !== undefined && orgId !== fresh.orgId)) continue;
      if (endMs < fresh.goodUntilMs) this.#holds.set(key, { ...fresh, goodUntilMs: endMs });
    }
  }
}
