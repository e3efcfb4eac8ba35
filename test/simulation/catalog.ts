import type { Catalog } from "../../src/catalog/catalog.ts";
import { compileCatalog } from "../../src/catalog/compile-catalog.ts";
import { parseManifestFiles } from "../../src/catalog/catalog-input.ts";
import { type PriceList, PRICES, pricingOf, termsOf } from "./prices.ts";

function listing(id: string, prices: PriceList): object {
  return {
    id,
    context_length: 200_000,
    streaming: true,
    // Enough for most scenarios; now and then a pool, or a share of it, is used up.
    capacity: [
      { type: "request", per: "minute", value: 40 },
      { type: "prompt", unit: "token", per: "hour", value: 40_000 },
    ],
    pricing: pricingOf(prices),
  };
}

interface ProviderSpec {
  readonly id: string;
  readonly dialect: "wire_a" | "wire_b";
  readonly priority: number;
  readonly models: readonly string[];
}

function manifestOf({ id, dialect, priority, models }: ProviderSpec): object {
  const listed = models.map((model) => {
    const prices = PRICES[`${id}/${model}`];
    if (prices === undefined) throw new Error(`${id}/${model} has no prices`);
    return { model, prices };
  });
  const terms = listed.map(({ model, prices }) => [model, termsOf(prices)]);
  return {
    manifest_version: "1",
    provider: {
      id,
      name: id,
      privacy_policy_url: "https://example.com/privacy",
      prompt_logging: "none",
      priority,
    },
    endpoint: { base_url: `https://${id}.example/v1`, dialect },
    settlement: { mode: "arrears", interval: "daily" },
    models: listed.map(({ model, prices }) => listing(model, prices)),
    listing_terms: Object.fromEntries(terms.filter(([, each]) => each !== undefined)),
  };
}

const MANIFESTS: readonly object[] = [
  manifestOf({
    id: "alder",
    dialect: "wire_a",
    priority: 1,
    models: ["sim/wide", "sim/single"],
  }),
  manifestOf({
    id: "birch",
    dialect: "wire_b",
    priority: 2,
    models: ["sim/wide", "sim/pair"],
  }),
  manifestOf({
    id: "cedar",
    dialect: "wire_a",
    priority: 3,
    models: ["sim/wide", "sim/pair"],
  }),
];

/** Models by how many providers serve them: three, two, one. */
export const MODELS: readonly string[] = ["sim/wide", "sim/wide", "sim/pair", "sim/single"];

/** Three providers on both wires, compiled from manifests as the program does it. */
export function simulatedCatalog(): Catalog {
  const files = MANIFESTS.map((manifest, at) => ({
    file: `manifest-${at}.json`,
    text: JSON.stringify(manifest),
  }));
  const parsed = parseManifestFiles(files);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  const outcome = compileCatalog({
    manifests: parsed.manifests,
    hasKey: () => true,
    today: "2026-01-01",
  });
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.issues));
  return outcome.catalog;
}
