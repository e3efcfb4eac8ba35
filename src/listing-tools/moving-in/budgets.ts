import { formatUsd, microUsd, parseDecimal, parseUsd, plainDecimal } from "../../kernel/index.ts";

/** A budget of LiteLLM, as far as it is one here. */
export type Budget =
  | { readonly kind: "absent" }
  /** A cap per calendar month. */
  | { readonly kind: "monthly"; readonly usd: string }
  /** Without a period: what may be spent in all. */
  | { readonly kind: "lasting"; readonly usd: string }
  /** Of another period, or not an amount. */
  | { readonly kind: "other" };

/** LiteLLM counts a month as 30 days, or begins at the first. */
const MONTHS: ReadonlySet<string> = new Set(["30d", "31d", "1mo", "1M", "720h"]);

const FRACTION_DIGITS = 6;
const WHOLE_DIGITS_MAX = 9;

/** Reads a budget from the texts of its amount and its period. */
export function budgetOf(amount: string | undefined, duration: string | undefined): Budget {
  if (amount === undefined) return { kind: "absent" };
  const usd = dollars(amount);
  if (usd === undefined) return { kind: "other" };
  if (duration === undefined) return { kind: "lasting", usd };
  return MONTHS.has(duration) ? { kind: "monthly", usd } : { kind: "other" };
}

/** An amount above 0 in at most six decimals; what is behind them is cut off, to the safe side. */
function dollars(raw: string): string | undefined {
  const decimal = parseDecimal(raw);
  if (decimal === undefined || decimal.negative || decimal.point > WHOLE_DIGITS_MAX) {
    return undefined;
  }
  const usd = plainDecimal(decimal, FRACTION_DIGITS);
  return usd === "0" ? undefined : usd;
}

/** What is left of a budget, exactly; undefined when nothing is. */
export function remainingUsd(budget: string, spent: string | undefined): string | undefined {
  const whole = parseUsd(budget);
  if (whole === undefined) return undefined;
  const gone = spent === undefined ? 0n : spentMicroUsd(spent);
  if (gone === undefined || gone >= whole) return undefined;
  return formatUsd(microUsd(whole - gone));
}

/** Rounded up to micro-dollars, so that no more is granted than is left. */
function spentMicroUsd(raw: string): bigint | undefined {
  const decimal = parseDecimal(raw);
  if (decimal === undefined || decimal.point > WHOLE_DIGITS_MAX) return undefined;
  if (decimal.negative) return 0n;
  const cut = parseUsd(plainDecimal(decimal, FRACTION_DIGITS));
  if (cut === undefined) return undefined;
  const isExact = decimal.digits.length - decimal.point <= FRACTION_DIGITS;
  return isExact ? cut : cut + 1n;
}
