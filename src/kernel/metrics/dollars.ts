const MICRO_PER_USD = 1e6;
const PICO_PER_USD = 1e12;

/** Returns a float for charts: never compute or decide with it. */
export function microDollars(amountMicroUsd: bigint): number {
  return Number(amountMicroUsd) / MICRO_PER_USD;
}

/** Returns a float for charts, like `microDollars`. */
export function picoDollars(amountPicoUsd: bigint): number {
  return Number(amountPicoUsd) / PICO_PER_USD;
}
