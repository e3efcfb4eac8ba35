/** The id of what is named by it, or is there as a whole. */
export function idOf(
  reference: string | { readonly id: string } | null | undefined,
): string | null {
  return typeof reference === "string" ? reference : (reference?.id ?? null);
}

/** Undefined: only its id is there. */
export function expanded<T>(reference: string | T | null | undefined): T | undefined {
  return typeof reference === "string" || reference === null ? undefined : reference;
}
