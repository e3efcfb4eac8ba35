import type { Refusal } from "./refusals.ts";

/** The result of a function that can refuse: the caller checks `ok`, and nothing else. */
export type Result<T extends object> = ({ readonly ok: true } & T) | Refused;

export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

export function refused(refusal: Refusal): Refused {
  return { ok: false, refusal };
}

/** A value that is made of a text, and made again when the text has changed. Makes it once already. */
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

/** The public part of a class: a port whose promises stand where they are kept. */
export type Public<C> = Pick<C, keyof C>;
