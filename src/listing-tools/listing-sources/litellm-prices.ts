import type { RawObject } from "../../kernel/index.ts";
import type { RawSheet, RawTier } from "./sheet-builder.ts";
import { countOf, listAt, numberTextAt, objectOf } from "./raw-fields.ts";

/** The prices whose field names end like this: "", "_above_200k_tokens". */
export function litellmSheet(entry: RawObject, suffix: string): RawSheet {
  const at = (field: string): string | undefined => numberTextAt(entry, `${field}${suffix}`);
  return {
    prompt: at("input_cost_per_token"),
    completion: at("output_cost_per_token"),
    cached_prompt: at("cache_read_input_token_cost") ?? at("input_cost_per_token_cache_hit"),
    cache_write: at("cache_creation_input_token_cost"),
    // `above_1hr` is how long a written token lives, not how long a prompt is.
    cache_write_1h: at("cache_creation_input_token_cost_above_1hr"),
    internal_reasoning: at("output_cost_per_reasoning_token"),
  };
}

const TIER = /^(?:in|out)put_cost_per_token(_above_(\d+)k_tokens)$/;

/**
 * Prices by prompt size: as suffixes of field names, or as ranges. What a suffixed price leaves
 * out stays at the price before it; the ranges are whole.
 */
export function litellmPrices(entry: RawObject): {
  readonly sheet: RawSheet;
  readonly tiers: readonly RawTier[];
} {
  const ranges = listAt(entry, "tiered_pricing").flatMap((each): RawTier[] => {
    const range = objectOf(each);
    if (range === undefined) return [];
    const from = countOf(listAt(range, "range")[0]) ?? 0;
    return [{ abovePromptTokens: from, sheet: litellmSheet(range, "") }];
  });
  const [first, ...others] = ranges.toSorted((a, b) => a.abovePromptTokens - b.abovePromptTokens);
  if (first !== undefined) return { sheet: first.sheet, tiers: others };
  const base = litellmSheet(entry, "");
  const suffixes = new Map(
    [...entry.keys()].flatMap((key) => {
      const [, suffix, thousands] = TIER.exec(key) ?? [];
      return suffix === undefined ? [] : [[Number(thousands) * 1000, suffix] as const];
    }),
  );
  const tiers = [...suffixes].map(([abovePromptTokens, suffix]): RawTier => {
    return { abovePromptTokens, sheet: over(base, litellmSheet(entry, suffix)) };
  });
  return { sheet: base, tiers };
}

function over(base: RawSheet, tier: RawSheet): RawSheet {
  const stated = Object.entries(tier).filter(([, price]) => price !== undefined);
  return { ...base, ...Object.fromEntries(stated) };
}
