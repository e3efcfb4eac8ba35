import { hash } from "node:crypto";

import type { ManifestListingTerms, ManifestModel } from "../../catalog/index.ts";
import { asObject } from "../../kernel/index.ts";
import table from "./ids.json" with { type: "json" };

interface IdTable {
  /** For each provider that makes its own models: the maker's name in marketplace ids. */
  readonly labs: Readonly<Record<string, string>>;
  /** Marketplace ids of models that OpenRouter calls by the same id. */
  readonly openrouter: readonly string[];
  /** By marketplace id, then any other provider: the provider's ids of the model. */
  readonly ids: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** By provider, then marketplace id: reviewed reasons to stage the listing. */
  readonly staged: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

const { labs, openrouter, ids, staged }: IdTable = table;

const byUpstream: ReadonlyMap<string, string> = new Map([
  ...openrouter.map((id): [string, string] => [`openrouter ${id}`, id]),
  ...Object.entries(ids).flatMap(([id, providers]) =>
    Object.entries(providers).flatMap(([provider, names]) =>
      names.map((name): [string, string] => [`${provider} ${name}`, id]),
    ),
  ),
]);

/** The provider with the same model names: for "deepseek-messages", that is "deepseek". */
function baseProvider(provider: string): string {
  return provider.replace(/-messages$/, "");
}

/**
 * The id in the reviewed table, else one made of maker and name. A name that only resembles another
 * provider's model never gets the id of that model.
 */
export function marketplaceId(provider: string, upstreamId: string): string {
  const base = baseProvider(provider);
  const known = byUpstream.get(`${base} ${upstreamId}`);
  if (known !== undefined) return known;
  const lab = Object.hasOwn(labs, base) ? labs[base] : base;
  const name = upstreamId.replace(/^accounts\/fireworks\/(?:models|routers)\//, "");
  return `${lab}/${name.replace(/:\d+$/, "")}`;
}

/** Fireworks' own name of a model that LiteLLM may name in short, by LiteLLM's rules. */
export function fireworksName(name: string): string {
  if (/^(?:accounts\/|FW-)|#/.test(name)) return name;
  if (/^(?:routers|models)\//.test(name)) return `accounts/fireworks/${name}`;
  const isRouter = /-fast$|^(?:auto|auto-instant|firerouter)$|^firerouter\//.test(name);
  return `accounts/fireworks/${isRouter ? "routers" : "models"}/${name}`;
}

/** Reviewed reasons to stage a listing (`is_ready: false`) although its sources agree. */
export function listKnownReasons(provider: string, id: string): readonly string[] {
  const base = baseProvider(provider);
  const known = Object.hasOwn(staged, base) ? (staged[base] ?? {}) : {};
  return Object.hasOwn(known, id) ? (known[id] ?? []) : [];
}

/** Ignores the order of fields. An edited listing no longer has the hash of its import. */
export function listingHash(model: ManifestModel, terms: ManifestListingTerms | undefined): string {
  return hash("sha256", canonicalJson(terms === undefined ? { model } : { model, terms }));
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const fields = asObject(value);
  if (fields === undefined) return JSON.stringify(value);
  const members = Object.entries(fields)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}
