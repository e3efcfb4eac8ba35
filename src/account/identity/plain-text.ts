import { hiddenCharacters } from "../../kernel/index.ts";

/**
 * Text from outside, fit to be kept and shown: without hidden characters, trimmed, at most
 * `charsMax` long; null: nothing is left.
 */
export function plainText(text: string | undefined, charsMax: number): string | null {
  const plain = (text ?? "").replaceAll(hiddenCharacters, "").trim();
  // Half of a character that the cut went through is dropped.
  const cut = plain.slice(0, charsMax).replace(/[\uD800-\uDBFF]$/, "");
  return cut === "" ? null : cut;
}
