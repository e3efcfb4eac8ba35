import { assert } from "./assert.ts";

/**
 * A bounded cache whose values expire a fixed time after they were read from their source. Values
 * are set soon after they were read, so the order of insertion is nearly the order of expiry. A
 * full cache drops the oldest.
 */
export class ExpiringCache<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly untilMs: number }>();
  readonly #liveMs: number;
  readonly #entriesMax: number;

  constructor(liveMs: number, entriesMax: number) {
    assert(entriesMax > 0, "a cache holds at least one entry");
    this.#liveMs = liveMs;
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string, nowMs: number): T | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && nowMs < entry.untilMs ? entry.value : undefined;
  }

  /** `readAtMs` is when `value` was read from its source, not when it is cached. */
  set(key: string, value: T, readAtMs: number): void {
    this.#entries.delete(key);
    this.#dropOldest(readAtMs);
    this.#entries.set(key, { value, untilMs: readAtMs + this.#liveMs });
  }

  drop(isStale: (value: T) => boolean): void {
    for (const [key, { value }] of this.#entries) {
      if (isStale(value)) this.#entries.delete(key);
    }
  }

  #dropOldest(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size < this.#entriesMax && nowMs < entry.untilMs) return;
      this.#entries.delete(key);
    }
  }
}

/** Returns a function that returns `make(text())` and calls `make` only if the text has changed. */
export function memoizeByText<T>(text: () => string, make: (text: string) => T): () => T {
  let before = text();
  let made = make(before);
  return () => {
    const now = text();
    if (now !== before) made = make(now);
    before = now;
    return made;
  };
}

/** Returns a function that calls `make` once for each object and keeps the result with it. */
export function memoizeByObject<K extends object, V extends object>(
  make: (key: K) => V,
): (key: K) => V {
  const known = new WeakMap<K, V>();
  return (key) => {
    let made = known.get(key);
    if (made === undefined) known.set(key, (made = make(key)));
    return made;
  };
}
