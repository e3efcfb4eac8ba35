/** What a typed cap means. `problem` is a sentence that the form shows at the field. */
export type TypedCap =
  | { readonly kind: "unchanged" }
  | { readonly kind: "removed" }
  | { readonly kind: "capped"; readonly capUsd: string }
  | { readonly kind: "problem"; readonly problem: string };

/** Reads a typed cap: blank changes nothing, 0 removes the cap. */
export function readCap(text: string): TypedCap {
  const typed = text.trim().replace(/^\$\s*/, "");
  if (typed === "") return { kind: "unchanged" };
  if (typed.startsWith("-")) {
    return { kind: "problem", problem: "A cap cannot be negative. 0 removes it." };
  }
  if (!/^[0-9]+(\.[0-9]+)?$/.test(typed)) {
    return { kind: "problem", problem: "Enter a cap in dollars, such as 25 or 0.50." };
  }
  if (!/^[0-9]{1,9}(\.[0-9]{1,6})?$/.test(typed)) {
    return {
      kind: "problem",
      problem: "Use at most nine digits before the decimal point and six after it.",
    };
  }
  return /^[0.]+$/.test(typed) ? { kind: "removed" } : { kind: "capped", capUsd: typed };
}

/** The cap for the request body of a change. Undefined if the body must not have the field. */
export function capInput(cap: TypedCap): string | undefined {
  if (cap.kind === "removed") return "0";
  return cap.kind === "capped" ? cap.capUsd : undefined;
}

/** Writes an amount as a person would type it: exactly, with at least two decimals. */
export function plainUsd(usd: string): string {
  return usd.replace(/0{1,4}$/, "");
}
