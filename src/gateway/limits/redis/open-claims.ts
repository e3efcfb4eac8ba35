import { assert, type Deadline, groupBy } from "../../../kernel/index.ts";
import type { ClaimOutcome, LimitLease, TokenCount } from "../limit-store.ts";
import type { ClaimSpec } from "./claim-spec.ts";

/** A request to Redis for which a caller waits until it is answered or given up. */
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
    // After a pause of this process, an answer that came in time may not be read yet. It is read
    // before the second check, so the first check gives nothing up.
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

export interface SentClaim {
  readonly id: string;
  readonly spec: ClaimSpec;
  /** The scopes of calls whose clients have left; they must have a free place too. */
  readonly departed: ClaimSpec | undefined;
  readonly charged: TokenCount;
}

export class AskedClaim extends Asked<ClaimOutcome> {
  readonly sent: SentClaim;
  /** How often the claim was sent: once more after each refill of a slot that Redis had lost. */
  tries = 0;

  constructor(
    sent: SentClaim,
    dueMs: number,
    resolve: (outcome: ClaimOutcome) => void,
    onLate: () => ClaimOutcome,
  ) {
    super(dueMs, resolve, onLate);
    this.sent = sent;
  }
}

export class RedisLease implements LimitLease {
  readonly sent: SentClaim;
  /** Where the lease holds a concurrency place: the claim's scopes or those of departed calls. */
  heldIn: ClaimSpec;
  /** The second, by the store's clock, in which this lease was charged. */
  readonly second: number;
  readonly remainingRequests: number;
  readonly remainingTokens: number;
  readonly queueMs: number;
  /** The start of the lease's pacing turn in each paced scope, in microseconds. */
  readonly slotsUs: readonly number[];
  /** Monotonic milliseconds at which the lease was last known to be held in Redis. */
  heldAtMs: number;
  /** The lease's index in `OpenLeases`; -1 once the lease is closed. */
  at = -1;

  constructor(sent: SentClaim, answer: readonly number[], heldAtMs: number) {
    const [second = 0, requests = -1, tokens = -1, queueMs = 0, ...slotsUs] = answer;
    this.sent = sent;
    this.heldIn = sent.spec;
    this.second = second;
    this.remainingRequests = requests < 0 ? Number.MAX_SAFE_INTEGER : requests;
    this.remainingTokens = tokens < 0 ? Number.MAX_SAFE_INTEGER : tokens;
    this.queueMs = queueMs;
    this.slotsUs = slotsUs;
    this.heldAtMs = heldAtMs;
  }
}

export class OpenLeases {
  readonly #open: RedisLease[] = [];

  add(lease: RedisLease): void {
    lease.at = this.#open.push(lease) - 1;
  }

  find(lease: LimitLease): RedisLease {
    assert(lease instanceof RedisLease, "a lease goes back to the store that granted it");
    assert(this.#open[lease.at] === lease, "a lease is released exactly once");
    return lease;
  }

  remove(released: LimitLease): RedisLease {
    const lease = this.find(released);
    const { at } = lease;
    lease.at = -1;
    const last = this.#open.pop();
    if (last === undefined || last === lease) return lease;
    this.#open[at] = last;
    last.at = at;
    return lease;
  }

  bySpec(passes: (lease: RedisLease) => boolean): Map<ClaimSpec, RedisLease[]> {
    return groupBy(this.#open.filter(passes), ({ heldIn }) => heldIn);
  }
}
