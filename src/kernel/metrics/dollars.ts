const MICRO_PER_USD = 1e6;
const PICO_PER_USD = 1e12;

/** Dollars for a picture: floats, and nothing is decided by them. */
export function microDollars(amountMicroUsd: bigint): number {
  return Number(amountMicroUsd) / MICRO_PER_USD;
}

export function picoDollars(amountPicoUsd: bigint): number {
  return Number(amountPicoUsd) / PICO_PER_USD;
}
