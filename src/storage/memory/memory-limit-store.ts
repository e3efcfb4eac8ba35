import { assert } from "../../core/assert.ts";
import type { LimitKind } from "../../core/refusals.ts";
import type {
  ClaimOutcome,
  LimitClaim,
  LimitLease,
  LimitStore,
  ScopeClaim,
} from "../../limits/limit-store.ts";
import { RollingWindow, WINDOW_SECONDS } from "../../limits/rolling-window.ts";
import { SteadySeconds } from "../../limits/steady-seconds.ts";

const SWEPT_PER_NEW_SCOPE = 2;
const SWEPT_PER_SECOND = 64;
const CONCURRENCY_RETRY_SECONDS = 1;

/** What one scope has used; made on first use, dropped when nothing of it counts any more. */
class ScopeUse {
  readonly requests = new RollingWindow();
  readonly tokens = new RollingWindow();
  inFlight = 0;

  advance(second: number): void {
    this.requests.advance(second);
    this.tokens.advance(second);
  }

  isIdle(second: number): boolean {
    return this.inFlight === 0 && second - this.requests.newestSecond > WINDOW_SECONDS;
  }
}

class MemoryLease implements LimitLease {
  readonly remainingRequests: number;
  readonly remainingTokens: number;
  readonly uses: readonly ScopeUse[];
  readonly claim: Pick<LimitClaim, "scopes" | "tokens">;
  readonly second: number;
  open = true;

  constructor(
    uses: readonly ScopeUse[],
    claim: Pick<LimitClaim, "scopes" | "tokens">,
    second: number,
    remaining: { readonly requests: number; readonly tokens: number },
  ) {
    this.uses = uses;
    this.claim = claim;
    this.second = second;
    this.remainingRequests = remaining.requests;
    this.remainingTokens = remaining.tokens;
  }
}

/**
 * Limits of one process: rolling windows and concurrency in memory. Every verb is synchronous, so a
 * claim over several scopes is atomic by nature. Memory is bounded by the scopes used in the last
 * minute: idle ones are swept out a few at a time.
 */
export class MemoryLimitStore implements LimitStore {
  private readonly uses = new Map<string, ScopeUse>();
  private readonly seconds = new SteadySeconds();
  private second = 0;
  private sweep: Iterator<[string, ScopeUse]> = this.uses.entries();

  /** Scopes held in memory now. */
  get scopeCount(): number {
    return this.uses.size;
  }

  claim(claim: LimitClaim): ClaimOutcome {
    const second = this.moveTo(claim.nowMs);
    const uses: ScopeUse[] = [];
    for (const scope of claim.scopes) {
      const use = this.useOf(scope.id);
      use.advance(second);
      const kind = exceededLimit(scope, use, claim.tokens);
      if (kind !== undefined) return refuse(scope, use, kind, claim.tokens);
      uses.push(use);
    }
    return { kind: "claimed", lease: take(claim, uses, second) };
  }

  release(lease: LimitLease, observedTokens: number, nowMs: number): void {
    const held = close(lease);
    const second = this.moveTo(nowMs);
    const delta = observedTokens - held.claim.tokens;
    for (const use of held.uses) {
      use.inFlight -= 1;
      use.tokens.advance(second);
      use.tokens.correct(held.second, delta);
    }
  }

  undo(lease: LimitLease, nowMs: number): void {
    const held = close(lease);
    const second = this.moveTo(nowMs);
    held.uses.forEach((use, index) => {
      use.inFlight -= 1;
      use.advance(second);
      use.tokens.correct(held.second, -held.claim.tokens);
      if (countsRequests(held.claim.scopes[index])) use.requests.correct(held.second, -1);
    });
  }

  private moveTo(nowMs: number): number {
    const second = this.seconds.at(nowMs);
    if (second !== this.second) {
      this.second = second;
      this.sweepSome(SWEPT_PER_SECOND);
    }
    return second;
  }

  private useOf(id: string): ScopeUse {
    const known = this.uses.get(id);
    if (known !== undefined) return known;
    this.sweepSome(SWEPT_PER_NEW_SCOPE);
    const use = new ScopeUse();
    this.uses.set(id, use);
    return use;
  }

  /* Each new scope pays for looking at two old ones, so idle scopes cannot outnumber live ones. */
  private sweepSome(count: number): void {
    for (let seen = 0; seen < count; seen += 1) {
      const next = this.sweep.next();
      if (next.done === true) {
        this.sweep = this.uses.entries();
        return;
      }
      const [id, use] = next.value;
      if (use.isIdle(this.second)) this.uses.delete(id);
    }
  }
}

function exceededLimit(scope: ScopeClaim, use: ScopeUse, tokens: number): LimitKind | undefined {
  const { requestsPerMinute, tokensPerMinute, concurrent } = scope.limits;
  if (requestsPerMinute !== undefined && use.requests.total >= requestsPerMinute) {
    if (countsRequests(scope)) return "rpm";
  }
  if (tokensPerMinute !== undefined && use.tokens.total + tokens > tokensPerMinute) return "tpm";
  if (concurrent !== undefined && use.inFlight >= concurrent) return "concurrency";
  return undefined;
}

function countsRequests(scope: ScopeClaim | undefined): boolean {
  return scope?.countsRequests !== false;
}

function take(claim: LimitClaim, uses: readonly ScopeUse[], second: number): MemoryLease {
  let requests = Number.MAX_SAFE_INTEGER;
  let tokens = Number.MAX_SAFE_INTEGER;
  for (let index = 0; index < uses.length; index += 1) {
    const use = uses[index];
    const scope = claim.scopes[index];
    if (use === undefined || scope === undefined) continue;
    use.inFlight += 1;
    use.tokens.add(claim.tokens);
    const { requestsPerMinute, tokensPerMinute } = scope.limits;
    if (countsRequests(scope)) {
      use.requests.add(1);
      requests = Math.min(requests, left(requestsPerMinute, use.requests));
    }
    tokens = Math.min(tokens, left(tokensPerMinute, use.tokens));
  }
  return new MemoryLease(uses, claim, second, { requests, tokens });
}

function left(limit: number | undefined, window: RollingWindow): number {
  return limit === undefined ? Number.MAX_SAFE_INTEGER : limit - window.total;
}

function refuse(scope: ScopeClaim, use: ScopeUse, kind: LimitKind, tokens: number): ClaimOutcome {
  const { limit, retryAfterSeconds } = explain(scope, use, kind, tokens);
  const { scope: name, id } = scope;
  return { kind: "refused", scope: name, limitKind: kind, id, limit, retryAfterSeconds };
}

function explain(
  scope: ScopeClaim,
  use: ScopeUse,
  kind: LimitKind,
  tokens: number,
): { readonly limit: number; readonly retryAfterSeconds: number } {
  if (kind === "rpm") {
    const limit = scope.limits.requestsPerMinute ?? 0;
    return { limit, retryAfterSeconds: waitFor(use.requests, 1 - limit) };
  }
  if (kind === "tpm") {
    const limit = scope.limits.tokensPerMinute ?? 0;
    return { limit, retryAfterSeconds: waitFor(use.tokens, tokens - limit) };
  }
  return { limit: scope.limits.concurrent ?? 0, retryAfterSeconds: CONCURRENCY_RETRY_SECONDS };
}

function waitFor(window: RollingWindow, overLimit: number): number {
  return window.secondsUntilLeft(window.total + overLimit);
}

function close(lease: LimitLease): MemoryLease {
  assert(lease instanceof MemoryLease, "a lease goes back to the store that granted it");
  assert(lease.open, "a lease is handed back exactly once");
  lease.open = false;
  return lease;
}
