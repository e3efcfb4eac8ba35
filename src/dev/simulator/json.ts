import { asObject, textOf } from "../../kernel/index.ts";

/* Marks a string that represents a raw number; no text of a request begins with it. */
const RAW = "\u0000raw:";
const RAW_IN_JSON = /"\\u0000raw:((?:[^"\\]|\\.)*)"/g;

/** A JSON object whose fields were not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return asObject(value) !== undefined;
}

/** The objects of a list; anything else in it is left out, anything but a list is empty. */
export function pickObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function pickStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The text of a message's content, be it a string or a list of parts. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return pickObjects(content)
    .filter((part) => part["type"] === "text")
    .map((part) => textOf(part["text"]))
    .join("\n");
}

/** True if providers treat the value as absent. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** The entries of some lines, for lookup. */
export function wordSet(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}

/** A number that is written digit for digit, whatever a float could hold of it. */
export function rawNumber(text: string): string {
  return `${RAW}${text}`;
}

/** The JSON text of a document; raw numbers in it come out as they were given. */
export function jsonText(document: JsonObject): string {
  return JSON.stringify(document).replaceAll(RAW_IN_JSON, (_match, text: string) =>
    JSON.parse(`"${text}"`),
  );
}

const TICK_DIGITS = 10;

/** So many cents as USD in decimal notation, `0.04`. */
export function toUsd(cents: number): string {
  const digits = String(cents).padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`.replace(/\.?0+$/, "");
}

/** USD in decimal notation as ticks of 10^-10 USD; any other text stays as it is. */
export function toTicks(usd: string): string {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(usd);
  if (match === null) return usd;
  const [, whole = "", fraction = ""] = match;
  const ticks = `${whole}${fraction.slice(0, TICK_DIGITS).padEnd(TICK_DIGITS, "0")}`;
  return ticks.replace(/^0+(?=\d)/, "");
}
