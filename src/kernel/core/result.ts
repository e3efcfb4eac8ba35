import type { Refusal } from "./refusals.ts";

export type Result<T extends object> = ({ readonly ok: true } & T) | Refused;

export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

export function refused(refusal: Refusal): Refused {
  return { ok: false, refusal };
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

/** The public members of a class, as an interface that a test can implement. */
export type Public<C> = Pick<C, keyof C>;
