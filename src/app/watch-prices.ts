import { type Catalog, comingPrices } from "../catalog/index.ts";
import type { Clock } from "../core/index.ts";

/** A catalog that was swapped meanwhile, or a clock that was set, is noticed within this time. */
const LOOK_EVERY_MS = 5_000;
/** A catalog that cannot be built says why in the log, once in this time. */
const RETRY_MS = 60_000;
const SOONEST_MS = 1_000;

/**
 * Calls `due` when announced prices have begun that the catalog does not show as in force, and again
 * while it does not; returns how to stop. Attempts have the right prices without it.
 */
export function watchPrices(
  watched: { readonly catalog: { readonly current: Catalog }; readonly clock: Clock },
  due: () => void,
): () => void {
  let timer: NodeJS.Timeout;
  const look = (): void => {
    const nowMs = watched.clock.nowMs();
    const nextMs = nextPricesMs(watched.catalog.current);
    const isDue = nextMs <= nowMs;
    if (isDue) due();
    const waitMs = isDue ? RETRY_MS : Math.min(LOOK_EVERY_MS, nextMs - nowMs);
    timer = setTimeout(look, Math.max(SOONEST_MS, waitMs)).unref();
  };
  timer = setTimeout(look, SOONEST_MS).unref();
  return () => clearTimeout(timer);
}

/** When the first announced prices begin that the catalog does not show yet; Infinity: none. */
function nextPricesMs({ deployments }: Catalog): number {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const deployment of deployments) {
    if (deployment.datedPrices === undefined) continue;
    const [coming] = comingPrices(deployment);
    if (coming !== undefined && coming.fromMs < nextMs) nextMs = coming.fromMs;
  }
  return nextMs;
}
