import { formatExactUsd, formatUsd, type MicroUsd, type PicoUsd } from "./money.ts";

/** ISO 8601 in UTC, with milliseconds. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

/** The same, and null where there is none. */
export function instantOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : instant(ms);
}

export function usdOrNull(amount: MicroUsd | null | undefined): string | null {
  return amount === null || amount === undefined ? null : formatUsd(amount);
}

export function exactUsdOrNull(amount: PicoUsd | null | undefined): string | null {
  return amount === null || amount === undefined ? null : formatExactUsd(amount);
}
