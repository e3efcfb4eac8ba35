import type { Catalog } from "../../src/catalog/catalog.ts";
import { simulatorManifest, textModel } from "../support/gateway.ts";
import { catalogOf } from "../support/recipe.ts";
import { type PriceList, PRICES, pricingOf, termsOf } from "./prices.ts";

function listing(id: string, prices: PriceList): object {
  return textModel(id, {
    // Enough for most scenarios; now and then a pool, or an organization's share, is used up.
    capacity: [
      { type: "request", per: "minute", value: 40 },
      { type: "prompt", unit: "token", per: "hour", value: 40_000 },
    ],
    pricing: pricingOf(prices),
  });
}

function manifestOf(
  provider: string,
  dialect: "wire_a" | "wire_b",
  at: { readonly priority: number; readonly models: readonly string[] },
): object {
  const { priority, models } = at;
  const listed = models.map((model) => {
    const prices = PRICES[`${provider}/${model}`];
    if (prices === undefined) throw new Error(`${provider}/${model} has no prices`);
    return { model, prices };
  });
  const terms = listed.map(({ model, prices }) => [model, termsOf(prices)]);
  const baseUrl = `https://${provider}.example/v1`;
  const sold = listed.map(({ model, prices }) => listing(model, prices));
  return {
    ...simulatorManifest({ provider, dialect, priority, baseUrl, models: sold }),
    listing_terms: Object.fromEntries(terms.filter(([, each]) => each !== undefined)),
  };
}

export const SIMULATED_MANIFESTS: readonly object[] = [
  manifestOf("alder", "wire_a", { priority: 1, models: ["sim/wide", "sim/single"] }),
  manifestOf("birch", "wire_b", { priority: 2, models: ["sim/wide", "sim/pair"] }),
  manifestOf("cedar", "wire_a", { priority: 3, models: ["sim/wide", "sim/pair"] }),
];

/** The models of random requests: three providers serve `wide`, two serve `pair`, one `single`. */
export const MODELS: readonly string[] = ["sim/wide", "sim/wide", "sim/pair", "sim/single"];

/** Returns a catalog of three providers on both wires, compiled as the program compiles it. */
export function simulatedCatalog(): Catalog {
  return catalogOf(SIMULATED_MANIFESTS);
}
