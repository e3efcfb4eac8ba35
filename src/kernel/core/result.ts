import type { Refusal } from "./refusals.ts";

/** What a function returns that can refuse: the caller asks `ok`, and nothing else. */
export type Result<T extends object> = ({ readonly ok: true } & T) | Refused;

export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

export function refused(refusal: Refusal): Refused {
  return { ok: false, refusal };
}
