import { asText, pointerTo, textOf } from "../../kernel/index.ts";
import {
  brokenTerms,
  type Fields,
  asFields,
  asFieldsList,
  type Place,
  TERMS_RULES,
} from "./terms-rules.ts";
import { type ManifestProblem, patterns } from "./schema-parts.ts";
import { WIRE_PROFILE_RULES, wireProfileProblems } from "./wire-profile-rules.ts";

/** The rules that JSON Schema cannot express, by id. The published schema lacks them. */
export const BEYOND_SCHEMA_RULES: Readonly<Record<string, string>> = {
  "model-id-duplicate": "must list each model id once",
  "date-calendar": "must not name a 29 February of a year that has none",
  "url-unreadable": "must have a usable host and port in every URL",
  ...TERMS_RULES,
  ...WIRE_PROFILE_RULES,
};

/**
 * Finds problems that the schema cannot express. It also runs on documents that break the schema,
 * so that an author sees all problems at once; values of a wrong type are left to the schema.
 */
export function beyondSchema(value: unknown): ManifestProblem[] {
  const {
    provider,
    endpoint,
    models,
    catalog_source: catalogSource,
    listing_terms: listingTerms,
    wire_profile: profile,
  } = asFields(value);
  const listed = asFieldsList(models);
  return [
    ...unreadableUrls(["provider"], asFields(provider)),
    ...unreadableUrls(["endpoint"], asFields(endpoint)),
    ...duplicateIds(listed),
    ...listed.flatMap((model, index) => datesOffCalendar(["models", index], model, MODEL_DATES)),
    ...sourceDates(asFields(catalogSource)),
    ...Object.entries(asFields(listingTerms)).flatMap(([id, terms]) => termDates(id, terms)),
    ...brokenTerms(value),
    ...wireProfileProblems(profile),
  ];
}

const URL_FIELDS = [
  "privacy_policy_url",
  "terms_of_service_url",
  "status_page_url",
  "base_url",
  "url",
];
const urlPattern = new RegExp(patterns.url, "u");

function unreadableUrls(section: Place, fields: Fields): ManifestProblem[] {
  return URL_FIELDS.flatMap((field) => {
    const url = textOf(fields[field]);
    if (!urlPattern.test(url) || URL.canParse(url)) return [];
    const message = `${field} has no usable host or port; write it like https://api.example.com/v1`;
    return [{ pointer: pointerTo([...section, field]), rule: "url-unreadable", message }];
  });
}

function duplicateIds(models: readonly Fields[]): ManifestProblem[] {
  const firstIndex = new Map<string, number>();
  return models.flatMap((model, index) => {
    const id = asText(model["id"]);
    if (id === undefined) return [];
    const first = firstIndex.get(id);
    if (first === undefined) {
      firstIndex.set(id, index);
      return [];
    }
    const message = `id is already used by models[${first}]; list each model once`;
    return [{ pointer: pointerTo(["models", index, "id"]), rule: "model-id-duplicate", message }];
  });
}

const MODEL_DATES = ["deprecation_date", "released"];

function sourceDates(source: Fields): ManifestProblem[] {
  return [
    ...datesOffCalendar(["catalog_source"], source, ["dated"]),
    ...asFieldsList(source["against"]).flatMap((file, index) =>
      datesOffCalendar(["catalog_source", "against", index], file, ["dated"]),
    ),
  ];
}

function termDates(id: string, terms: unknown): ManifestProblem[] {
  const { checked, price_changes: changes } = asFields(terms);
  const place: Place = ["listing_terms", id];
  return [
    ...datesOffCalendar([...place, "checked"], asFields(checked), ["on"]),
    ...unreadableUrls([...place, "checked"], asFields(checked)),
    ...asFieldsList(changes).flatMap((change, index) =>
      datesOffCalendar([...place, "price_changes", index], change, ["from"]),
    ),
  ];
}

function datesOffCalendar(
  place: Place,
  object: Fields,
  fields: readonly string[],
): ManifestProblem[] {
  return fields.flatMap((field) => {
    const date = textOf(object[field]);
    if (!/^[0-9]{4}-02-29/.test(date) || isLeapYear(date)) return [];
    const message = `${field} names a 29 February of a year that has none`;
    return [{ pointer: pointerTo([...place, field]), rule: "date-calendar", message }];
  });
}

function isLeapYear(date: string): boolean {
  const year = Number(date.slice(0, 4));
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}
