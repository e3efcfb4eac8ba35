import { instant } from "../../kernel/index.ts";
import { figuresOf, type ListingSums } from "../../gateway/index.ts";
import type { FiguresAt, ListingFigures } from "./contract.ts";

type Figures = Omit<FiguresAt, "at">;

/** The figures of listings from what was summed up of them, by model and provider. */
export function shownListings(
  days: readonly ListingSums[],
  of: {
    readonly hours: readonly ListingSums[];
    readonly hasHistory: boolean;
    /** Of many organizations: no counts, and only so exact that one call does not show. */
    readonly isRounded: boolean;
  },
): ListingFigures[] {
  const shown = of.isRounded ? rounded : exact;
  const at = (sums: readonly ListingSums[]): FiguresAt[] =>
    of.hasHistory ? sums.map((each) => ({ at: instant(each.fromMs), ...shown([each]) })) : [];
  const hoursOf = byListing(of.hours);
  return [...byListing(days)].map(([key, ofListing]) => {
    const [{ providerId, modelId }] = ofListing as readonly [ListingSums];
    return {
      provider: providerId,
      model: modelId,
      calls: of.isRounded ? null : figuresOf(ofListing).calls,
      ...shown(ofListing),
      days: at(ofListing),
      hours: at(hoursOf.get(key) ?? []),
    };
  });
}

function byListing(sums: readonly ListingSums[]): ReadonlyMap<string, readonly ListingSums[]> {
  const grouped = new Map<string, ListingSums[]>();
  for (const each of sums) {
    if (each.succeeded + each.failed === 0) continue;
    const key = keyOf(each);
    const known = grouped.get(key);
    if (known === undefined) grouped.set(key, [each]);
    else known.push(each);
  }
  return grouped;
}

function keyOf({ modelId, providerId }: ListingSums): string {
  return `${modelId} ${providerId}`;
}

function exact(sums: readonly ListingSums[]): Figures {
  const figures = figuresOf(sums);
  return {
    success: figures.success,
    uptime: figures.uptime,
    ttft_p50_ms: figures.firstTokenP50Ms,
    ttft_p95_ms: figures.firstTokenP95Ms,
    tokens_per_second: withDigits(figures.tokensPerSecond, 3),
  };
}

function rounded(sums: readonly ListingSums[]): Figures {
  const { success, uptime, ...others } = exact(sums);
  return {
    success: wholePercent(success),
    uptime: wholePercent(uptime),
    ttft_p50_ms: withDigits(others.ttft_p50_ms, 2),
    ttft_p95_ms: withDigits(others.ttft_p95_ms, 2),
    tokens_per_second: withDigits(others.tokens_per_second, 2),
  };
}

/** Downwards: 199 of 200 calls are not all of them. */
export function wholePercent(share: number | null): number | null {
  return share === null ? null : Math.floor(share * 100) / 100;
}

export function withDigits(figure: number | null, digits: number): number | null {
  return figure === null ? null : Number(figure.toPrecision(digits));
}
