import { isDeepStrictEqual } from "node:util";

import type { Manifest, ManifestDescriptor } from "../../catalog/index.ts";
import { OUTPUT_TOKENS_MAX, asObject, asText } from "../../kernel/index.ts";
import type { Listing } from "./listing-prices.ts";

export interface FactDifference {
  /** Path of the field, such as `supported_parameters.seed` or `endpoint.base_url`. */
  readonly field: string;
  /** The value as the manifest writes it; null if the manifest does not state the field. */
  readonly old: unknown;
  readonly new: unknown;
  /** True if the change takes something away from clients. */
  readonly is_less: boolean;
}

/** Compares two versions of a listing in everything but prices. */
export function diffListingFacts(before: Listing, after: Listing): readonly FactDifference[] {
  const parameters = differences(listParameters(before), listParameters(after), isNarrower);
  return [...differences(listFields(before), listFields(after), isLess), ...parameters];
}

/** Compares the facts that two manifests state once for all of their listings. */
export function diffProviderFacts(before: Manifest, after: Manifest): readonly FactDifference[] {
  return differences(providerFields(before), providerFields(after), isLess);
}

/** Fields that are not compared as facts: the id, prices, and parameters (compared one by one). */
const PRICED = new Set(["id", "pricing", "price_card", "supported_parameters"]);
const PRICED_TERMS = new Set(["price_tiers", "extra_pricing", "price_changes", "image_tokens"]);

type Fields = ReadonlyMap<string, unknown>;

function listFields({ model, terms }: Listing): Fields {
  const own = Object.entries(model).filter(([field]) => !PRICED.has(field));
  const others = Object.entries(terms).filter(([field]) => !PRICED_TERMS.has(field));
  return new Map([
    ...own,
    ...others.map(([field, value]): [string, unknown] => [`listing_terms.${field}`, value]),
  ]);
}

/** Members that state no facts of the provider: listings, the origin of prices, and notes. */
const PER_LISTING = new Set(["models", "listing_terms", "catalog_source", "note"]);

function providerFields(manifest: Manifest): Fields {
  return new Map(
    Object.entries(manifest).flatMap(([name, value]): [string, unknown][] => {
      if (PER_LISTING.has(name)) return [];
      const members = asObject(value);
      if (members === undefined) return [[name, value]];
      return Object.entries(members).map(([member, inner]) => [`${name}.${member}`, inner]);
    }),
  );
}

function differences<T>(
  old: ReadonlyMap<string, T>,
  next: ReadonlyMap<string, T>,
  isLessIn: (old: T | undefined, next: T | undefined, field: string) => boolean,
): readonly FactDifference[] {
  const names = [...new Set([...old.keys(), ...next.keys()])].toSorted();
  return names.flatMap((field): FactDifference[] => {
    const pair = { old: old.get(field), new: next.get(field) };
    if (isDeepStrictEqual(pair.old, pair.new)) return [];
    const is_less = isLessIn(pair.old, pair.new, field);
    return [{ field, old: pair.old ?? null, new: pair.new ?? null, is_less }];
  });
}

function isLess(old: unknown, next: unknown, field: string): boolean {
  return LESS[field]?.(old, next) ?? false;
}

/** By field: true if a change takes something from clients. Other fields are not judged. */
const LESS: Readonly<Record<string, (old: unknown, next: unknown) => boolean>> = {
  context_length: isSmaller,
  // Without a declared bound, the gateway's own bound (`OUTPUT_TOKENS_MAX`) applies.
  max_output_tokens: (old, next) => isSmaller(old ?? OUTPUT_TOKENS_MAX, next ?? OUTPUT_TOKENS_MAX),
  input_modalities: (old, next) => lacks(next ?? ["text"], old ?? ["text"]),
  output_modality: (old, next) => (old ?? "text") !== (next ?? "text"),
  is_ready: (old, next) => (old ?? true) === true && next === false,
  streaming: (old, next) => old === true && next !== true,
  // ISO days sort as text. An earlier end date is a loss.
  deprecation_date: (old, next) => (asText(next) ?? NEVER) < (asText(old) ?? NEVER),
  // The state is then billed for each question.
  decisions_state_per_question: (old, next) => old !== true && next === true,
  decisions_image_parts: (old, next) => old === true && next !== true,
  "provider.listing": (old, next) => (old ?? "public") === "public" && next === "private",
  "provider.prompt_logging": (old, next) => old === "none" && next !== "none",
};

/** Stands for an absent end date: sorts after all days. */
const NEVER = "~";

function isSmaller(old: unknown, next: unknown): boolean {
  return old !== undefined && (next === undefined || Number(next) < Number(old));
}

function lacks(found: unknown, wanted: unknown): boolean {
  if (!Array.isArray(found) || !Array.isArray(wanted)) return true;
  return wanted.some((each) => !found.includes(each));
}

function listParameters({ model }: Listing): ReadonlyMap<string, ManifestDescriptor> {
  const declared = Object.entries(model.supported_parameters ?? {});
  return new Map(declared.map(([name, each]) => [`supported_parameters.${name}`, each]));
}

function isNarrower(
  old: ManifestDescriptor | undefined,
  next: ManifestDescriptor | undefined,
): boolean {
  if (old === undefined) return false;
  if (next === undefined) return true;
  if (next.type === "unknown" || next.type === "boolean") return false;
  if (next.type === "enum") return old.type !== "enum" || lacks(next.values, old.values);
  const [min, max] = readBounds(next);
  const [oldMin, oldMax] = readBounds(old);
  return min > oldMin || max < oldMax;
}

function readBounds(of: ManifestDescriptor): readonly [number, number] {
  if (of.type !== "range" && of.type !== "integer") return [-Infinity, Infinity];
  return [of.min ?? -Infinity, of.max ?? Infinity];
}
