import { formatExactUsd, formatUsd, type MicroUsd, type PicoUsd, usdJsonNumber } from "./money.ts";

/**
 * Finished JSON text that `printJson` writes unchanged. Dollar amounts use it, because their digits
 * come from an integer and must not pass through a float.
 */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export function usd(amount: MicroUsd): Raw {
  return new Raw(usdJsonNumber(amount));
}
/** Prints JSON: a bigint as an integer, a `Raw` as its own text, and undefined as null. */
export function printJson(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map(printJson).join(",")}]`;
  const members = membersOf(value);
  if (members === undefined) return JSON.stringify(value) ?? "null";
  const texts = members.map(([key, inner]) => `${JSON.stringify(key)}:${printJson(inner)}`);
  return `{${texts.join(",")}}`;
}

/** The members of an object or list, with names or indexes; undefined for any other value. */
export function membersOf(value: unknown): readonly [string, unknown][] | undefined {
  return typeof value === "object" && value !== null ? Object.entries(value) : undefined;
}

export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

export function instantOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : instant(ms);
}

export function usdOrNull(amount: MicroUsd | null | undefined): string | null {
  return amount === null || amount === undefined ? null : formatUsd(amount);
}

export function exactUsdOrNull(amount: PicoUsd | null | undefined): string | null {
  return amount === null || amount === undefined ? null : formatExactUsd(amount);
}
