import { assert } from "../../kernel/index.ts";

/** A price card has the most fraction digits: nine. */
const FRACTION_DIGITS = 9;

/** A price of a valid manifest in billionths of a dollar, exactly. */
export function priceUnits(text: string): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  assert(fraction.length <= FRACTION_DIGITS, "a valid price has at most nine fraction digits");
  return BigInt(whole + fraction.padEnd(FRACTION_DIGITS, "0"));
}

/** Hundredths of a percent. */
const PARTS = 10_000n;

/**
 * How much dearer `next` is in percent, as a decimal text with at most two fraction digits and its
 * sign: rounded up, so that no rise seems smaller than it is. Null: there is no percent of nothing.
 */
export function percentChange(before: bigint, next: bigint): string | null {
  if (before === 0n) return null;
  const scaled = (next - before) * PARTS;
  const cut = scaled / before;
  const parts = cut * before < scaled ? cut + 1n : cut;
  const magnitude = parts < 0n ? 0n - parts : parts;
  const fraction = (magnitude % 100n).toString().padStart(2, "0").replace(/0+$/, "");
  const text = `${magnitude / 100n}${fraction === "" ? "" : `.${fraction}`}`;
  return parts < 0n ? `-${text}` : `+${text}`;
}
