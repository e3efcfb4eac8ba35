import { createHash } from "node:crypto";

import { assert } from "../core/index.ts";
import type { PricedSku, PriceSheet } from "./catalog.ts";
import type { ManifestPrice, ManifestSku } from "./manifest/index.ts";

/**
 * Compiles the prices of a valid listing. An absent SKU costs its base rate, never 0: cache reads
 * and writes cost what the prompt costs, reasoning what the completion costs.
 */
export function compilePriceSheet(
  deploymentId: string,
  pricing: readonly ManifestPrice[],
): PriceSheet {
  const declared = new Map(
    pricing.map((price): [ManifestSku, bigint] => [
      price.type,
      picoUsdPerToken(price.cost_usd_per_million),
    ]),
  );
  const prompt = declared.get("prompt");
  const completion = declared.get("completion");
  assert(prompt !== undefined, "a valid listing prices the prompt");
  assert(completion !== undefined, "a valid listing prices the completion");
  const prices = {
    prompt,
    cachedPrompt: declared.get("cached_prompt") ?? prompt,
    cacheWrite: declared.get("cache_write") ?? prompt,
    completion,
    internalReasoning: declared.get("internal_reasoning") ?? completion,
  };
  const lines = Object.entries(prices).map(([sku, price]) => `${sku}=${price}`);
  return { pinId: shortHash([deploymentId, ...lines].join("\n")), ...prices };
}

/** The SKUs that a valid listing leaves to their base rates, in the order of a price sheet. */
export function defaultedSkus(pricing: readonly ManifestPrice[]): readonly PricedSku[] {
  const declared = new Set(pricing.map(({ type }) => type));
  return OPTIONAL_SKUS.filter((sku) => !declared.has(sku));
}

const OPTIONAL_SKUS = ["cached_prompt", "cache_write", "internal_reasoning"] as const;

/** The first 128 bits of SHA-256, as 32 hexadecimal characters. */
export function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

const FRACTION_DIGITS = 6;

/** USD per million tokens with six fraction digits is a whole number of pico-USD per token. */
function picoUsdPerToken(costUsdPerMillion: string): bigint {
  const [whole = "", fraction = ""] = costUsdPerMillion.split(".");
  assert(fraction.length <= FRACTION_DIGITS, "a valid price has at most six fraction digits");
  return BigInt(whole + fraction.padEnd(FRACTION_DIGITS, "0"));
}
