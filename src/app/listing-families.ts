import type { CallPorts, Verification } from "../gateway/index.ts";
import { type Catalog, type Deployment, isBelowCost } from "../catalog/index.ts";
import { type Family, ReadFamily, type Sample } from "../kernel/index.ts";

interface ListingSources {
  readonly serve: Pick<CallPorts, "clock" | "health" | "pools" | "metrics">;
  readonly holder: { readonly current: Catalog };
  readonly verification: Verification;
}

/** One series a routed listing or pool, so that a query for one that is well finds it too. */
export function listingFamilies(sources: ListingSources): readonly Family[] {
  const { serve, verification } = sources;
  const { clock, health, pools } = serve;
  const ofListings = (valueOf: (listing: Deployment, nowMs: number) => boolean) => () =>
    listingSamples(sources, valueOf);
  const ofPools = (valueOf: (poolId: string, nowMs: number) => number) => () =>
    poolSamples(sources, (poolId) => valueOf(poolId, clock.monotonicMs()));
  return [
    new ReadFamily(
      "tm_listing_verified",
      ofListings((listing) => verification.isVerified(listing)),
    ),
    new ReadFamily(
      "tm_listing_suspect",
      ofListings((listing) => verification.isSuspect(listing)),
    ),
    new ReadFamily("tm_listing_below_cost", ofListings(isBelowCost)),
    new ReadFamily(
      "tm_circuit_open",
      ofListings(({ id }, nowMs) => health.mayTry(id, nowMs) !== "yes"),
    ),
    new ReadFamily(
      "tm_pool_resting",
      ofPools((poolId, nowMs) => Number(pools.cooldownMs(poolId, nowMs) > 0)),
    ),
    new ReadFamily(
      "tm_pool_usable_ratio",
      ofPools((poolId, nowMs) => pools.usablePercent(poolId, nowMs) / 100),
    ),
  ];
}

/** `other` has the number of its listings of which it is true. */
function* listingSamples(
  { serve, holder }: ListingSources,
  valueOf: (listing: Deployment, nowMs: number) => boolean,
): Iterable<Sample> {
  const nowMs = serve.clock.monotonicMs();
  const routed = holder.current.models.flatMap(({ deployments }) => deployments);
  for (const [labels, listing] of serve.metrics.fold.forAll(routed)) {
    yield [labels, Number(valueOf(listing, nowMs))];
  }
}

/** Pools of routed listings, of which no more are shown than listings. */
function* poolSamples(
  { serve, holder }: ListingSources,
  valueOf: (poolId: string) => number,
): Iterable<Sample> {
  const { listingsMax } = serve.metrics.fold;
  const shown = new Set<string>();
  for (const { deployments } of holder.current.models) {
    for (const { pool } of deployments) {
      if (shown.has(pool.id) || shown.size >= listingsMax) continue;
      shown.add(pool.id);
      yield [[pool.id], valueOf(pool.id)];
    }
  }
}
