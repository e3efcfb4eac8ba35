import {
  assert,
  CAP_FIELDS,
  CAP_PERIODS,
  type CapField,
  type Caps,
  type MicroUsd,
  parseUsd,
} from "../../kernel/index.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";

/** The meaning of a cap field: undefined changes nothing, null removes the cap. */
export function readCap(text: string | null | undefined): MicroUsd | null | undefined {
  if (text === undefined || text === null || text === "") return undefined;
  const amount = readAmount(text);
  return amount === 0n ? null : amount;
}

/** The caps of a key that a change names; absent if the cap stays. */
export function readCaps(body: {
  readonly [F in CapField]?: string | null | undefined;
}): Partial<Caps> {
  return Object.fromEntries(
    CAP_PERIODS.flatMap((period) => {
      const cap = readCap(body[CAP_FIELDS[period]]);
      return cap === undefined ? [] : [[period, cap]];
    }),
  );
}

/** Parses an amount that the contract's schema has accepted. */
export function readAmount(text: string): MicroUsd {
  const amount = parseUsd(text);
  assert(amount !== undefined && amount >= 0n, "an amount was checked before it is read");
  return amount;
}

/** Reads a name: trimmed, in one line. */
export function readName(text: string): string | ConsoleRefusal {
  const name = text.trim();
  if (name === "") return invalidField("name", "name must not be blank");
  if (isUnprintable(name)) {
    return invalidField("name", "name must be one line without control characters");
  }
  return name;
}

/** True if the text contains control characters or bidirectional overrides. */
export function isUnprintable(text: string): boolean {
  return UNPRINTABLE.test(text);
}

/* Control characters, and those that reorder or hide the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u200B-\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/u;
