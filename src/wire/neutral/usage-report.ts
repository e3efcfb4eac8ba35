import type { Usage } from "../../core/index.ts";

/** What a provider reported about one answer so far. */
export interface UsageReport {
  readonly usage: Usage;
  /** Raw number text of the provider's own cost in USD. */
  readonly reportedCostUsd?: string;
  /** The counts contradict each other, or one of them is not a count. */
  readonly isFlawed?: true;
}

/** A count as a safe integer of at least 0; undefined for everything else. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** A field that is there and is not a count. */
export function isFlawedCount(value: unknown): boolean {
  return value !== undefined && value !== null && countOf(value) === undefined;
}

/** The first readable count. */
export function firstCount(...values: readonly unknown[]): number | undefined {
  for (const value of values) {
    const count = countOf(value);
    if (count !== undefined) return count;
  }
  return undefined;
}

/** Number text that may be a cost: not negative, digits kept as they are. */
export function costText(raw: string | undefined): string | undefined {
  const text = raw?.replaceAll('"', "");
  return text !== undefined && /^\d+(\.\d+)?([eE][+-]?\d{1,3})?$/.test(text) ? text : undefined;
}
