/**
 * Money, in two integer units and never in a float.
 *
 * - `MicroUsd`: one millionth of a dollar. Balances, reserves, debits, caps.
 * - `PicoUsd`: one millionth of a micro-dollar. Exact cost of an attempt (tokens x price), because
 *   a price in micro-USD per million tokens is exactly the same number of pico-USD per token.
 *
 * An amount is rounded once, over the whole sum: up for a reserve, down for a debit.
 */
export type MicroUsd = bigint & { readonly __unit: "micro-usd" };
export type PicoUsd = bigint & { readonly __unit: "pico-usd" };

const PICO_PER_MICRO = 1_000_000n;
const MICRO_PER_USD = 1_000_000n;
const MICRO_DIGITS = 6;
const PICO_DIGITS = 12;

export const ZERO_MICRO_USD: MicroUsd = 0n as MicroUsd;
export const ZERO_PICO_USD: PicoUsd = 0n as PicoUsd;

export function microUsd(amount: bigint): MicroUsd {
  return amount as MicroUsd;
}

export function picoUsd(amount: bigint): PicoUsd {
  return amount as PicoUsd;
}

/** Rounds a reserve up to whole micro-dollars. */
export function ceilToMicroUsd(exact: PicoUsd): MicroUsd {
  const floor = exact / PICO_PER_MICRO;
  return (floor * PICO_PER_MICRO === exact ? floor : floor + 1n) as MicroUsd;
}

/** Rounds a debit down to whole micro-dollars. */
export function floorToMicroUsd(exact: PicoUsd): MicroUsd {
  return (exact / PICO_PER_MICRO) as MicroUsd;
}

export function fractionBelowMicroUsd(exact: PicoUsd): PicoUsd {
  return (exact - floorToMicroUsd(exact) * PICO_PER_MICRO) as PicoUsd;
}

/** Parses dollars of up to 15 digits and 6 decimals ("12", "-3.000001"); undefined otherwise. */
export function parseUsd(text: string): MicroUsd | undefined {
  const match = /^(-?)(\d{1,15})(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "0", fraction = ""] = match;
  const amount = BigInt(whole) * MICRO_PER_USD + BigInt(fraction.padEnd(MICRO_DIGITS, "0"));
  return (sign === "-" ? 0n - amount : amount) as MicroUsd;
}

/** Prints a decimal USD string with six fraction digits: `"0.001932"`. */
export function formatUsd(amount: MicroUsd): string {
  return formatDollars(amount, MICRO_DIGITS);
}

export function formatExactUsd(amount: PicoUsd): string {
  return formatDollars(amount, PICO_DIGITS);
}

function formatDollars(amount: bigint, fractionDigits: number): string {
  const magnitude = amount < 0n ? 0n - amount : amount;
  const digits = magnitude.toString().padStart(fractionDigits + 1, "0");
  const point = digits.length - fractionDigits;
  return `${amount < 0n ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Prints dollars as a JSON number, without trailing zeros or exponent: `0.001932`, `12`. */
export function usdJsonNumber(amount: MicroUsd): string {
  return formatUsd(amount).replace(/\.?0+$/, "");
}

/**
 * Parses a cost that a provider reports in USD ("0.00012", "1.5e-05"). Digits below a pico-dollar
 * are cut off. Undefined for other text, such as a negative number, more than 15 digits before the
 * point or 40 after it, or an exponent more than 12 above the number of digits after the point.
 */
export function parseUsdToPico(text: string): PicoUsd | undefined {
  const match = /^(\d{1,15})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  return match === null ? undefined : toPico("", match.slice(1), "cut");
}

/**
 * Parses an amount from another company's books ("12", "-0.5", "1.5e-05") exactly into
 * pico-dollars; undefined for anything else, and for an amount with digits below a pico-dollar.
 */
export function parseExactUsd(text: string): PicoUsd | undefined {
  const match = /^(-?)(\d{1,15})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,2}))?$/.exec(text);
  return match === null ? undefined : toPico(match[1], match.slice(2), "refuse");
}

function toPico(
  sign: string | undefined,
  [whole = "0", fraction = "", exponent = "0"]: readonly (string | undefined)[],
  smallerDigits: "cut" | "refuse",
): PicoUsd | undefined {
  const shift = PICO_DIGITS + Number(exponent) - fraction.length;
  if (shift > 2 * PICO_DIGITS) return undefined;
  const digits = BigInt(whole + fraction);
  const scale = 10n ** BigInt(Math.abs(shift));
  if (smallerDigits === "refuse" && shift < 0 && digits % scale !== 0n) return undefined;
  const amount = shift < 0 ? digits / scale : digits * scale;
  return picoUsd(sign === "-" ? 0n - amount : amount);
}

/** A million dollars: a cost that exceeds the reserve by more is impossible; it is not charged. */
const REPORTED_COST_MAX = picoUsd(10n ** 18n);

/** True if `cost` exceeds `reserve` by at most a million dollars. */
export function isWithinExcess(cost: PicoUsd, reserve: MicroUsd): boolean {
  return cost <= reserve * PICO_PER_MICRO + REPORTED_COST_MAX;
}

/**
 * An exact decimal of any size. `digits` has no leading and no trailing zero, and is "" for zero.
 * `point` is the position of the decimal point, counted from the left of `digits`: 0.0832 is
 * `{ digits: "832", point: -1 }`.
 */
export interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly point: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Parses a number like JSON's ("2e-07", "-0.5"), or with leading zeros; undefined otherwise. */
export function parseDecimal(raw: string): Decimal | undefined {
  const match = NUMBER.exec(raw);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const written = whole + fraction;
  const significant = written.replace(/^0+/, "");
  const digits = withoutLastZeros(significant);
  // `Number` may round a huge exponent, but such a number exceeds every bound that callers check.
  const point = significant.length - fraction.length + Number(exponent);
  return { negative: sign === "-" && digits !== "", digits, point: digits === "" ? 0 : point };
}

export function shiftDecimal(decimal: Decimal, places: number): Decimal {
  return decimal.digits === "" ? decimal : { ...decimal, point: decimal.point + places };
}

export function decimalSize({ digits, point }: Decimal): {
  readonly whole: number;
  readonly fraction: number;
} {
  return { whole: Math.max(0, point), fraction: Math.max(0, digits.length - point) };
}

/**
 * Formats as plain text ("0.0832") without sign; digits beyond `fractionDigitsMax` are cut off. The
 * caller must bound the digits before the point, because all of them are written.
 */
export function plainDecimal({ digits, point }: Decimal, fractionDigitsMax: number): string {
  if (point <= -fractionDigitsMax) return "0";
  const whole = point <= 0 ? "0" : digits.slice(0, point).padEnd(point, "0");
  const fraction = point <= 0 ? "0".repeat(-point) + digits : digits.slice(point);
  const kept = withoutLastZeros(fraction.slice(0, fractionDigitsMax));
  return kept === "" ? whole : `${whole}.${kept}`;
}

/** Uses a loop, because a regular expression such as /0+$/ would try every run of zeros. */
function withoutLastZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}
