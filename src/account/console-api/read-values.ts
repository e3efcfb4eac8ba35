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

/** Undefined: the cap stays; null: the cap is removed. */
export function readCap(text: string | null | undefined): MicroUsd | null | undefined {
  if (text === undefined || text === null || text === "") return undefined;
  const amount = readAmount(text);
  return amount === 0n ? null : amount;
}

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

/** Parses an amount that the contract's schema has already accepted. */
export function readAmount(text: string): MicroUsd {
  const amount = parseUsd(text);
  assert(amount !== undefined && amount >= 0n, "an amount was checked before it is read");
  return amount;
}

export function readName(text: string): string | ConsoleRefusal {
  const name = text.trim();
  if (name === "") return invalidField("name", "name must not be blank");
  if (isUnprintable(name)) {
    return invalidField("name", "name must be one line without control characters");
  }
  return name;
}

export function isUnprintable(text: string): boolean {
  return UNPRINTABLE.test(text);
}

/* Control characters, and those that reorder or hide the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u200B-\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/u;
