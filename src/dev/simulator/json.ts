import { asObject, asText, textOf } from "../../kernel/index.ts";

/* Prefix that marks a string as a raw number. No text of a request begins with it. */
const RAW = "\u0000raw:";
const RAW_IN_JSON = /"\\u0000raw:((?:[^"\\]|\\.)*)"/g;

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return asObject(value) !== undefined;
}

export function pickObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function pickStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.flatMap((item) => asText(item) ?? []) : [];
}

export function contentText(content: unknown): string {
  const parts = pickObjects(content).filter((part) => part["type"] === "text");
  return asText(content) ?? parts.map((part) => textOf(part["text"])).join("\n");
}

/** True for undefined and null: providers treat both as an absent field. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

export function wordSet(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}

/** Marks a number that `jsonText` writes digit for digit, without a float's rounding. */
export function rawNumber(text: string): string {
  return `${RAW}${text}`;
}

/** Writes JSON in which the numbers of `rawNumber` keep all of their digits. */
export function jsonText(document: JsonObject): string {
  return JSON.stringify(document).replaceAll(RAW_IN_JSON, (_match, text: string) =>
    JSON.parse(`"${text}"`),
  );
}

const TICK_DIGITS = 10;

export function toUsd(cents: number): string {
  const digits = String(cents).padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`.replace(/\.?0+$/, "");
}

/** Converts USD to ticks of 10^-10 USD. Returns a text that is not a decimal number unchanged. */
export function toTicks(usd: string): string {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(usd);
  if (match === null) return usd;
  const [, whole = "", fraction = ""] = match;
  const ticks = `${whole}${fraction.slice(0, TICK_DIGITS).padEnd(TICK_DIGITS, "0")}`;
  return ticks.replace(/^0+(?=\d)/, "");
}
