import type { Catalog, DatedPrices, Deployment } from "./catalog.ts";

/**
 * The deployment with the prices of an instant, in milliseconds since 1970: itself where no others
 * are in force, and the same object every time as long as it is in the catalog.
 */
export function deploymentAt(deployment: Deployment, atMs: number): Deployment {
  const { datedPrices } = deployment;
  if (datedPrices === undefined) return deployment;
  const dated = pricesAt(datedPrices, atMs);
  if (dated === undefined || dated.prices === deployment.prices) return deployment;
  const made = copies.get(deployment) ?? new Map<DatedPrices, Deployment>();
  copies.set(deployment, made);
  const known = made.get(dated);
  if (known !== undefined) return known;
  const { defaultedSkus: _ofOthers, ...rest } = deployment;
  const copy: Deployment = Object.freeze({
    ...rest,
    prices: dated.prices,
    ...(dated.defaultedSkus.length > 0 && { defaultedSkus: dated.defaultedSkus }),
  });
  made.set(dated, copy);
  return copy;
}

/** The last ones that have begun. */
export function pricesAt(
  datedPrices: readonly DatedPrices[],
  atMs: number,
): DatedPrices | undefined {
  return datedPrices.findLast(({ fromMs }) => fromMs <= atMs);
}

/** What is announced: the prices after those in force, oldest first. */
export function comingPrices({ datedPrices = [], prices }: Deployment): readonly DatedPrices[] {
  return datedPrices.slice(datedPrices.findIndex((dated) => dated.prices === prices) + 1);
}

/** When announced prices begin, or a check of prices gets too old, that the catalog does not show. */
export function nextPricesMs({ deployments }: Catalog): number {
  return Math.min(
    ...deployments.flatMap((each) => [
      comingPrices(each)[0]?.fromMs ?? Infinity,
      each.checked?.ageUntilMs ?? Infinity,
    ]),
  );
}

// Weak: a swapped catalog takes its copies with it.
const copies = new WeakMap<Deployment, Map<DatedPrices, Deployment>>();
