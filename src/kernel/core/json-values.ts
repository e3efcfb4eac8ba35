import { formatExactUsd, formatUsd, type MicroUsd, type PicoUsd, usdJsonNumber } from "./money.ts";

/**
 * A piece of finished JSON text that `printJson` writes unchanged. Dollar amounts use it: their
 * digits come from an integer, never from a float.
 */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Formats dollars as a JSON number, exact to the micro-dollar. */
export function usd(amount: MicroUsd): Raw {
  return new Raw(usdJsonNumber(amount));
}
/** Writes a value as JSON. A bigint becomes an integer, and a `Raw` its own text. */
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

/** Formats an instant as ISO 8601 in UTC, with milliseconds. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

/** As `instant`, but null for a missing instant. */
export function instantOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : instant(ms);
}

export function usdOrNull(amount: MicroUsd | null | undefined): string | null {
  return amount === null || amount === undefined ? null : formatUsd(amount);
}

export function exactUsdOrNull(amount: PicoUsd | null | undefined): string | null {
  return amount === null || amount === undefined ? null : formatExactUsd(amount);
}
