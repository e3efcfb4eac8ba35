import { formatCount, formatMs } from "../format.ts";
import { parseUsd, showUsd, writeUsd } from "../money-math.ts";

export type Unit = "usd" | "count" | "ms" | "share";
/**
 * An amount as the API sends it: dollars as a decimal text; counts, milliseconds and thousandths of
 * a share as whole numbers; null if nothing was measured.
 */
export type Amount = string | number | null;

/**
 * Converts an amount into whole micro-dollars, counts, milliseconds or thousandths, so that sums
 * stay exact. Throws a RangeError for a fractional count and for dollars that are no decimal text.
 */
export function toWhole(unit: Unit, amount: Amount | undefined): bigint {
  if (amount === null || amount === undefined) return 0n;
  if (unit === "usd") return parseUsd(String(amount));
  return BigInt(amount);
}

export function findHighest(wholes: readonly bigint[]): bigint {
  return wholes.reduce((highest, whole) => (whole > highest ? whole : highest), 0n);
}

/** Writes an amount with its unit, such as `"$0.001932"` or `"840 ms"`; long times are rounded. */
export function showWhole(unit: Unit, whole: bigint): string {
  if (unit === "usd") return showUsd(writeUsd(whole));
  if (unit === "share") return showShare(whole);
  return unit === "ms" ? formatMs(Number(whole)) : formatCount(Number(whole));
}

/** Writes an amount in short form for a scale, such as `"$0.50"`, `"$2"` or `"1.2K"`. */
export function showTick(unit: Unit, whole: bigint): string {
  if (unit === "ms") return formatMs(Number(whole));
  if (unit === "share") return showShare(whole);
  if (unit === "count") return COMPACT.format(whole);
  const usd = writeUsd(whole).replace(/0+$/, "");
  if (usd.endsWith(".")) return showUsd(usd.slice(0, -1));
  return showUsd(/\.\d$/.test(usd) ? `${usd}0` : usd);
}
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

function showShare(whole: bigint): string {
  return `${Number(whole) / 10}%`;
}

export interface Scale {
  /** Amount at the top edge of the chart; never 0. */
  readonly top: bigint;
  /** Amounts at which the scale has lines, lowest first. They include 0 and `top`. */
  readonly ticks: readonly bigint[];
}

/** Makes a scale up to `highest` with at most four round steps (1, 2 or 5 times 10^n). */
export function scaleFor(highest: bigint): Scale {
  const step = roundStep(highest);
  const steps = highest <= 0n ? 1n : (highest + step - 1n) / step;
  return {
    top: step * steps,
    ticks: Array.from({ length: Number(steps) + 1 }, (_none, at) => step * BigInt(at)),
  };
}
const STEPS_MAX = 4n;

function roundStep(highest: bigint): bigint {
  for (let ten = 1n; ; ten *= 10n) {
    for (const factor of [1n, 2n, 5n]) {
      if (factor * ten * STEPS_MAX >= highest) return factor * ten;
    }
  }
}

/**
 * Returns `part` as a share of `whole`, from 0 to 1. It has only six decimals: use it for drawn
 * lengths, never for sums.
 */
export function measureLength(part: bigint, whole: bigint): number {
  if (whole <= 0n || part <= 0n) return 0;
  return Math.min(1, Number((part * 1_000_000n) / whole) / 1_000_000);
}
