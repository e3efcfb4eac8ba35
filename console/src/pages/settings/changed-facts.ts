import { showUsd } from "../../ui/money-math.ts";

type Facts = Readonly<Record<string, unknown>> | null;

/**
 * The difference that a change made, in one line: `Cap: none → $12.50`. What was and stays empty is
 * left out.
 */
export function changedFacts(before: Facts, after: Facts): string {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .flatMap((name) => {
      const [was, is] = [wordOf(name, before?.[name]), wordOf(name, after?.[name])];
      if (was === is) return [];
      const label = labelOf(name);
      if (before === null) return [`${label}: ${is}`];
      return [after === null ? `${label} was ${was}` : `${label}: ${was} → ${is}`];
    })
    .join(", ");
}

/** The field's name as a word of a sentence: no unit, and no sign that it is a yes or a no. */
function labelOf(name: string): string {
  const known = LABELS[name];
  if (known !== undefined) return known;
  const words = name
    .replace(/^(?:is|has)_/, "")
    .replace(USD, "")
    .replaceAll("_", " ");
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}
const USD = /_usd$/;
const LABELS: Readonly<Record<string, string>> = {
  rpm: "Requests per minute",
  cap_day_usd: "Daily cap",
  cap_week_usd: "Weekly cap",
  ref: "Reference",
  issuer: "Signed in by",
};

function wordOf(name: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.map(String).join(", ");
  if (typeof value !== "string") return JSON.stringify(value);
  const isMoney = USD.test(name) && /^-?\d+\.\d{6}$/.test(value);
  return isMoney ? showUsd(value).replace(/(\.\d\d)0000$/, "$1") : value;
}
