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
