import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Manifest, ManifestListingTerms, ManifestModel } from "../../src/catalog/index.ts";
import { readRawJson } from "../../src/kernel/index.ts";
import {
  findHead,
  importListings,
  isImportable,
  type ListingSource,
  type SourceInput,
} from "../../src/listing-tools/index.ts";
import { matchesGlob } from "../../src/kernel/core/glob.ts";

/** A change to a drafted listing, or a listing that no source has, with its reason. */
export interface HandEdit {
  readonly model: string;
  readonly reason: string;
  /** Replaces drafted fields; null removes a field. */
  readonly listing?: Readonly<Record<string, unknown>>;
  readonly terms?: Readonly<Record<string, unknown>>;
}

export interface ProviderReview {
  /** Patterns of marketplace ids, each with the reason why it is not shipped. */
  readonly leave_out?: Readonly<Record<string, string>>;
  /** Sources that are not read for this provider, with the reason. */
  readonly without?: Readonly<Record<string, string>>;
  /** The reason why listings that only one source has are shipped nevertheless, as staged. */
  readonly keep_one_source?: string;
  readonly edits?: readonly HandEdit[];
}

/** Decisions of people, which override the sources (`test/listing-sources/reviewed.json`). */
export interface Review {
  /** The day of the review. A model whose last day is this one or earlier is not shipped. */
  readonly as_of: string;
  /** By code of `staged_because`: why a listing with it is not shipped; see `keep_one_source`. */
  readonly leave_out_codes: Readonly<Record<string, string>>;
  /** Patterns of marketplace ids that no provider ships, each with the reason. */
  readonly leave_out: Readonly<Record<string, string>>;
  readonly providers: Readonly<Record<string, ProviderReview>>;
}

export interface Drafted {
  readonly file: string;
  readonly manifest: Manifest;
  /** By marketplace id: why the model is not shipped. */
  readonly leftOut: ReadonlyMap<string, string>;
  readonly edits: readonly HandEdit[];
}

/** The first snapshot read for a provider decides its listings; the newest decides its prices. */
const SNAPSHOTS: readonly (readonly [ListingSource, dated: string, file: string])[] = [
  ["litellm", "2026-11-01", "litellm-2026-11-01.json"],
  // The prices in this file date from July to October, so the oldest day counts.
  ["models.dev", "2026-07-31", "models.dev-later-2026-10-06.json"],
  ["models.dev", "2026-07-02", "models.dev-api-2026-07-02.json"],
  ["openrouter", "2026-08-01", "openrouter-models-2026-08-01.json"],
  ["genai-prices", "2026-11-01", "genai-prices-2026-11-01.json"],
  ["genai-prices", "2026-08-21", "genai-prices-2026-08-21.json"],
  ["litellm", "2026-08-01", "litellm-2026-08-01.json"],
];

export function readReview(root: string): Review {
  const text = readFileSync(join(root, "test/listing-sources/reviewed.json"), "utf8");
  return JSON.parse(text) as Review;
}

/**
 * Drafts every shipped manifest from the snapshots and the review. The same input gives the same
 * bytes.
 */
export function draftCatalog(root: string): readonly Drafted[] {
  const review = readReview(root);
  const sources = SNAPSHOTS.map(([from, dated, file]): SourceInput => {
    const bytes = readFileSync(join(root, "test/listing-sources/snapshots", file));
    const reading = readRawJson(bytes.toString("utf8"), 1_000_000);
    if (!reading.ok) throw new Error(`${file} is not JSON`);
    return { from, dated, bytes, document: reading.value };
  });
  return Object.entries(review.providers).map(([id, each]) =>
    draftProvider(id, each, review, sources),
  );
}

function draftProvider(
  id: string,
  provider: ProviderReview,
  review: Review,
  sources: readonly SourceInput[],
): Drafted {
  const head = findHead(id);
  if (head === undefined || !isImportable(head))
    throw new Error(`${id} has no head to import with`);
  const isUsed = (source: SourceInput): boolean =>
    head.sources[source.from] !== undefined && provider.without?.[source.from] === undefined;
  const all = sources.filter(isUsed);
  const [own] = all;
  if (own === undefined) throw new Error(`no source lists ${id}`);
  const against = all.filter((source) => source !== own);
  const read = (models: readonly string[]) =>
    importListings({ head, source: own, against, models, withCapacity: false, day: review.as_of });
  const everything = read([]);
  const leftOut = new Map<string, string>();
  const kept = (everything.manifest?.models ?? []).filter((model) => {
    const reasons = everything.manifest?.listing_terms?.[model.id]?.staged_because ?? [];
    const why = whyLeftOut(model, reasons, provider, review);
    if (why !== undefined) leftOut.set(model.id, why);
    return why === undefined;
  });
  const imported = read(kept.map((model) => model.upstream_id ?? model.id)).manifest;
  if (imported === undefined) throw new Error(`${id} would ship nothing`);
  const edits = provider.edits ?? [];
  return { file: `${id}.json`, manifest: edited(imported, edits), leftOut, edits };
}

function whyLeftOut(
  model: ManifestModel,
  reasons: readonly string[],
  provider: ProviderReview,
  review: Review,
): string | undefined {
  if (model.deprecation_date !== undefined && model.deprecation_date <= review.as_of) {
    return `ended on ${model.deprecation_date}`;
  }
  const patterns = { ...review.leave_out, ...provider.leave_out };
  const pattern = Object.keys(patterns).find((glob) => matchesGlob(glob, model.id));
  const code = reasons.find(
    (each) =>
      Object.hasOwn(review.leave_out_codes, each) &&
      !(each === "one-source" && provider.keep_one_source !== undefined),
  );
  if (pattern !== undefined) return patterns[pattern];
  return code === undefined ? undefined : review.leave_out_codes[code];
}

function edited(manifest: Manifest, edits: readonly HandEdit[]): Manifest {
  return edits.reduce((before, edit) => {
    const at = before.models.findIndex(({ id }) => id === edit.model);
    // An invalid listing is refused later, when the whole manifest is validated.
    const model = merged(before.models[at] ?? { id: edit.model }, edit.listing) as ManifestModel;
    const models = before.models.filter(({ id }) => id !== edit.model);
    const old: ManifestListingTerms = before.listing_terms?.[edit.model] ?? {};
    const terms = merged(old, edit.terms);
    return replaced(before, [...models, ordered(model)], {
      ...before.listing_terms,
      [edit.model]: terms,
    });
  }, manifest);
}

function merged<T extends object>(before: T, over: object | undefined): T {
  const members = Object.entries({ ...before, ...over });
  return Object.fromEntries(members.filter(([, value]) => value !== null)) as T;
}

/** Returns the manifest with these listings and terms, sorted by id and without empty terms. */
function replaced(
  manifest: Manifest,
  models: readonly ManifestModel[],
  terms: Readonly<Record<string, ManifestListingTerms>>,
): Manifest {
  const { catalog_source: source, ...head } = manifest;
  const said = Object.entries(terms)
    .filter(([, each]) => Object.keys(each).length > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...head,
    models: models.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ...(said.length === 0 ? {} : { listing_terms: Object.fromEntries(said) }),
    ...(source === undefined ? {} : { catalog_source: source }),
  };
}

const FIRST = ["id", "display_name", "upstream_id", "output_modality", "is_ready"];

function ordered(model: ManifestModel): ManifestModel {
  const place = (key: string): number => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length);
  const members = Object.entries(model).toSorted(([a], [b]) => place(a) - place(b));
  return Object.fromEntries(members) as unknown as ManifestModel;
}
