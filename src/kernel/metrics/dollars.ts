const MICRO_PER_USD = 1e6;
const PICO_PER_USD = 1e12;

/** For charts only: never compute or decide with this float. */
export function microDollars(amountMicroUsd: bigint): number {
  return Number(amountMicroUsd) / MICRO_PER_USD;
}

/** For charts only, like `microDollars`. */
export function picoDollars(amountPicoUsd: bigint): number {
  return Number(amountPicoUsd) / PICO_PER_USD;
}
