import type { ProviderErrorText } from "./provider-error-text.ts";

/** One table of what providers say in one kind of failure. */
export interface Wording {
  /** Lower-case codes or types that say it all. */
  readonly codes: readonly string[];
  /** Matched against the lower-case text of the body. */
  readonly patterns: readonly RegExp[];
}

export function speaksOf(errorText: ProviderErrorText, wording: Wording): boolean {
  return (
    errorText.codes.some((code) => wording.codes.includes(code)) ||
    wording.patterns.some((pattern) => pattern.test(errorText.all))
  );
}
