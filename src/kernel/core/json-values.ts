import { formatExactUsd, formatUsd, type MicroUsd, type PicoUsd } from "./money.ts";

/** ISO 8601 in UTC, with milliseconds. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

/** Formats an instant as above, and keeps null. */
export function instantOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : instant(ms);
}

export function usdOrNull(amount: MicroUsd | null | undefined): string | null {
  return amount === null || amount === undefined ? null : formatUsd(amount);
}

export function exactUsdOrNull(amount: PicoUsd | null | undefined): string | null {
  return amount === null || amount === undefined ? null : formatExactUsd(amount);
}
