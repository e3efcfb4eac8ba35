import type { Deadline } from "../../../kernel/index.ts";
import type { ClaimOutcome, LimitClaim, TokenCount } from "../limit-store.ts";
import type { ClaimSpec } from "./claim-spec.ts";

/** A request to Redis that a caller waits for. It is resolved once, with an answer or without. */
export class Asked<T> implements Deadline {
  dueMs: number;
  watchedAt = -1;
  /** True once the caller has given up; a later answer is ignored. */
  isLate = false;
  #isDue = false;
  readonly #resolve: (answer: T) => void;
  readonly #onLate: () => T;

  constructor(dueMs: number, resolve: (answer: T) => void, onLate: () => T) {
    this.dueMs = dueMs;
    this.#resolve = resolve;
    this.#onLate = onLate;
  }

  answer(answer: T): void {
    if (!this.isLate) this.#resolve(answer);
  }

  onDue(nowMs: number): void {
    // If this process was paused, an answer that arrived in time may be unread. It is read before
    // the next check, so only a second check gives up.
    if (!this.#isDue) {
      this.#isDue = true;
      this.dueMs = nowMs;
      return;
    }
    this.answer(this.#onLate());
    this.isLate = true;
  }
}

export const UNAVAILABLE: ClaimOutcome = { kind: "unavailable" };

export class AskedClaim extends Asked<ClaimOutcome> {
  readonly id: string;
  readonly spec: ClaimSpec;
  /** The scopes of calls whose clients have left; they must have a free place too. */
  readonly departed: ClaimSpec | undefined;
  readonly charged: TokenCount;
  /** How often the claim was sent: it is sent again after its slot was refilled. */
  tries = 0;

  constructor(
    asked: Pick<AskedClaim, "id" | "spec" | "departed"> & { readonly claim: LimitClaim },
    dueMs: number,
    resolve: (outcome: ClaimOutcome) => void,
    onLate: () => void,
  ) {
    super(dueMs, resolve, () => {
      onLate();
      return UNAVAILABLE;
    });
    this.id = asked.id;
    this.spec = asked.spec;
    this.departed = asked.departed;
    this.charged = asked.claim;
  }
}
