import { createHash } from "node:crypto";

import type { ManifestListingTerms, ManifestModel } from "../../catalog/index.ts";
import table from "./ids.json" with { type: "json" };

interface IdTable {
  /** First-party providers by the name of their lab in ids. */
  readonly labs: Readonly<Record<string, string>>;
  /** Marketplace id to provider to that provider's ids of the model. */
  readonly ids: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** Reviewed reasons to stage listings, by provider and id. */
  readonly staged: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

const { labs, ids, staged }: IdTable = table;

const byUpstream: ReadonlyMap<string, string> = new Map(
  Object.entries(ids).flatMap(([id, providers]) =>
    Object.entries(providers).flatMap(([provider, names]) =>
      names.map((name): [string, string] => [`${provider} ${name}`, id]),
    ),
  ),
);

/** The provider with the same names: "deepseek-messages" has those of "deepseek". */
function baseProvider(provider: string): string {
  return provider.replace(/-messages$/, "");
}

/**
 * The marketplace id of a provider's model: from the reviewed table, else the provider's (or its
 * lab's) name and the model's. Never another provider's id by guess.
 */
export function marketplaceId(provider: string, upstreamId: string): string {
  const base = baseProvider(provider);
  const known = byUpstream.get(`${base} ${upstreamId}`);
  if (known !== undefined) return known;
  const lab = Object.hasOwn(labs, base) ? labs[base] : base;
  const name = upstreamId.replace(/^accounts\/fireworks\/(?:models|routers)\//, "");
  return `${lab}/${name.replace(/:\d+$/, "")}`;
}

/** The marketplace id of an entry of OpenRouter's list, for comparing a lab's prices. */
export function labModelId(openRouterId: string): string {
  return byUpstream.get(`openrouter ${openRouterId}`) ?? openRouterId;
}

/** The reviewed reasons why a listing is staged although its sources agree. */
export function listKnownReasons(provider: string, id: string): readonly string[] {
  const base = baseProvider(provider);
  const known = Object.hasOwn(staged, base) ? (staged[base] ?? {}) : {};
  return Object.hasOwn(known, id) ? (known[id] ?? []) : [];
}

/** SHA-256 of a listing and its terms, independent of field order, which reveals hand edits. */
export function listingHash(model: ManifestModel, terms: ManifestListingTerms | undefined): string {
  const text = canonicalJson(terms === undefined ? { model } : { model, terms });
  return createHash("sha256").update(text).digest("hex");
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}
