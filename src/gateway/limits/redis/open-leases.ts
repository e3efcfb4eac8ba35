import { assert } from "../../../kernel/index.ts";
import type { LimitLease, TokenCount } from "../limit-store.ts";
import type { ClaimSpec } from "./claim-spec.ts";

export class RedisLease implements LimitLease {
  readonly id: string;
  readonly spec: ClaimSpec;
  /**
   * The scopes in which the lease holds a concurrency place: those of the claim, or after `depart`
   * those of departed calls.
   */
  heldIn: ClaimSpec;
  readonly charged: TokenCount;
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

  constructor(
    asked: Pick<RedisLease, "id" | "spec" | "charged">,
    answer: readonly number[],
    heldAtMs: number,
  ) {
    const [second = 0, requests = -1, tokens = -1, queueMs = 0, ...slotsUs] = answer;
    this.id = asked.id;
    this.spec = asked.spec;
    this.heldIn = asked.spec;
    this.charged = asked.charged;
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
    const found = new Map<ClaimSpec, RedisLease[]>();
    for (const lease of this.#open) {
      if (!passes(lease)) continue;
      const known = found.get(lease.heldIn);
      if (known === undefined) found.set(lease.heldIn, [lease]);
      else known.push(lease);
    }
    return found;
  }
}
