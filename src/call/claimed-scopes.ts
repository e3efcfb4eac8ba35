import type { LimitLease, LimitStore, ScopeClaim, TokenCount } from "../limits/index.ts";

/** Everything that one request has claimed, in one or more slots: released together, once. */
export class ClaimedScopes {
  readonly #limits: Pick<LimitStore, "release" | "undo">;
  /** Grown by `concat`, which gives a list of its very length: most requests wait with one. */
  #leases: readonly LimitLease[] = NO_LEASES;
  #scopes: readonly ScopeClaim[] = NO_SCOPES;
  /** The smallest over all scopes; `Number.MAX_SAFE_INTEGER` where nothing limits them. */
  remainingRequests: number = Number.MAX_SAFE_INTEGER;
  remainingTokens: number = Number.MAX_SAFE_INTEGER;
  /** Pacing delay of the request in milliseconds. */
  queueMs = 0;

  constructor(limits: Pick<LimitStore, "release" | "undo">) {
    this.#limits = limits;
  }

  get scopes(): readonly ScopeClaim[] {
    return this.#scopes;
  }

  add(lease: LimitLease, scopes: readonly ScopeClaim[]): void {
    this.#leases = this.#leases.concat(lease);
    this.#scopes = this.#scopes.length === 0 ? scopes : this.#scopes.concat(scopes);
    this.remainingRequests = Math.min(this.remainingRequests, lease.remainingRequests);
    this.remainingTokens = Math.min(this.remainingTokens, lease.remainingTokens);
    this.queueMs = Math.max(this.queueMs, lease.queueMs);
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
const NO_SCOPES: readonly ScopeClaim[] = [];
