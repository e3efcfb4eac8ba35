/**
 * A number as it was written, digit by digit: `digits` has no leading zero and is "" for zero;
 * `point` is the place of the decimal point counted from the left of `digits`, so 0.0832 is
 * `{ digits: "832", point: -1 }`. No float is involved, at any size.
 */
export interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly point: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Reads a number as JSON writes it ("2e-07", "-0.5"); undefined for everything else. */
export function parseDecimal(raw: string): Decimal | undefined {
  const match = NUMBER.exec(raw);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const written = whole + fraction;
  const significant = written.replace(/^0+/, "");
  const digits = withoutLastZeros(significant);
  // An exponent that is not an exact number is far beyond every bound there is.
  const point = significant.length - fraction.length + Number(exponent);
  return { negative: sign === "-" && digits !== "", digits, point: digits === "" ? 0 : point };
}

/** The number times 10^`places`. */
export function shiftDecimal(decimal: Decimal, places: number): Decimal {
  return decimal.digits === "" ? decimal : { ...decimal, point: decimal.point + places };
}

/** How many digits stand before the point (at least 0) and behind it. */
export function decimalSize({ digits, point }: Decimal): {
  readonly whole: number;
  readonly fraction: number;
} {
  return { whole: Math.max(0, point), fraction: Math.max(0, digits.length - point) };
}

/**
 * As plain text ("0.0832") without its sign; what is behind `fractionDigitsMax` digits is cut off.
 * The caller has bounded the digits before the point, which are all written out.
 */
export function plainDecimal({ digits, point }: Decimal, fractionDigitsMax: number): string {
  if (point <= -fractionDigitsMax) return "0";
  const whole = point <= 0 ? "0" : digits.slice(0, point).padEnd(point, "0");
  const fraction = point <= 0 ? "0".repeat(-point) + digits : digits.slice(point);
  const kept = withoutLastZeros(fraction.slice(0, fractionDigitsMax));
  return kept === "" ? whole : `${whole}.${kept}`;
}

/** Not by a pattern: it would try every run of zeros in the number. */
function withoutLastZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}
