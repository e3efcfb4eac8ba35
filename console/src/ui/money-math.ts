/**
 * Money in the browser. The API sends dollars as decimal texts. Sums use whole micro-dollars
 * (bigint), because a `number` could round them.
 */
const USD = /^(-?)(\d+)(?:\.(\d{1,6}))?$/;
const MICRO_PER_USD = 1_000_000n;
const MICRO_PER_CENT = 10_000n;

/** Parses dollars of at most six decimals into micro-dollars. Throws a RangeError on other text. */
export function parseUsd(usd: string): bigint {
  const match = USD.exec(usd);
  if (match === null) throw new RangeError(`not an amount of dollars: ${usd}`);
  const [, sign, whole = "0", fraction = ""] = match;
  const micro = BigInt(whole) * MICRO_PER_USD + BigInt(fraction.padEnd(6, "0"));
  return sign === "-" ? -micro : micro;
}

/** Typed dollars without a dollar sign and the spaces around it, as the API takes them. */
export function bareUsd(text: string): string {
  return text.trim().replace(/^\$\s*/, "");
}

/** Parses typed dollars into micro-dollars. Undefined for a negative amount or other text. */
export function readUsdInput(text: string): bigint | undefined {
  const typed = bareUsd(text);
  return /^\d{1,9}(\.\d{1,6})?$/.test(typed) ? parseUsd(typed) : undefined;
}

/** Writes micro-dollars in decimal dollars, always with six decimals, such as `"12.500000"`. */
export function writeUsd(micro: bigint): string {
  const size = micro < 0n ? -micro : micro;
  const fraction = String(size % MICRO_PER_USD).padStart(6, "0");
  return `${micro < 0n ? "-" : ""}${size / MICRO_PER_USD}.${fraction}`;
}

export function addUsd(...amounts: readonly string[]): string {
  return writeUsd(amounts.reduce((sum, usd) => sum + parseUsd(usd), 0n));
}

export function compareUsd(a: string, b: string): number {
  const difference = parseUsd(a) - parseUsd(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Rounds to cents, halves away from zero. Not for a form's field, which must keep all digits. */
export function toCents(usd: string): string {
  const micro = parseUsd(usd);
  const size = micro < 0n ? -micro : micro;
  const cents = (size + MICRO_PER_CENT / 2n) / MICRO_PER_CENT;
  const sign = micro < 0n && cents !== 0n ? "-" : "";
  return `${sign}${cents / 100n}.${String(cents % 100n).padStart(2, "0")}`;
}

/**
 * Writes an amount as a person would type it: exactly, with at least two decimals. `usd` must have
 * six decimals, as in API answers.
 */
export function plainUsd(usd: string): string {
  return usd.replace(/0{1,4}$/, "");
}

/** `part` as a share of `whole`, from 0 to 1, with six decimals. Use it for lengths, not sums. */
export function computeShare(part: string, whole: string): number {
  const of = parseUsd(whole);
  if (of <= 0n) return 0;
  const share = (parseUsd(part) * MICRO_PER_USD) / of;
  return Math.min(1, Math.max(0, Number(share) / 1_000_000));
}

/** Writes a dollar sign, a true minus and thousands separators, such as `"−$1,234.500000"`. */
export function showUsd(usd: string, options: { readonly isSigned?: boolean } = {}): string {
  const isNegative = usd.startsWith("-");
  const [whole = "0", fraction] = usd.replace("-", "").split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  const sign = isNegative ? "−" : options.isSigned === true && /[1-9]/.test(usd) ? "+" : "";
  return `${sign}$${grouped}${fraction === undefined ? "" : `.${fraction}`}`;
}

/** Writes an amount rounded to cents, or `"<$0.01"` if more than zero would round to zero. */
export function showCents(usd: string, options: { readonly isSigned?: boolean } = {}): string {
  const cents = toCents(usd);
  if (cents === "0.00" && parseUsd(usd) > 0n) return "<$0.01";
  if (cents === "0.00" && parseUsd(usd) < 0n) return "−<$0.01";
  return showUsd(cents, options);
}
