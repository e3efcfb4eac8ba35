const MICRO_PER_USD = 1e6;
const PICO_PER_USD = 1e12;

/** Converts to dollars as a float. For charts only: never compute or decide with the result. */
export function microDollars(amountMicroUsd: bigint): number {
  return Number(amountMicroUsd) / MICRO_PER_USD;
}

/** As `microDollars`, from pico-dollars. */
export function picoDollars(amountPicoUsd: bigint): number {
  return Number(amountPicoUsd) / PICO_PER_USD;
}
