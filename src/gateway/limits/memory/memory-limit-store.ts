import { assert, type LimitKind } from "../../../kernel/index.ts";
import {
  type ClaimOutcome,
  countCharge,
  countsTowards,
  kindOfWindow,
  type LimitClaim,
  type LimitLease,
  type LimitStore,
  NO_TOKENS,
  type Pace,
  pacingIntervalUs,
  pacingWaitUs,
  pacingWaitUsMax,
  type ScopeClaim,
  type ScopeUsage,
  type TokenCount,
} from "../limit-store.ts";
import {
  DeclaredWindows,
  RollingWindow,
  SteadySeconds,
  WINDOW_SECONDS,
} from "../rolling-window.ts";

const SWEPT_PER_NEW_SCOPE = 2;
const SWEPT_PER_SECOND = 64;

type Claimed = Pick<LimitClaim, "scopes" | keyof TokenCount>;

class MemoryLease implements LimitLease {
  readonly uses: readonly ScopeUse[];
  /** Where the lease holds a concurrency place: scopes of the claim, or those of departed calls. */
  places: readonly ScopeUse[];
  readonly claim: Claimed;
  readonly second: number;
  remainingRequests: number = Number.MAX_SAFE_INTEGER;
  remainingTokens: number = Number.MAX_SAFE_INTEGER;
  queueMs = 0;
  /**
   * The start of the lease's turn in each paced scope, in microseconds; undefined without a pace.
   */
  slotsUs: number[] | undefined;
  open = true;

  constructor(uses: readonly ScopeUse[], claim: Claimed, second: number) {
    this.uses = uses;
    this.places = uses;
    this.claim = claim;
    this.second = second;
  }
}

/**
 * Rolling windows and concurrency in the memory of one process. No method waits for anything, so a
 * claim over several scopes is atomic. Memory is bounded by the number of scopes that were used in
 * the last minute or in their longest window; idle scopes are swept a few at a time.
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
      // Counted before the next scope is opened, because opening it sweeps scopes that look idle.
      place.inFlight += 1;
      return place;
    });
  }

  release(lease: LimitLease, observed: TokenCount, nowMs: number): void {
    this.#close(lease, observed, 0, nowMs);
  }

  undo(lease: LimitLease, nowMs: number): void {
    const held = this.#close(lease, NO_TOKENS, -1, nowMs);
    for (let index = 0; index < held.uses.length; index += 1) {
      const scope = held.claim.scopes[index];
      const slotUs = held.slotsUs?.[index];
      if (scope !== undefined && slotUs !== undefined) held.uses[index]?.releaseSlot(scope, slotUs);
    }
  }

  peek(of: Pick<LimitClaim, "scopes" | "nowMs">): Promise<readonly ScopeUsage[] | undefined> {
    const { second } = this.#moveTo(of.nowMs);
    return Promise.resolve(of.scopes.map(({ id }) => readUsage(this.#uses.get(id), second)));
  }

  cool(_slot: string, id: string, seconds: number, nowMs: number): void {
    const now = this.#moveTo(nowMs);
    this.#openUse(id).cool(now.us + Math.ceil(seconds * 1_000_000));
  }

  #close(lease: LimitLease, observed: TokenCount, requests: number, nowMs: number): MemoryLease {
    const held = checkOpen(lease);
    held.open = false;
    const { second } = this.#moveTo(nowMs);
    const { claim } = held;
    const by = {
      tokens: observed.tokens - claim.tokens,
      promptTokens: observed.promptTokens - claim.promptTokens,
      completionTokens: observed.completionTokens - claim.completionTokens,
    };
    for (const place of held.places) place.inFlight -= 1;
    for (let index = 0; index < held.uses.length; index += 1) {
      const use = held.uses[index];
      const scope = held.claim.scopes[index];
      if (use === undefined || scope === undefined) continue;
      use.advance(second);
      use.correct(scope, by, requests, held.second);
    }
    return held;
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

  // Checks two scopes per new scope and 64 per new second, so that idle scopes do not accumulate.
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
    if (!countsTowards(scope, "concurrent")) {
      lease.places = lease.places.filter((each) => each !== use);
    }
    const { requestsPerMinute, tokensPerMinute, paced } = scope.limits;
    lease.remainingRequests = smaller(lease.remainingRequests, requestsPerMinute, use.requests);
    lease.remainingTokens = smaller(lease.remainingTokens, tokensPerMinute, use.tokens);
    if (paced === undefined) continue;
    lease.queueMs = Math.max(lease.queueMs, Math.ceil(waitUs / 1000));
    (lease.slotsUs ??= [])[index] = now.us + waitUs;
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

type RefusedClaim = Extract<ClaimOutcome, { kind: "refused" }>;

function toRefused(
  { scope, id, shownId = id }: ScopeClaim,
  { kind: limitKind, ...numbers }: Excess,
): RefusedClaim {
  return { kind: "refused", scope, limitKind, id: shownId, ...numbers };
}

function checkOpen(lease: LimitLease): MemoryLease {
  assert(lease instanceof MemoryLease, "a lease goes back to the store that granted it");
  assert(lease.open, "a lease is released exactly once");
  return lease;
}

const CONCURRENCY_RETRY_SECONDS = 1;
const US_PER_SECOND = 1_000_000;

interface StoreTime {
  readonly second: number;
  readonly us: number;
}

interface Excess extends Pick<RefusedClaim, "limit" | "retryAfterSeconds" | "used" | "asked"> {
  readonly kind: LimitKind;
}

/** State that few scopes need, allocated only for these: a pace, a cooldown, declared windows. */
class ScopeExtras {
  readonly windows: DeclaredWindows = new DeclaredWindows();
  nextSlotUs = 0;
  coolUntilUs = 0;

  isIdle(now: StoreTime): boolean {
    return (
      this.nextSlotUs <= now.us && this.coolUntilUs <= now.us && this.windows.isEmpty(now.second)
    );
  }
}

class ScopeUse {
  readonly requests: RollingWindow = new RollingWindow();
  readonly tokens: RollingWindow = new RollingWindow();
  inFlight = 0;
  #extras: ScopeExtras | undefined;

  advance(second: number): void {
    this.requests.advance(second);
    this.tokens.advance(second);
  }

  isIdle(now: StoreTime): boolean {
    if (this.inFlight > 0 || now.second - this.requests.newestSecond <= WINDOW_SECONDS)
      return false;
    return this.#extras?.isIdle(now) !== false;
  }

  cool(untilUs: number): void {
    const extras = this.#someExtras();
    extras.coolUntilUs = Math.max(extras.coolUntilUs, untilUs);
  }

  /** Returns the first limit that the request exceeds, with the longest wait of all of them. */
  excess(scope: ScopeClaim, tokens: TokenCount, now: StoreTime): Excess | undefined {
    const { requestsPerMinute, tokensPerMinute, requestsPerSecond, windows, paced } = scope.limits;
    let found: Excess | undefined;
    if (this.#extras !== undefined && this.#extras.coolUntilUs > now.us) {
      found = excess("capacity", 0, (this.#extras.coolUntilUs - now.us) / US_PER_SECOND);
    }
    if (requestsPerSecond !== undefined) {
      const used = this.requests.newestAmount;
      if (used >= requestsPerSecond) {
        found = withLongerWait(found, excess("rps", requestsPerSecond, 1, { used, asked: 1 }));
      }
    }
    if (requestsPerMinute !== undefined && this.requests.total >= requestsPerMinute) {
      found = withLongerWait(found, over("rpm", this.requests, requestsPerMinute, 1));
    }
    if (tokensPerMinute !== undefined && this.tokens.total + tokens.tokens > tokensPerMinute) {
      found = withLongerWait(found, over("tpm", this.tokens, tokensPerMinute, tokens.tokens));
    }
    if (windows !== undefined) {
      found = withLongerWait(found, this.#windowExcess(scope, tokens, now.second));
    }
    found = withLongerWait(found, this.checkConcurrency(scope));
    if (paced === undefined) return found;
    return withLongerWait(found, this.#queueExcess(paced, now.us));
  }

  checkConcurrency({ limits: { concurrent } }: ScopeClaim): Excess | undefined {
    if (concurrent === undefined || this.inFlight < concurrent) return undefined;
    const counted = { used: this.inFlight, asked: 1 };
    return excess("concurrency", concurrent, CONCURRENCY_RETRY_SECONDS, counted);
  }

  /** Charges the request; returns its pacing delay in microseconds. */
  take(scope: ScopeClaim, tokens: TokenCount, now: StoreTime): number {
    if (countsTowards(scope, "concurrent")) this.inFlight += 1;
    if (countsTowards(scope, "tokensPerMinute")) this.tokens.add(tokens.tokens);
    if (countsTowards(scope, "requestsPerMinute")) this.requests.add(1);
    const { windows, paced } = scope.limits;
    for (const window of windows ?? []) {
      const { ring } = this.#someExtras().windows.at(window, now.second);
      ring.add(countCharge(window, tokens));
    }
    if (paced === undefined) return 0;
    const extras = this.#someExtras();
    const waitUs = pacingWaitUs(extras.nextSlotUs, now.us);
    extras.nextSlotUs = now.us + waitUs + pacingIntervalUs(paced);
    return waitUs;
  }

  /** Changes the charges made in the second `chargedAt`, in the windows where they still count. */
  correct(scope: ScopeClaim, by: TokenCount, requests: number, chargedAt: number): void {
    const second = this.tokens.newestSecond;
    if (countsTowards(scope, "tokensPerMinute")) this.tokens.correct(chargedAt, by.tokens);
    if (countsTowards(scope, "requestsPerMinute")) this.requests.correct(chargedAt, requests);
    for (const window of scope.limits.windows ?? []) {
      const delta = window.kind === "request" ? requests : countCharge(window, by);
      this.#someExtras().windows.at(window, second).correct(chargedAt, delta);
    }
  }

  /** Releases the turn that starts at `slotUs`, unless another request waits behind it. */
  releaseSlot(scope: ScopeClaim, slotUs: number): void {
    const { paced } = scope.limits;
    const extras = this.#extras;
    if (paced === undefined || extras === undefined) return;
    if (extras.nextSlotUs === slotUs + pacingIntervalUs(paced)) extras.nextSlotUs = slotUs;
  }

  #windowExcess(scope: ScopeClaim, tokens: TokenCount, second: number): Excess | undefined {
    const { windows = [] } = scope.limits;
    const declared = this.#someExtras().windows;
    let found: Excess | undefined;
    for (const window of windows) {
      const long = declared.at(window, second);
      const used = long.ring.total;
      const asked = countCharge(window, tokens);
      const excessive = used + asked - window.limit;
      if (excessive <= 0) continue;
      const wait = long.secondsUntilLeft(excessive, second);
      const full = excess(kindOfWindow(window), window.limit, wait, { used, asked });
      found = withLongerWait(found, full);
    }
    return found;
  }

  #queueExcess(paced: Pace, nowUs: number): Excess | undefined {
    if (this.#extras === undefined) return undefined;
    const overUs = pacingWaitUs(this.#extras.nextSlotUs, nowUs) - pacingWaitUsMax(paced);
    if (overUs <= 0) return undefined;
    return excess("rps_queue", paced.perSecond, overUs / US_PER_SECOND);
  }

  #someExtras(): ScopeExtras {
    this.#extras ??= new ScopeExtras();
    return this.#extras;
  }
}

/** Keeps the first exceeded limit, which the refusal names, with the longer of both waits. */
function withLongerWait(first: Excess | undefined, other: Excess | undefined): Excess | undefined {
  if (first === undefined || other === undefined) return first ?? other;
  const { retryAfterSeconds } = other;
  return first.retryAfterSeconds >= retryAfterSeconds ? first : { ...first, retryAfterSeconds };
}

function over(kind: LimitKind, window: RollingWindow, limit: number, asked: number): Excess {
  const used = window.total;
  return excess(kind, limit, window.secondsUntilLeft(used + asked - limit), { used, asked });
}

function excess(
  kind: LimitKind,
  limit: number,
  seconds: number,
  counted?: Required<Pick<Excess, "used" | "asked">>,
): Excess {
  return { kind, limit, retryAfterSeconds: Math.max(1, Math.ceil(seconds)), ...counted };
}
