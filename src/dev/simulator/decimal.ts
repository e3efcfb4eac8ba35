const TICK_DIGITS = 10;

/** So many cents as USD in decimal notation, `0.04`. */
export function usdOfCents(cents: number): string {
  const digits = String(cents).padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`.replace(/\.?0+$/, "");
}

/** USD in decimal notation as ticks of 10^-10 USD; any other text stays as it is. */
export function ticksOfUsd(usd: string): string {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(usd);
  if (match === null) return usd;
  const [, whole = "", fraction = ""] = match;
  const ticks = `${whole}${fraction.slice(0, TICK_DIGITS).padEnd(TICK_DIGITS, "0")}`;
  return ticks.replace(/^0+(?=\d)/, "");
}
