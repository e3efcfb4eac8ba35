import type { LimitKind } from "../../../kernel/index.ts";
import { DeclaredWindows, RollingWindow, WINDOW_SECONDS } from "../rolling-window.ts";
import {
  kindOfWindow,
  pacingIntervalUs,
  pacingWaitUs,
  pacingWaitUsMax,
  type ScopeClaim,
  type TokenCount,
  countCharge,
} from "../limit-store.ts";

const CONCURRENCY_RETRY_SECONDS = 1;
const US_PER_SECOND = 1_000_000;

export interface StoreTime {
  readonly second: number;
  readonly us: number;
}

export interface Excess {
  readonly kind: LimitKind;
  readonly limit: number;
  readonly retryAfterSeconds: number;
  /**
   * `used` is the use before the request, `asked` what the request would add. Both are absent if
   * nothing is counted.
   */
  readonly used?: number;
  readonly asked?: number;
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

export class ScopeUse {
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

  /**
   * Returns the first limit of the scope that the request exceeds, with the longest wait of all
   * exceeded limits; undefined if the request fits.
   */
  excess(scope: ScopeClaim, tokens: TokenCount, now: StoreTime): Excess | undefined {
    const { requestsPerMinute, tokensPerMinute, requestsPerSecond } = scope.limits;
    const counts = scope.countsRequests !== false;
    let found: Excess | undefined;
    if (this.#extras !== undefined && this.#extras.coolUntilUs > now.us) {
      found = excess("capacity", 0, (this.#extras.coolUntilUs - now.us) / US_PER_SECOND);
    }
    const used = this.requests.newestAmount;
    if (counts && requestsPerSecond !== undefined && used >= requestsPerSecond) {
      found = withLongerWait(found, { ...excess("rps", requestsPerSecond, 1), used, asked: 1 });
    }
    if (counts && requestsPerMinute !== undefined && this.requests.total >= requestsPerMinute) {
      found = withLongerWait(found, over("rpm", this.requests, requestsPerMinute, 1));
    }
    if (tokensPerMinute !== undefined && this.tokens.total + tokens.tokens > tokensPerMinute) {
      found = withLongerWait(found, over("tpm", this.tokens, tokensPerMinute, tokens.tokens));
    }
    found = withLongerWait(found, this.#windowExcess(scope, tokens, now.second));
    found = withLongerWait(found, this.checkConcurrency(scope));
    return counts ? withLongerWait(found, this.#queueExcess(scope, now.us)) : found;
  }

  checkConcurrency({ limits: { concurrent } }: ScopeClaim): Excess | undefined {
    if (concurrent === undefined || this.inFlight < concurrent) return undefined;
    const full = excess("concurrency", concurrent, CONCURRENCY_RETRY_SECONDS);
    return { ...full, used: this.inFlight, asked: 1 };
  }

  /** Charges the request; returns its pacing delay in microseconds. */
  take(scope: ScopeClaim, tokens: TokenCount, now: StoreTime): number {
    const counts = scope.countsRequests !== false;
    this.inFlight += 1;
    this.tokens.add(tokens.tokens);
    if (counts) this.requests.add(1);
    const { windows, paced } = scope.limits;
    for (const window of windows ?? []) {
      this.#someExtras().windows.add(window, now.second, countCharge(window, tokens, counts));
    }
    if (paced === undefined || !counts) return 0;
    const extras = this.#someExtras();
    const waitUs = pacingWaitUs(extras.nextSlotUs, now.us);
    extras.nextSlotUs = now.us + waitUs + pacingIntervalUs(paced);
    return waitUs;
  }

  /**
   * Adds `by` and `requests` to the charges of the second `chargedAt`, in the windows where they
   * still count.
   */
  correct(scope: ScopeClaim, by: TokenCount, requests: number, chargedAt: number): void {
    const second = this.tokens.newestSecond;
    this.tokens.correct(chargedAt, by.tokens);
    this.requests.correct(chargedAt, requests);
    for (const window of scope.limits.windows ?? []) {
      const delta = window.kind === "request" ? requests : countCharge(window, by, true);
      this.#someExtras().windows.correct(window, chargedAt, second, delta);
    }
  }

  /** Releases the turn that starts at `slotUs`, unless another request waits behind it. */
  releaseSlot(scope: ScopeClaim, slotUs: number): void {
    const { paced } = scope.limits;
    const extras = this.#extras;
    if (paced === undefined || extras === undefined || scope.countsRequests === false) return;
    if (extras.nextSlotUs === slotUs + pacingIntervalUs(paced)) extras.nextSlotUs = slotUs;
  }

  #windowExcess(scope: ScopeClaim, tokens: TokenCount, second: number): Excess | undefined {
    const { windows } = scope.limits;
    if (windows === undefined) return undefined;
    const counts = scope.countsRequests !== false;
    const declared = this.#someExtras().windows;
    let found: Excess | undefined;
    for (const window of windows) {
      if (window.kind === "request" && !counts) continue;
      const used = declared.total(window, second);
      const asked = countCharge(window, tokens, counts);
      const excessive = used + asked - window.limit;
      if (excessive <= 0) continue;
      const wait = declared.secondsUntilLeft(window, second, excessive);
      const full = excess(kindOfWindow(window), window.limit, wait);
      found = withLongerWait(found, { ...full, used, asked });
    }
    return found;
  }

  #queueExcess(scope: ScopeClaim, nowUs: number): Excess | undefined {
    const { paced } = scope.limits;
    if (paced === undefined || this.#extras === undefined) return undefined;
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
export function withLongerWait(
  first: Excess | undefined,
  other: Excess | undefined,
): Excess | undefined {
  if (first === undefined || other === undefined) return first ?? other;
  const { retryAfterSeconds } = other;
  return first.retryAfterSeconds >= retryAfterSeconds ? first : { ...first, retryAfterSeconds };
}

function over(kind: LimitKind, window: RollingWindow, limit: number, asked: number): Excess {
  const used = window.total;
  return { ...excess(kind, limit, window.secondsUntilLeft(used + asked - limit)), used, asked };
}

function excess(kind: LimitKind, limit: number, seconds: number): Excess {
  return { kind, limit, retryAfterSeconds: Math.max(1, Math.ceil(seconds)) };
}
