import { assert } from "../kernel/index.ts";
import type { Catalog, DatedPrices, Deployment, OwnKey, PriceSheet } from "./catalog.ts";
import { shortHash } from "./price-sheet.ts";

/**
 * The copy of a deployment for a customer's own key, with its own health and capacity, which costs
 * nothing. Returns the same object while the catalog has the deployment and the key is unchanged.
 */
export function ownKeyDeployment(
  deployment: Deployment,
  connection: Omit<OwnKey, "providerId">,
): Deployment {
  assert(deployment.ownKey === undefined, "a copy with a customer's key is not copied again");
  const { connectionId, orgId, sealedKey } = connection;
  const copies = findCopies(deployment);
  const known = copies.get(connectionId);
  if (known?.ownKey?.orgId === orgId && known.ownKey.sealedKey.equals(sealedKey)) return known;
  const { apiKeyEnv: _marketplaceKey, datedPrices: _whatItCosts, ...rest } = deployment;
  const copy: Deployment = Object.freeze<Deployment>({
    ...rest,
    id: `${deployment.id}@${connectionId}`,
    // The cost that the provider reports is between it and its customer.
    billing: "token",
    prices: deployment.prices === null ? null : zeroPricePin(deployment),
    capacity: [],
    pool: { id: `connection:${connectionId}`, capacity: [], orgSharePercent: 100 },
    passesPricedFields: true,
    ownKey: { connectionId, orgId, providerId: deployment.providerId, sealedKey },
  });
  remember(copies, connectionId, copy);
  return copy;
}

/** The prefix of price pins for attempts on a customer's own key. */
export const OWN_KEY_PINS = "own-key-";

/** Zero prices for a deployment, with a pin that marks a customer's key in the ledger. */
export function zeroPricePin(deployment: Pick<Deployment, "id">): PriceSheet {
  return Object.freeze({
    pinId: `${OWN_KEY_PINS}${shortHash(`own key\n${deployment.id}`)}`,
    prompt: 0n,
    cachedPrompt: 0n,
    cacheWrite: 0n,
    completion: 0n,
    internalReasoning: 0n,
  });
}

type Copies = Map<string, Deployment>;

// Weak: a swapped catalog takes its copies with it.
const copiesByDeployment = new WeakMap<Deployment, Copies>();
const datedCopies = new WeakMap<Deployment, Map<DatedPrices, Deployment>>();

/** Bounds memory only: a dropped copy is created again in microseconds. */
const COPIES_PER_DEPLOYMENT_MAX = 1_000;

function findCopies(deployment: Deployment): Copies {
  const known = copiesByDeployment.get(deployment);
  if (known !== undefined) return known;
  const copies: Copies = new Map();
  copiesByDeployment.set(deployment, copies);
  return copies;
}

function remember(copies: Copies, connectionId: string, copy: Deployment): void {
  copies.delete(connectionId);
  const [oldest] = copies.keys();
  if (copies.size >= COPIES_PER_DEPLOYMENT_MAX && oldest !== undefined) copies.delete(oldest);
  copies.set(connectionId, copy);
}

/**
 * The deployment with the prices of an instant, in milliseconds since 1970. Returns the same object
 * for the same prices while the catalog has the deployment.
 */
export function deploymentAt(deployment: Deployment, atMs: number): Deployment {
  const { datedPrices } = deployment;
  if (datedPrices === undefined) return deployment;
  const dated = pricesAt(datedPrices, atMs);
  if (dated === undefined || dated.prices === deployment.prices) return deployment;
  const made = datedCopies.get(deployment) ?? new Map<DatedPrices, Deployment>();
  datedCopies.set(deployment, made);
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

/** The last prices that have begun; undefined if none have. */
export function pricesAt(
  datedPrices: readonly DatedPrices[],
  atMs: number,
): DatedPrices | undefined {
  return datedPrices.findLast(({ fromMs }) => fromMs <= atMs);
}

/** The announced prices after the present ones, oldest first. */
export function comingPrices({ datedPrices = [], prices }: Deployment): readonly DatedPrices[] {
  return datedPrices.slice(datedPrices.findIndex((dated) => dated.prices === prices) + 1);
}

/**
 * When the next announced prices begin or the next check of prices gets too old, after which the
 * catalog has to be built again; Infinity: never.
 */
export function nextPricesMs({ deployments }: Catalog): number {
  return Math.min(
    ...deployments.flatMap((each) => [
      comingPrices(each)[0]?.fromMs ?? Infinity,
      each.checked?.ageUntilMs ?? Infinity,
    ]),
  );
}
