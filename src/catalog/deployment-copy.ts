import { assert } from "../kernel/index.ts";
import type { Catalog, DatedPrices, Deployment, OwnKey, PriceSheet } from "./catalog.ts";
import { shortHash } from "./price-sheet.ts";

/**
 * Copies a deployment for a customer's own key: the copy has its own health and capacity and costs
 * nothing. The same deployment and key give the same object, because caches use it as a key.
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
    // The provider bills the customer directly, so the gateway ignores a reported cost.
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

export const OWN_KEY_PINS = "own-key-";

/** Returns prices of 0. Their pin marks an attempt as made with a customer's own key. */
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

// The maps are weak, so that the copies of a replaced catalog are freed with it.
const copiesByDeployment = new WeakMap<Deployment, Copies>();
const datedCopies = new WeakMap<Deployment, Map<DatedPrices, Deployment>>();

/** Bounds the memory for copies. A removed copy is created again in microseconds. */
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

/** The deployment at `atMs`, in ms since 1970. Caches need the same object for the same prices. */
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

export function pricesAt(
  datedPrices: readonly DatedPrices[],
  atMs: number,
): DatedPrices | undefined {
  return datedPrices.findLast(({ fromMs }) => fromMs <= atMs);
}

export function comingPrices({ datedPrices = [], prices }: Deployment): readonly DatedPrices[] {
  return datedPrices.slice(datedPrices.findIndex((dated) => dated.prices === prices) + 1);
}

/**
 * When the catalog must be rebuilt, in ms since 1970: when a price or the age of a check changes,
 * or a listing ends or becomes too old to be routed. Infinity: never.
 */
export function nextBuildMs({ deployments }: Catalog): number {
  return Math.min(
    ...deployments.flatMap((each) => [
      comingPrices(each)[0]?.fromMs ?? Infinity,
      each.checked?.ageUntilMs ?? Infinity,
      each.endsMs ?? Infinity,
    ]),
  );
}
