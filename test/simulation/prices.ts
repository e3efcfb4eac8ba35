import type { SimUsage } from "../../src/dev/simulator/answer.ts";

/* Prices of the listings in micro-dollars per million tokens, for the manifests and the checks. */

const SKUS = ["prompt", "cached_prompt", "cache_write", "completion", "internal_reasoning"];

interface Sheet {
  /** One rate for each SKU, in the order of `SKUS`. */
  readonly rates: readonly [bigint, bigint, bigint, bigint, bigint];
  /** True if the manifest states only prompt and completion rates; these hold for the others. */
  readonly isBare?: true;
  /** The rate of a cache write for an hour; absent: the rate of `cache_write`. */
  readonly hour?: bigint;
}

interface Tiered extends Sheet {
  /** Prices for prompts of more than `above` tokens. */
  readonly tier?: Sheet & { readonly above: number };
}

interface Prices extends Tiered {
  /** The prices owed to the provider; absent: the customer's prices. */
  readonly owed?: Tiered;
}

interface DatedPrices extends Prices {
  readonly from: string;
}

export interface PriceList extends Prices {
  readonly changes?: readonly DatedPrices[];
}

/** Makes prices without a common factor, to reveal debits by a wrong SKU, listing, tier or day. */
function sold(completion: bigint, more = 0n): Sheet {
  const [prompt, cached, write, reasoning] = [3_100_007n, 310_007n, 3_770_003n, 19_000_013n];
  return { rates: [prompt + more, cached + more, write + more, completion, reasoning + more] };
}

function bare(prompt: bigint, completion: bigint): Sheet {
  return { rates: [prompt, prompt, prompt, completion, completion], isBare: true };
}

/** Instants of price changes soon after the start, and prompt tokens above which tiers apply. */
const MID_MONTH = "2026-05-12T09:30:12Z";
const NEW_MONTH = "2026-06-01T00:00:00Z";
const ABOVE = 20;
const LOW = 16;

/** The price list of each deployment, by deployment id. */
export const PRICES: Readonly<Record<string, PriceList>> = {
  "alder/sim/wide": sold(15_130_009n),
  "birch/sim/wide": {
    ...sold(16_170_011n),
    hour: 6_200_033n,
    tier: { above: ABOVE, ...sold(23_000_009n, 2_000_003n), hour: 9_100_019n },
    owed: {
      ...bare(2_700_029n, 13_900_039n),
      hour: 5_100_037n,
      tier: { above: ABOVE, ...bare(4_000_037n, 20_000_003n), hour: 8_300_009n },
    },
  },
  "cedar/sim/wide": {
    ...sold(14_510_003n),
    changes: [{ from: NEW_MONTH, ...sold(29_000_017n, 5_000_011n) }],
  },
  "alder/sim/single": {
    ...sold(7_000_001n),
    tier: { above: ABOVE, ...sold(9_000_011n, 1_000_003n) },
    // At first the debt to the provider is more than customers pay.
    owed: {
      ...bare(3_500_017n, 29_000_021n),
      tier: { above: ABOVE + 2, ...bare(2_000_003n, 8_000_009n) },
    },
    changes: [
      {
        from: MID_MONTH,
        ...sold(13_000_027n, 3_000_017n),
        tier: { above: LOW, ...sold(3_000_017n, 11_000_027n) },
        owed: { ...bare(1_000_033n, 900_007n), tier: { above: LOW, ...bare(7n, 11n) } },
      },
      { from: NEW_MONTH, ...sold(5_000_011n, 700_001n), owed: bare(600_011n, 4_000_037n) },
    ],
  },
  "birch/sim/pair": {
    ...sold(11_000_027n),
    hour: 7_100_047n,
    changes: [{ from: MID_MONTH, ...sold(31_000_019n, 900_007n), hour: 12_000_017n }],
  },
  "cedar/sim/pair": sold(12_000_031n),
};

/** Returns a listing's prices as a manifest states them. */
export function pricingOf({ rates, isBare }: Sheet): readonly object[] {
  const priced = rates.map((microUsd, at) => ({
    type: SKUS[at],
    unit: "token",
    cost_usd_per_million: decimal(microUsd),
  }));
  return isBare === true ? priced.filter((_, at) => SKUS[at] === "prompt" || at === 3) : priced;
}

/** Returns the listing's terms for its manifest; undefined if it has none. */
export function termsOf(list: PriceList): object | undefined {
  const terms = {
    ...heldTogether(list),
    ...(list.changes !== undefined && {
      price_changes: list.changes.map((change) => ({
        from: change.from,
        pricing: pricingOf(change),
        ...heldTogether(change),
      })),
    }),
  };
  return Object.keys(terms).length === 0 ? undefined : terms;
}

function heldTogether({ owed, ...prices }: Prices): object {
  return {
    ...tiersOf("price_tiers", prices),
    ...extraOf("extra_pricing", prices),
    ...(owed !== undefined && {
      purchase_pricing: pricingOf(owed),
      ...tiersOf("purchase_tiers", owed),
      ...extraOf("purchase_extra", owed),
    }),
  };
}

function tiersOf(name: string, { tier }: Tiered): object {
  if (tier === undefined) return {};
  const { above } = tier;
  const stated = { above_prompt_tokens: above, pricing: pricingOf(tier) };
  return { [name]: [{ ...stated, ...extraOf("extra_pricing", tier) }] };
}

function extraOf(name: string, { hour }: Sheet): object {
  return hour === undefined ? {} : { [name]: { cache_write_1h: decimal(hour) } };
}

function decimal(microUsd: bigint): string {
  return `${microUsd / 1_000_000n}.${`${microUsd % 1_000_000n}`.padStart(6, "0")}`;
}

/** The cost of an attempt's reported usage, at the prices of its listing when it was admitted. */
export interface StatedCost {
  /** The customer's price, in pico-dollars; `owed` is the debt to the provider. */
  readonly cost: bigint;
  readonly owed: bigint;
  /** Prompt size and price list, such as "tier after a change"; the test expects every kind. */
  readonly kind: string;
}

export function statedCost(deploymentId: string, admittedMs: number, usage: SimUsage): StatedCost {
  const list = PRICES[deploymentId];
  if (list === undefined) throw new Error(`${deploymentId} has no prices`);
  let prices: Prices = list;
  for (const change of list.changes ?? []) {
    if (new Date(change.from).getTime() <= admittedMs) prices = change;
  }
  const isTier = prices.tier !== undefined && usage.prompt > prices.tier.above;
  return {
    cost: costAt(prices, usage),
    owed: costAt(prices.owed ?? prices, usage),
    kind: `${isTier ? "tier" : "base"} ${prices === list ? "before" : "after"} a change`,
  };
}

function costAt({ tier, ...base }: Tiered, usage: SimUsage): bigint {
  // The simulator's prompt count includes the cached and the written tokens.
  const { prompt, cached, cacheWrite, hourWrite, output, reasoning } = usage;
  const { rates, hour = rates[2] } = tier !== undefined && prompt > tier.above ? tier : base;
  const counts = [
    prompt - cached - cacheWrite,
    cached,
    cacheWrite - hourWrite,
    output - reasoning,
    reasoning,
  ];
  const cost = counts.reduce((sum, count, at) => sum + BigInt(count) * (rates[at] ?? 0n), 0n);
  return cost + BigInt(hourWrite) * hour;
}
