import { asNumber, asObject, asText, pointerTo } from "../../kernel/index.ts";
import type { ManifestProblem } from "./schema-parts.ts";
import { EXTRA_SKUS, MANIFEST_SKUS } from "./price-schema.ts";
import { fixedBodyProblems } from "./wire-profile-rules.ts";

/** Rules of `listing_terms` that compare two parts of a manifest, which the schema cannot do. */
export const TERMS_RULES = {
  "terms-unknown-model": "must be terms of a model that the manifest lists",
  "terms-tiers-ascending": "must have tiers with ascending above_prompt_tokens",
  "terms-tier-skus": "must price the same SKUs in every tier as below the first",
  "terms-change-order": "must have price changes with ascending from",
  "terms-change-whole":
    "must declare extra_pricing and purchase_pricing in every change if the listing does",
  "terms-staged-ready": "must not say staged_because of a listing that is ready",
  "terms-text-only": "must not have tiers or extra prices for a listing of another modality",
  "terms-token-billing": "must not change prices where the billing is reported_cost",
  "terms-image-only":
    "must not have image_tokens above max_output_tokens, or for a listing of another modality",
} as const;

/** Finds problems that the schema cannot express; wrong types are left to the schema. */
export function brokenTerms(document: unknown): ManifestProblem[] {
  const { models, endpoint, listing_terms: byModel } = asFields(document);
  if (byModel === undefined) return [];
  const listings = new Map(asFieldsList(models).map((model) => [model["id"], model]));
  const { billing } = asFields(endpoint);
  return Object.entries(asFields(byModel)).flatMap(([id, value]) => {
    const terms = asFields(value);
    const place: Place = ["listing_terms", id];
    const model = listings.get(id);
    if (model === undefined) return [problem(place, "terms-unknown-model", NO_SUCH_MODEL)];
    return [
      ...whereTermsBelong(place, terms, { model, billing }),
      ...pricesInOrder(place, terms, model["pricing"]),
      ...changesInOrder(place, terms),
      ...imageTokensProblems([...place, "image_tokens"], terms["image_tokens"], model),
      ...fixedBodyProblems([...place, "body"], terms["body"]),
    ];
  });
}

/** An image is billed for at most `max_output_tokens`, because only that many are reserved. */
function imageTokensProblems(place: Place, declared: unknown, model: Fields): ManifestProblem[] {
  if (declared === undefined) return [];
  if (model["output_modality"] !== "image") {
    const message = "image_tokens is for image listings only; remove it";
    return [problem(place, "terms-image-only", message)];
  }
  const ceiling = asNumber(model["max_output_tokens"]) ?? Infinity;
  const counts = [declared, ...asFieldsList(declared).map(({ tokens }) => tokens)];
  const isAbove = counts.some((count) => (asNumber(count) ?? 0) > ceiling);
  const message = "image_tokens must not be above max_output_tokens, which is held for an image";
  return isAbove ? [problem(place, "terms-image-only", message)] : [];
}

const NO_SUCH_MODEL = "no listing of this manifest has this id; name one of models, or remove it";

function problem(place: Place, rule: keyof typeof TERMS_RULES, message: string): ManifestProblem {
  return { pointer: pointerTo(place), rule, message };
}

const MONEY_TERMS = [
  "price_tiers",
  "extra_pricing",
  "price_changes",
  "purchase_pricing",
  "purchase_tiers",
  "purchase_extra",
  "image_tokens",
];
const TEXT_TERMS = [
  "price_tiers",
  "extra_pricing",
  "purchase_tiers",
  "purchase_extra",
  "body",
  "history",
];

function whereTermsBelong(
  place: Place,
  terms: Fields,
  { model, billing }: { readonly model: Fields; readonly billing: unknown },
): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  const isReady = model["is_ready"] !== false;
  if (isReady && Object.hasOwn(terms, "staged_because")) {
    const message = "staged_because is for a listing whose is_ready is false; remove one of them";
    problems.push(problem([...place, "staged_because"], "terms-staged-ready", message));
  }
  const priced = billing === "reported_cost" ? MONEY_TERMS : [];
  for (const field of priced.filter((name) => Object.hasOwn(terms, name))) {
    const message = `${field} is for token prices; the endpoint's billing is reported_cost`;
    problems.push(problem([...place, field], "terms-token-billing", message));
  }
  if ((model["output_modality"] ?? "text") === "text") return problems;
  const changes = asFieldsList(terms["price_changes"]);
  const objects = [
    { at: place, object: terms },
    ...changes.map((change, index) => ({ at: changeAt(place, index), object: change })),
  ];
  for (const { at, object } of objects) {
    for (const name of TEXT_TERMS.filter((each) => Object.hasOwn(object, each))) {
      const message = `${name} is for text listings only; remove it`;
      problems.push(problem([...at, name], "terms-text-only", message));
    }
  }
  return problems;
}

function changeAt(place: Place, index: number): Place {
  return [...place, "price_changes", index];
}

function pricesInOrder(place: Place, prices: Fields, pricing: unknown): ManifestProblem[] {
  return [
    ...tiersInOrder([...place, "price_tiers"], asFieldsList(prices["price_tiers"]), {
      pricing,
      extra: prices["extra_pricing"],
    }),
    ...tiersInOrder([...place, "purchase_tiers"], asFieldsList(prices["purchase_tiers"]), {
      pricing: prices["purchase_pricing"],
      extra: prices["purchase_extra"],
    }),
  ];
}

interface BasePrices {
  readonly pricing: unknown;
  readonly extra: unknown;
}

function tiersInOrder(place: Place, tiers: readonly Fields[], base: BasePrices): ManifestProblem[] {
  return tiers.flatMap((tier, index) => {
    const before = asNumber(tiers[index - 1]?.["above_prompt_tokens"]) ?? -Infinity;
    const bound = asNumber(tier["above_prompt_tokens"]) ?? Infinity;
    const problems: ManifestProblem[] = [];
    if (bound <= before) {
      const message = "above_prompt_tokens must be above that of the tier before";
      const at = [...place, index, "above_prompt_tokens"];
      problems.push(problem(at, "terms-tiers-ascending", message));
    }
    const wanted = listPricedSkus(base);
    const found = listPricedSkus({ pricing: tier["pricing"], extra: tier["extra_pricing"] });
    if (wanted !== found) {
      const message = `this tier prices ${found || "nothing"}, but the listing ${wanted}`;
      const next = "price the same SKUs in both";
      problems.push(problem([...place, index], "terms-tier-skus", `${message}; ${next}`));
    }
    return problems;
  });
}

/** Lists priced SKUs for a message, but no unknown text: it may be a key pasted by mistake. */
function listPricedSkus({ pricing, extra }: BasePrices): string {
  const types = new Set(asFieldsList(pricing).map(({ type }) => type));
  const extras = EXTRA_SKUS.filter((sku) => Object.hasOwn(asFields(extra), sku));
  return [...MANIFEST_SKUS.filter((sku) => types.has(sku)), ...extras].join(", ");
}

/** A price change ends all prices that it does not declare, so it must repeat these terms. */
const LASTING_TERMS = ["extra_pricing", "purchase_pricing"];

function changesInOrder(place: Place, terms: Fields): ManifestProblem[] {
  const changes = asFieldsList(terms["price_changes"]);
  return changes.flatMap((change, index) => {
    const at = changeAt(place, index);
    const problems = pricesInOrder(at, change, change["pricing"]);
    const [before, from] = [changes[index - 1], change].map((each) => asText(each?.["from"]));
    // `from` has one fixed UTC format, so the order of the texts is the order in time.
    if (before !== undefined && from !== undefined && from <= before) {
      const message = "from must be after that of the change before";
      problems.push(problem([...at, "from"], "terms-change-order", message));
    }
    for (const field of LASTING_TERMS) {
      if (!Object.hasOwn(terms, field) || Object.hasOwn(change, field)) continue;
      const message = `this change must declare ${field}, as the listing does`;
      problems.push(problem(at, "terms-change-whole", message));
    }
    return problems;
  });
}

export type Fields = Readonly<Record<string, unknown>>;

export type Place = readonly (string | number)[];

export function asFields(value: unknown): Fields {
  return asObject(value) ?? {};
}

export function asFieldsList(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(asFields) : [];
}
