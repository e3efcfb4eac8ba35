import type { Catalog } from "./catalog.ts";

/** A provider some of whose prices were not checked for long. */
export interface OldCheck {
  readonly providerId: string;
  /** Of its ready listings, the day of the oldest check: YYYY-MM-DD. */
  readonly oldestOn: string;
  readonly listings: number;
}

/** Prices that were checked longer ago than this may be others by now. */
export const CHECK_DAYS_MAX = 45;

const DAY_MS = 86_400_000;

/** Providers of ready listings whose prices were checked over 45 days ago, oldest first. */
export function oldChecks(
  { deployments }: Pick<Catalog, "deployments">,
  nowMs: number,
): readonly OldCheck[] {
  const lastGoodOn = new Date(nowMs - CHECK_DAYS_MAX * DAY_MS).toISOString().slice(0, 10);
  const found = new Map<string, OldCheck>();
  for (const { providerId, checked, notReady } of deployments) {
    // Days of one form compare as text.
    if (checked === undefined || notReady !== undefined || checked.on >= lastGoodOn) continue;
    const { oldestOn = checked.on, listings = 0 } = found.get(providerId) ?? {};
    found.set(providerId, {
      providerId,
      oldestOn: checked.on < oldestOn ? checked.on : oldestOn,
      listings: listings + 1,
    });
  }
  return [...found.values()].toSorted((a, b) => {
    if (a.oldestOn !== b.oldestOn) return a.oldestOn < b.oldestOn ? -1 : 1;
    return a.providerId < b.providerId ? -1 : 1;
  });
}
