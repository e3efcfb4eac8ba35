import type { Deadline } from "../../core/deadlines.ts";
import type { ClaimOutcome, LimitClaim, TokenCount } from "../../limits/limit-store.ts";
import type { ClaimSpec } from "./claim-spec.ts";

/** What a claim answers when Redis did not. */
export const UNAVAILABLE: ClaimOutcome = { kind: "unavailable" };

/** A claim that was sent and has no answer yet. */
export class AskedClaim implements Deadline {
  /** Name of the lease, should it be granted. */
  readonly id: string;
  readonly spec: ClaimSpec;
  /** The estimate. */
  readonly charged: TokenCount;
  dueMs: number;
  watchedAt = -1;
  /** How often it was sent: once, and again after a refill of its slot. */
  tries = 0;
  /** The caller was told that there is no answer; one that comes now comes too late. */
  isLate = false;
  #isDue = false;
  readonly #tell: (outcome: ClaimOutcome) => void;
  readonly #onLate: () => void;

  constructor(
    asked: { readonly id: string; readonly spec: ClaimSpec; readonly claim: LimitClaim },
    dueMs: number,
    tell: (outcome: ClaimOutcome) => void,
    onLate: () => void,
  ) {
    this.id = asked.id;
    this.spec = asked.spec;
    this.charged = asked.claim;
    this.dueMs = dueMs;
    this.#tell = tell;
    this.#onLate = onLate;
  }

  /** Tells the caller, unless it has been told. */
  answer(outcome: ClaimOutcome): void {
    if (!this.isLate) this.#tell(outcome);
  }

  onDue(nowMs: number): void {
    // After a pause of this process the answer may be here, unread: it is read before the next look.
    if (!this.#isDue) {
      this.#isDue = true;
      this.dueMs = nowMs;
      return;
    }
    this.answer(UNAVAILABLE);
    this.isLate = true;
    this.#onLate();
  }
}
