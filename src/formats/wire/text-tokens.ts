/** What a run of like characters is, as far as a tokenizer cares. */
type RunKind = "letters" | "digits" | "spaces" | "symbols" | "wide" | "other";

/** Characters of one kind that commonly share a token. */
const CHARS_PER_TOKEN: Readonly<Record<RunKind, number>> = {
  letters: 6,
  digits: 3,
  spaces: Number.POSITIVE_INFINITY,
  symbols: 2,
  wide: 1,
  other: 2,
};

/**
 * A guess at the tokens of a text, made from runs of like characters: a short word is one token, a
 * long one several, digits in groups of three, ideographs count singly. Deterministic, linear, no
 * tables.
 */
export function textTokens(text: string): number {
  let tokens = 0;
  let start = 0;
  let kind: RunKind = "spaces";
  for (let at = 0; at < text.length; at += 1) {
    const next = kindOf(text.charCodeAt(at));
    if (next === kind) continue;
    tokens += runTokens(kind, at - start);
    kind = next;
    start = at;
  }
  return tokens + runTokens(kind, text.length - start);
}

function runTokens(kind: RunKind, chars: number): number {
  // One space belongs to the word behind it; an indentation or an empty line is a token of its own.
  if (kind === "spaces") return chars > 1 ? 1 : 0;
  return Math.ceil(chars / CHARS_PER_TOKEN[kind]);
}

function kindOf(code: number): RunKind {
  if ((code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)) return "letters";
  if (code <= 0x20) return "spaces";
  if (code >= 0x30 && code <= 0x39) return "digits";
  if (code < 0xc0) return "symbols";
  if (code < 0x250) return "letters";
  // Kana, ideographs, Hangul, and the halves of everything beyond the basic plane.
  return code >= 0x2e80 && code <= 0xdfff ? "wide" : "other";
}
