import type { DeclaredWindow, TokenCount } from "./limit-store.ts";
import { RollingWindow, WINDOW_SECONDS } from "./rolling-window.ts";

/** Length in seconds of one bucket of a declared window: a window has sixty, whatever its length. */
export function bucketSeconds(window: DeclaredWindow): number {
  return window.seconds / WINDOW_SECONDS;
}

/** The amount by which one request charges a window. */
export function countCharge(
  window: DeclaredWindow,
  tokens: TokenCount,
  countsRequests: boolean,
): number {
  if (window.kind === "request") return countsRequests ? 1 : 0;
  return window.kind === "prompt" ? tokens.promptTokens : tokens.completionTokens;
}

interface LongRing {
  readonly ring: RollingWindow;
  /** Seconds of one bucket. */
  readonly length: number;
}

/** The declared windows of one scope; each is made when it is first asked for. */
export class DeclaredWindows {
  readonly #rings: Map<string, LongRing> = new Map();

  /** The total at `second`. */
  total(window: DeclaredWindow, second: number): number {
    return this.#at(window, second).ring.total;
  }

  add(window: DeclaredWindow, second: number, amount: number): void {
    this.#at(window, second).ring.add(amount);
  }

  /** Changes what was charged at `chargedAt`, when that still counts at `second`. */
  correct(window: DeclaredWindow, chargedAt: number, second: number, delta: number): void {
    const { ring, length } = this.#at(window, second);
    ring.correct(Math.floor(chargedAt / length), delta);
  }

  /** Seconds until at least `amount` of what counts has left. */
  secondsUntilLeft(window: DeclaredWindow, second: number, amount: number): number {
    const { ring, length } = this.#at(window, second);
    return (ring.newestSecond + ring.secondsUntilLeft(amount)) * length - second;
  }

  /** True if nothing counts at `second` any more. */
  isEmpty(second: number): boolean {
    for (const { ring, length } of this.#rings.values()) {
      ring.advance(Math.floor(second / length));
      if (ring.total !== 0) return false;
    }
    return true;
  }

  #at(window: DeclaredWindow, second: number): LongRing {
    const name = `${window.kind} ${window.seconds}`;
    let long = this.#rings.get(name);
    if (long === undefined) {
      long = { ring: new RollingWindow(), length: bucketSeconds(window) };
      this.#rings.set(name, long);
    }
    long.ring.advance(Math.floor(second / long.length));
    return long;
  }
}
