import { compareUsd, readUsdInput, showCents, toCents, writeUsd } from "../../ui/money-math.ts";

export interface AmountBounds {
  readonly minUsd: string;
  readonly maxUsd: string;
}

export type ReadAmount =
  | { readonly kind: "blank" }
  /** `amountUsd` is the amount to charge, with two decimals. */
  | { readonly kind: "amount"; readonly amountUsd: string }
  | { readonly kind: "problem"; readonly problem: string };

/** Reads a typed amount of credit. It must be in whole cents and within the bounds. */
export function readAmount(text: string, bounds: AmountBounds): ReadAmount {
  const typed = text.trim();
  if (typed === "") return { kind: "blank" };
  const micro = readUsdInput(typed);
  if (micro === undefined) return problem("Enter an amount in dollars, such as 25 or 12.50.");
  if (micro % MICRO_PER_CENT !== 0n)
    return problem("Use at most two decimals. Cards are charged in whole cents.");
  const usd = writeUsd(micro);
  if (compareUsd(usd, bounds.minUsd) < 0) {
    return problem(`The minimum purchase is ${showCents(bounds.minUsd)}.`);
  }
  if (compareUsd(usd, bounds.maxUsd) > 0) {
    return problem(`The maximum purchase is ${showCents(bounds.maxUsd)}.`);
  }
  return { kind: "amount", amountUsd: toCents(usd) };
}

export function usualAmounts(bounds: AmountBounds): readonly string[] {
  return ["10", "25", "100"].filter((usd) => readAmount(usd, bounds).kind === "amount");
}

const MICRO_PER_CENT = 10_000n;

function problem(sentence: string): ReadAmount {
  return { kind: "problem", problem: sentence };
}
