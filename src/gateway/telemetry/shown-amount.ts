import type { MicroUsd } from "../../kernel/index.ts";

/** An amount as an attribute, which is a number: for people and sums of samples; the ledger is exact. */
export function presentAmount(amount: MicroUsd): number {
  return Number(amount);
}
