import type { Catalog, CheckedPrices, Deployment } from "./catalog.ts";

/** Prices that no source confirmed for this long may be others by now. */
export const CHECK_DAYS_MAX = 45;
/** Listings whose prices no source confirmed for this long are tried last. */
export const OLD_DAYS = 90;

const DAY_MS = 86_400_000;

/** The whole of the last day still counts. */
export function isOlderThan(on: string, days: number, nowMs: number): boolean {
  return nowMs >= endOf(on, days);
}

function endOf(on: string, days: number): number {
  return Date.parse(`${on}T00:00:00Z`) + (days + 1) * DAY_MS;
}

/** How old a check is at an instant, and until when that holds; `endsAfterDays` ends another bound. */
export function ageOfCheck(
  on: string,
  nowMs: number,
  endsAfterDays: number,
): Pick<CheckedPrices, "age" | "ageUntilMs"> {
  const isOver = (days: number): boolean => isOlderThan(on, days, nowMs);
  const ends = [CHECK_DAYS_MAX, OLD_DAYS, endsAfterDays].map((days) => endOf(on, days));
  return {
    age: isOver(OLD_DAYS) ? "old" : isOver(CHECK_DAYS_MAX) ? "late" : "recent",
    ageUntilMs: Math.min(...ends.filter((atMs) => atMs > nowMs)),
  };
}

/** A routed listing whose prices were last confirmed on this day, over 45 days ago. */
export interface StaleListing {
  readonly deployment: Deployment;
  readonly on: string;
}

/** Of what is routed, oldest check first. A listing that says nothing of a check is not among them. */
export function staleListings({ models }: Pick<Catalog, "models">): readonly StaleListing[] {
  const found = models
    .flatMap(({ deployments }) => deployments)
    .flatMap((deployment): StaleListing[] => {
      const { checked } = deployment;
      return checked === undefined || checked.age === "recent"
        ? []
        : [{ deployment, on: checked.on }];
    });
  return found.toSorted((a, b) => {
    if (a.on !== b.on) return a.on < b.on ? -1 : 1;
    return a.deployment.id < b.deployment.id ? -1 : 1;
  });
}
