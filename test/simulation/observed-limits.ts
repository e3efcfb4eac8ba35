import type {
  ClaimOutcome,
  LimitClaim,
  LimitLease,
  LimitStore,
  ScopeClaim,
  ScopeUsage,
  TokenCount,
} from "../../src/gateway/limits/limit-store.ts";
import type { MemoryLimitStore } from "../../src/gateway/limits/memory/memory-limit-store.ts";

interface Grant {
  readonly scopes: readonly ScopeClaim[];
  readonly atMs: number;
}

const MINUTE_MS = 60_000;

/** The limits of one instance, checked against a second, simpler count. */
export class ObservedLimits implements LimitStore {
  readonly #store: MemoryLimitStore;
  readonly #fail: (violation: string) => void;
  readonly #held: Map<LimitLease, Grant> = new Map();
  readonly #grants: Set<Grant> = new Set();

  constructor(store: MemoryLimitStore, fail: (violation: string) => void) {
    this.#store = store;
    this.#fail = fail;
  }

  /** The last granted claim on the limits of an organization and key, as a request makes it. */
  lastClaim: LimitClaim | undefined;

  /** The number of leases that are not released yet. */
  get held(): number {
    return this.#held.size;
  }

  claim(claim: LimitClaim): ClaimOutcome {
    const outcome = this.#store.claim(claim);
    if (outcome.kind !== "claimed") return outcome;
    if (claim.slot.startsWith("{org:")) this.lastClaim = claim;
    const grant: Grant = { scopes: claim.scopes, atMs: claim.nowMs };
    this.#held.set(outcome.lease, grant);
    this.#grants.add(grant);
    for (const scope of claim.scopes) this.#check(scope, claim.nowMs);
    return outcome;
  }

  /** The lease counts in `departed` from now on, no longer in the scopes it was claimed for. */
  depart(lease: LimitLease, departed: readonly ScopeClaim[], nowMs: number): void {
    const grant = this.#held.get(lease);
    if (grant === undefined) return this.#fail("a lease departs that is not held");
    this.#held.set(lease, { scopes: departed, atMs: grant.atMs });
    this.#store.depart(lease, departed, nowMs);
  }

  release(lease: LimitLease, observed: TokenCount, nowMs: number): void {
    this.#handBack(lease);
    this.#store.release(lease, observed, nowMs);
  }

  undo(lease: LimitLease, nowMs: number): void {
    const grant = this.#handBack(lease);
    if (grant !== undefined) this.#grants.delete(grant);
    this.#store.undo(lease, nowMs);
  }

  peek(asked: Parameters<LimitStore["peek"]>[0]): Promise<readonly ScopeUsage[] | undefined> {
    return this.#store.peek(asked);
  }

  cool(...cooling: Parameters<LimitStore["cool"]>): void {
    this.#store.cool(...cooling);
  }

  #handBack(lease: LimitLease): Grant | undefined {
    const grant = this.#held.get(lease);
    if (grant === undefined) this.#fail("a lease is released that is not held");
    this.#held.delete(lease);
    return grant;
  }

  #check(scope: ScopeClaim, nowMs: number): void {
    const of = (grant: Grant): boolean => grant.scopes.some(({ id }) => id === scope.id);
    const { concurrent, requestsPerMinute } = scope.limits;
    const inFlight = [...this.#held.values()].filter(of).length;
    if (concurrent !== undefined && inFlight > concurrent) {
      this.#fail(`${inFlight} requests in flight for ${scope.id}, ${concurrent} are allowed`);
    }
    const recent = [...this.#grants].filter((grant) => nowMs - grant.atMs < MINUTE_MS && of(grant));
    if (requestsPerMinute !== undefined && recent.length > requestsPerMinute) {
      this.#fail(`${recent.length} requests in a minute for ${scope.id}`);
    }
  }
}
