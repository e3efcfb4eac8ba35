import type { Descriptor, Model, ModelProvider } from "../../api/contract.ts";
import { formatCount, countryName } from "../../ui/format.ts";
import { showUtc } from "../../ui/time.tsx";

export const MODALITY_NAMES: Readonly<Record<Model["modality"], string>> = {
  text: "Text",
  image: "Image",
  video: "Video",
  decisions: "Decisions",
};

/** Writes a number of tokens in short form, such as `"128K"` or `"1M"`; null as a dash. */
export function shortTokens(tokens: number | null): string {
  return tokens === null ? "–" : COMPACT.format(tokens);
}
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

/** Such as `"temperature 0 to 2, default 1"`. */
export function parameterLabel(name: string, descriptor: Descriptor): string {
  const { type, values, min, max, unit } = descriptor;
  const fallback = descriptor.default === undefined ? "" : `, default ${descriptor.default}`;
  if (type === "enum") return `${name}: ${(values ?? []).join(", ")}${fallback}`;
  if (type === "boolean" || type === "unknown") return name;
  const span = spanLabel(min, max);
  return `${name}${span === "" ? "" : ` ${span}`}${unit === undefined ? "" : ` ${unit}`}${fallback}`;
}

function spanLabel(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return `${showNumber(min)} to ${showNumber(max)}`;
  if (min !== undefined) return `from ${showNumber(min)}`;
  return max === undefined ? "" : `up to ${showNumber(max)}`;
}

function showNumber(value: number): string {
  return Number.isInteger(value) ? formatCount(value) : String(value);
}

export function countryNames(codes: readonly string[]): string {
  return codes.length === 0 ? "Not declared" : codes.map(countryName).join(", ");
}

export function capacityLabel(capacity: ModelProvider["capacity"]): string {
  if (capacity.length === 0) return "Not declared";
  return capacity
    .map(({ type, per, value }) => `${formatCount(value)} ${THINGS[type] ?? type} per ${per}`)
    .join(", ");
}
const THINGS: Readonly<Record<string, string>> = {
  request: "requests",
  prompt: "input tokens",
  completion: "output tokens",
};

export function loggingLabel(listings: readonly Pick<ModelProvider, "prompt_logging">[]): {
  readonly word: string;
  readonly tone: "ok" | "warn";
} {
  const kept = listings.filter(({ prompt_logging }) => prompt_logging === "retained").length;
  if (kept === 0) return { word: "No prompt logging", tone: "ok" };
  const word = kept === listings.length ? "Prompts retained" : "Some providers retain prompts";
  return { word, tone: "warn" };
}

/** Says when a model leaves: `"Leaves on 3 Jan 2027"`. Undefined if no day is set, or after it. */
export function leavingLabel(deprecationDate: string | null, nowMs: number): string | undefined {
  if (deprecationDate === null) return undefined;
  const lastMs = Date.parse(`${deprecationDate}T23:59:59.999Z`);
  if (Number.isNaN(lastMs) || lastMs < nowMs) return undefined;
  return `Leaves on ${dayLabel(deprecationDate)}`;
}

export function dayLabel(day: string): string {
  const at = `${day}T00:00:00Z`;
  return Number.isNaN(Date.parse(at)) ? day : showUtc(at, "day");
}
