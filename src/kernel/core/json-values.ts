import { formatExactUsd, formatUsd, type MicroUsd, type PicoUsd, usdJsonNumber } from "./money.ts";

/**
 * Money answers are written as JSON text: dollar amounts are numbers whose digits come from the
 * integer, and no float is in between. `Raw` marks such a piece.
 */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Dollars as a number of a JSON answer, exact to the micro-dollar. */
export function usd(amount: MicroUsd): Raw {
  return new Raw(usdJsonNumber(amount));
}
/** JSON with exact integers from bigint and exact numbers from `Raw`. */
export function printJson(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map(printJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([key, inner]) => `${JSON.stringify(key)}:${printJson(inner)}`,
    );
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

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
