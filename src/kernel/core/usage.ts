/**
 * The priced token buckets: their names in code, and in columns, JSON and listings. Buckets are
 * disjoint, and their sum is the number of tokens that the provider counted.
 */
export const TOKEN_BUCKETS = {
  /** Prompt tokens that were neither read from the provider's cache nor written into it. */
  prompt: "prompt",
  cachedPrompt: "cached_prompt",
  cacheWrite: "cache_write",
  /** Output tokens without reasoning. */
  completion: "completion",
  internalReasoning: "internal_reasoning",
} as const;
export type TokenBucket = keyof typeof TOKEN_BUCKETS;
export const TOKEN_BUCKET_NAMES = Object.keys(TOKEN_BUCKETS) as readonly TokenBucket[];

/** The token buckets, and the separately priced part of `cacheWrite` that is cached for an hour. */
export const SKU_NAMES = { ...TOKEN_BUCKETS, cacheWrite1h: "cache_write_1h" } as const;
export type Sku = keyof typeof SKU_NAMES;
export type SkuName = (typeof SKU_NAMES)[Sku];
export const HOUR_SKU = "cacheWrite1h";
export const HOUR_SKU_NAME = SKU_NAMES[HOUR_SKU];
type HourSku = typeof HOUR_SKU;

export type BySku<T> = Readonly<Record<TokenBucket, T>> & Readonly<Partial<Record<HourSku, T>>>;
export type BySkuName<T> = { readonly [B in TokenBucket as (typeof SKU_NAMES)[B]]: T } & {
  readonly [H in HourSku as (typeof SKU_NAMES)[H]]?: T;
};

export type Usage = BySku<number>;

export function byBucket<T>(make: (bucket: TokenBucket) => T): Readonly<Record<TokenBucket, T>> {
  return buildRecord(TOKEN_BUCKET_NAMES, make);
}

export function eachSku<T>(make: (sku: Sku) => T): Readonly<Record<Sku, T>> {
  return buildRecord(Object.keys(SKU_NAMES) as Sku[], make);
}

/** Renames buckets to their JSON names. One-hour cache writes stay absent if there are none. */
export function bySkuName<T, U>(of: BySku<T>, show: (value: T) => U): BySkuName<U> {
  return Object.fromEntries(
    Object.entries(SKU_NAMES).flatMap(([sku, name]) => {
      const value = of[sku as Sku];
      return value === undefined ? [] : [[name, show(value)]];
    }),
  ) as BySkuName<U>;
}

/** Reads a value for each SKU name. `read` may return undefined only for one-hour cache writes. */
export function fromSkuNames<T>(read: (name: SkuName) => T | undefined): BySku<T> {
  return Object.fromEntries(
    Object.entries(SKU_NAMES).flatMap(([sku, name]) => {
      const value = read(name);
      return value === undefined ? [] : [[sku, value]];
    }),
  ) as BySku<T>;
}

function buildRecord<K extends string, T>(keys: readonly K[], make: (key: K) => T): Record<K, T> {
  return Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<K, T>;
}

export const ZERO_USAGE: Usage = byBucket(() => 0);

export function sumUsage(usages: readonly Usage[]): Usage {
  const hours = usages.flatMap((usage) => usage[HOUR_SKU] ?? []);
  const sum = (counts: readonly number[]): number => counts.reduce((all, each) => all + each, 0);
  return {
    ...byBucket((bucket) => sum(usages.map((usage) => usage[bucket]))),
    ...(hours.length > 0 && { [HOUR_SKU]: sum(hours) }),
  };
}

/** Drops the count of one-hour cache writes, so that they cost as much as other cache writes. */
export function withoutHourWrites(usage: Usage): Usage {
  const { [HOUR_SKU]: _hour, ...buckets } = usage;
  return buckets;
}

export function promptTokensTotal(usage: Usage): number {
  return usage.prompt + usage.cachedPrompt + usage.cacheWrite;
}

export function outputTokensTotal(usage: Usage): number {
  return usage.completion + usage.internalReasoning;
}
