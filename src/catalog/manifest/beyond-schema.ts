import { pointerTo } from "../../json/index.ts";
import type { ManifestProblem } from "./manifest-problem.ts";
import { patterns } from "./schema-parts.ts";

/** Rules that JSON Schema cannot say; on these alone validator and published schema differ. */
export const BEYOND_SCHEMA_RULES: readonly string[] = [
  "model-id-duplicate",
  "date-calendar",
  "url-unreadable",
];

/**
 * Finds what the schema cannot express. Runs on documents that break the schema as well, so that
 * all problems come at once; a value of the wrong type is the schema's affair and is skipped.
 */
export function beyondSchema(value: unknown): ManifestProblem[] {
  const { provider, endpoint, models } = fieldsOf(value);
  const listed = Array.isArray(models) ? models.map(fieldsOf) : [];
  return [
    ...unreadableUrls("provider", fieldsOf(provider)),
    ...unreadableUrls("endpoint", fieldsOf(endpoint)),
    ...duplicateIds(listed),
    ...listed.flatMap(datesOffCalendar),
  ];
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

const URL_FIELDS = ["privacy_policy_url", "terms_of_service_url", "status_page_url", "base_url"];
const urlPattern = new RegExp(patterns.url, "u");

function unreadableUrls(section: string, fields: Fields): ManifestProblem[] {
  return URL_FIELDS.flatMap((field) => {
    const url = fields[field];
    if (typeof url !== "string" || !urlPattern.test(url) || URL.canParse(url)) return [];
    const message = `${field} has no usable host or port; write it like https://api.example.com/v1`;
    return [{ pointer: pointerTo([section, field]), rule: "url-unreadable", message }];
  });
}

function duplicateIds(models: readonly Fields[]): ManifestProblem[] {
  const firstIndex = new Map<string, number>();
  return models.flatMap(({ id }, index) => {
    if (typeof id !== "string") return [];
    const first = firstIndex.get(id);
    if (first === undefined) {
      firstIndex.set(id, index);
      return [];
    }
    const message = `id is already used by models[${first}]; list each model once`;
    return [{ pointer: pointerTo(["models", index, "id"]), rule: "model-id-duplicate", message }];
  });
}

function datesOffCalendar(model: Fields, index: number): ManifestProblem[] {
  return ["deprecation_date", "released"].flatMap((field) => {
    const date = model[field];
    if (typeof date !== "string" || !date.endsWith("-02-29") || isLeapYear(date)) return [];
    const message = `${field} names a 29 February of a year that has none`;
    return [{ pointer: pointerTo(["models", index, field]), rule: "date-calendar", message }];
  });
}

function isLeapYear(date: string): boolean {
  const year = Number(date.slice(0, 4));
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}
