import { assert } from "../../../kernel/index.ts";
import {
  type ClaimOutcome,
  type LimitClaim,
  type LimitLease,
  type LimitStore,
  type ScopeClaim,
  type ScopeUsage,
  type TokenCount,
  NO_TOKENS,
} from "../limit-store.ts";
import { type RollingWindow, SteadySeconds } from "../rolling-window.ts";
import { type Excess, ScopeUse, type StoreTime, withLongerWait } from "./scope-use.ts";

const SWEPT_PER_NEW_SCOPE = 2;
const SWEPT_PER_SECOND = 64;

type Claimed = Pick<LimitClaim, "scopes" | keyof TokenCount>;

class MemoryLease implements LimitLease {
  readonly uses: readonly ScopeUse[];
  /**
   * The scopes in which the lease holds a concurrency place: those of the claim, or after `depart`
   * those of departed calls.
   */
  places: readonly ScopeUse[];
  readonly claim: Claimed;
  readonly second: number;
  remainingRequests: number = Number.MAX_SAFE_INTEGER;
  remainingTokens: number = Number.MAX_SAFE_INTEGER;
  queueMs = 0;
  /**
   * The start of the lease's pacing turn in each paced scope, in microseconds; undefined if no
   * scope is paced.
   */
  slotsUs: readonly number[] | undefined;
  open = true;

  constructor(uses: readonly ScopeUse[], claim: Claimed, second: number) {
    this.uses = uses;
    this.places = uses;
    this.claim = claim;
    this.second = second;
  }
}

/**
 * Rolling windows and concurrency in the memory of one process. Every method is synchronous, so a
 * claim over several scopes is atomic. Memory is bounded by the scopes used in the last minute or
 * in their longest declared window; idle scopes are swept a few at a time.
 */
export class MemoryLimitStore implements LimitStore {
  readonly #uses = new Map<string, ScopeUse>();
  readonly #seconds = new SteadySeconds();
  #second = 0;
  #sweep: Iterator<[string, ScopeUse]> = this.#uses.entries();

  get scopeCount(): number {
    return this.#uses.size;
  }

  claim(claim: LimitClaim): ClaimOutcome {
    const now = this.#moveTo(claim.nowMs);
    let first: ScopeClaim | undefined;
    let found: Excess | undefined;
    for (const scope of claim.scopes) {
      const use = this.#openUse(scope.id);
      use.advance(now.second);
      found = withLongerWait(found, use.excess(scope, claim, now));
      if (found !== undefined) first ??= scope;
    }
    if (found !== undefined && first !== undefined) return toRefused(first, found);
    for (const scope of claim.departed ?? []) {
      const full = this.#uses.get(scope.id)?.checkConcurrency(scope);
      if (full !== undefined) return { ...toRefused(scope, full), isDeparted: true };
    }
    const uses = claim.scopes.map(({ id }) => this.#openUse(id));
    return { kind: "claimed", lease: take(claim, uses, now) };
  }

  depart(lease: LimitLease, departed: readonly ScopeClaim[], nowMs: number): void {
    const held = checkOpen(lease);
    this.#moveTo(nowMs);
    for (const place of held.places) place.inFlight -= 1;
    held.places = departed.map(({ id }) => {
      const place = this.#openUse(id);
      // Counted before the next scope is opened: opening a scope sweeps idle ones, and this one is
      // in use.
      place.inFlight += 1;
      return place;
    });
  }

  release(lease: LimitLease, observed: TokenCount, nowMs: number): void {
    const held = close(lease);
    this.#correct(held, observed, 0, nowMs);
  }

  undo(lease: LimitLease, nowMs: number): void {
    const held = close(lease);
    this.#correct(held, NO_TOKENS, -1, nowMs);
    for (let index = 0; index < held.uses.length; index += 1) {
      const scope = held.claim.scopes[index];
      const slotUs = held.slotsUs?.[index];
      if (scope !== undefined && slotUs !== undefined) held.uses[index]?.releaseSlot(scope, slotUs);
    }
  }

  peek({
    scopes,
    nowMs,
  }: Pick<LimitClaim, "scopes" | "nowMs">): Promise<readonly ScopeUsage[] | undefined> {
    const { second } = this.#moveTo(nowMs);
    return Promise.resolve(scopes.map(({ id }) => readUsage(this.#uses.get(id), second)));
  }

  cool(_slot: string, id: string, seconds: number, nowMs: number): void {
    const now = this.#moveTo(nowMs);
    this.#openUse(id).cool(now.us + Math.ceil(seconds * 1_000_000));
  }

  #correct(held: MemoryLease, observed: TokenCount, requests: number, nowMs: number): void {
    const { second } = this.#moveTo(nowMs);
    const by = difference(observed, held.claim);
    for (const place of held.places) place.inFlight -= 1;
    for (let index = 0; index < held.uses.length; index += 1) {
      const use = held.uses[index];
      const scope = held.claim.scopes[index];
      if (use === undefined || scope === undefined) continue;
      use.advance(second);
      use.correct(scope, by, scope.countsRequests === false ? 0 : requests, held.second);
    }
  }

  #moveTo(nowMs: number): StoreTime {
    const second = this.#seconds.at(nowMs);
    const now = { second, us: this.#seconds.latestUs };
    if (second !== this.#second) {
      this.#second = second;
      this.#sweepSome(SWEPT_PER_SECOND, now);
    }
    return now;
  }

  #openUse(id: string): ScopeUse {
    const known = this.#uses.get(id);
    if (known !== undefined) return known;
    this.#sweepSome(SWEPT_PER_NEW_SCOPE, { second: this.#second, us: this.#seconds.latestUs });
    const use = new ScopeUse();
    this.#uses.set(id, use);
    return use;
  }

  /* Checks two old scopes for each new one, so that idle scopes cannot outnumber live ones. */
  #sweepSome(count: number, now: StoreTime): void {
    for (let seen = 0; seen < count; seen += 1) {
      const next = this.#sweep.next();
      if (next.done === true) {
        this.#sweep = this.#uses.entries();
        return;
      }
      const [id, use] = next.value;
      if (use.isIdle(now)) this.#uses.delete(id);
    }
  }
}

function take(claim: LimitClaim, uses: readonly ScopeUse[], now: StoreTime): MemoryLease {
  const lease = new MemoryLease(uses, claim, now.second);
  for (let index = 0; index < uses.length; index += 1) {
    const use = uses[index];
    const scope = claim.scopes[index];
    if (use === undefined || scope === undefined) continue;
    const waitUs = use.take(scope, claim, now);
    const { requestsPerMinute, tokensPerMinute, paced } = scope.limits;
    if (scope.countsRequests !== false) {
      lease.remainingRequests = smaller(lease.remainingRequests, requestsPerMinute, use.requests);
    }
    lease.remainingTokens = smaller(lease.remainingTokens, tokensPerMinute, use.tokens);
    if (paced === undefined) continue;
    lease.queueMs = Math.max(lease.queueMs, Math.ceil(waitUs / 1000));
    const slots: number[] = [...(lease.slotsUs ?? [])];
    slots[index] = now.us + waitUs;
    lease.slotsUs = slots;
  }
  return lease;
}

function readUsage(use: ScopeUse | undefined, second: number): ScopeUsage {
  if (use === undefined) return { requests: 0, tokens: 0, inFlight: 0 };
  use.advance(second);
  return { requests: use.requests.total, tokens: use.tokens.total, inFlight: use.inFlight };
}

function smaller(known: number, limit: number | undefined, window: RollingWindow): number {
  return limit === undefined ? known : Math.min(known, limit - window.total);
}

function difference(a: TokenCount, b: TokenCount): TokenCount {
  return {
    tokens: a.tokens - b.tokens,
    promptTokens: a.promptTokens - b.promptTokens,
    completionTokens: a.completionTokens - b.completionTokens,
  };
}

function toRefused(
  { scope, id, shownId = id }: ScopeClaim,
  { kind: limitKind, ...numbers }: Excess,
): Extract<ClaimOutcome, { kind: "refused" }> {
  return { kind: "refused", scope, limitKind, id: shownId, ...numbers };
}

function close(lease: LimitLease): MemoryLease {
  const held = checkOpen(lease);
  held.open = false;
  return held;
}

function checkOpen(lease: LimitLease): MemoryLease {
  assert(lease instanceof MemoryLease, "a lease goes back to the store that granted it");
  assert(lease.open, "a lease is released exactly once");
  return lease;
}
