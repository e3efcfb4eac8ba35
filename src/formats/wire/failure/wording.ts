import type { ProviderErrorText } from "./provider-error-text.ts";

/** One table of what providers say in one kind of failure. */
export interface Wording {
  /** Lower-case codes or types that say it all. */
  readonly codes: readonly string[];
  /**
   * Matched against the lower-case text of the body. Nothing in them repeats in front of more: an
   * outside text could make that try again from every place. `pairs` are for words with others
   * between.
   */
  readonly patterns: readonly RegExp[];
  readonly pairs?: readonly WordPair[];
}

/** Two parts of one sentence of at most `charsMax` characters, in this order. */
export interface WordPair {
  readonly first: readonly string[];
  readonly second: readonly string[];
  readonly charsMax: number;
}

export function speaksOf(errorText: ProviderErrorText, wording: Wording): boolean {
  const { all, codes } = errorText;
  return (
    codes.some((code) => wording.codes.includes(code)) ||
    wording.patterns.some((pattern) => pattern.test(all)) ||
    wording.pairs?.some((pair) => holdsPair(all, pair)) === true
  );
}

/** Looks back from each second part: what that costs does not grow with the text. */
function holdsPair(text: string, { first, second, charsMax }: WordPair): boolean {
  for (const part of second) {
    for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) {
      const window = text.slice(Math.max(0, at - charsMax), at);
      const inSentence = window.split(".").at(-1) ?? "";
      if (first.some((each) => inSentence.includes(each))) return true;
    }
  }
  return false;
}
