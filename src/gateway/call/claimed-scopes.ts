import type { LimitLease, LimitStore, ScopeClaim, TokenCount } from "../limits/limit-store.ts";

type ClaimedIn = Pick<LimitStore, "depart" | "release" | "undo">;

/** Everything that one request has claimed, in one or more slots: released together, once. */
export class ClaimedScopes {
  readonly #limits: ClaimedIn;
  /** Grown by `concat`, which gives a list of its very length: most requests wait with one. */
  #leases: readonly LimitLease[] = NO_LEASES;
  /** Where each lease takes a place once the client has left. */
  #departed: readonly (readonly ScopeClaim[] | undefined)[] = NO_SCOPES;
  /** The smallest over all scopes; `Number.MAX_SAFE_INTEGER` where nothing limits them. */
  remainingRequests: number = Number.MAX_SAFE_INTEGER;
  remainingTokens: number = Number.MAX_SAFE_INTEGER;
  /** Pacing delay of the request in milliseconds. */
  queueMs = 0;

  constructor(limits: ClaimedIn) {
    this.#limits = limits;
  }

  add(lease: LimitLease, departed: readonly ScopeClaim[] | undefined): void {
    this.#leases = this.#leases.concat(lease);
    this.#departed = this.#departed.concat([departed]);
    this.remainingRequests = Math.min(this.remainingRequests, lease.remainingRequests);
    this.remainingTokens = Math.min(this.remainingTokens, lease.remainingTokens);
    this.queueMs = Math.max(this.queueMs, lease.queueMs);
  }

  /** The client left: it takes no place of those who stay. Returns the scopes where it has one now. */
  depart(nowMs: number): readonly ScopeClaim[] {
    for (const [at, lease] of this.#leases.entries()) {
      const departed = this.#departed[at];
      if (departed !== undefined) this.#limits.depart(lease, departed, nowMs);
    }
    return this.#departed.flatMap((scopes) => scopes ?? []);
  }

  /** Ends the leases and puts the observed tokens in place of the estimated ones. */
  release(observed: TokenCount, nowMs: number): void {
    for (const lease of this.#takeLeases()) this.#limits.release(lease, observed, nowMs);
  }

  /** Takes everything back, as if it had never been claimed. */
  undo(nowMs: number): void {
    for (const lease of this.#takeLeases()) this.#limits.undo(lease, nowMs);
  }

  #takeLeases(): readonly LimitLease[] {
    const leases = this.#leases;
    this.#leases = NO_LEASES;
    return leases;
  }
}

const NO_LEASES: readonly LimitLease[] = [];
const NO_SCOPES: readonly (readonly ScopeClaim[])[] = [];
