import type { Deployment } from "../../../catalog/index.ts";
import { failed, type Finding, warned } from "../report/finding.ts";

export interface ReferenceCount {
  readonly tokens: number;
  /** True: counted by the maker's tokenizer. False: estimated from an English text's length. */
  readonly isExact: boolean;
  readonly by: string;
}

/** Characters per token of ordinary English, about the same with every tokenizer in use. */
const ENGLISH_CHARS_PER_TOKEN = 4.2;

/** Counts the tokens of an English text, or estimates them for makers that publish no tokenizer. */
export async function referenceCount(
  { upstreamModelId }: Pick<Deployment, "upstreamModelId">,
  text: string,
): Promise<ReferenceCount> {
  const family = FAMILIES.find(({ names }) => names.test(upstreamModelId));
  if (family === undefined) {
    const tokens = Math.round(text.length / ENGLISH_CHARS_PER_TOKEN);
    return { tokens, isExact: false, by: "an estimate for English" };
  }
  return { tokens: await family.count(text), isExact: true, by: family.name };
}

/** Allowed relative difference from an exact count, and from an estimate. */
const KNOWN_TOLERANCE = 0.05;
const ESTIMATED_TOLERANCE = 0.3;
/** No tokenizer in use differs from the estimate for English by more than this factor. */
const ESTIMATE_FACTOR_MAX = 2;

/** `right`: differs by at most `tolerancePercent`. `odd`: a rare tokenizer may explain it. */
export function compareTokens(
  billed: number,
  { tokens, isExact }: ReferenceCount,
): { readonly kind: "right" | "odd" | "wrong"; readonly tolerancePercent: number } {
  const tolerance = isExact ? KNOWN_TOLERANCE : ESTIMATED_TOLERANCE;
  const tolerancePercent = Math.round(tolerance * 100);
  if (Math.abs(billed - tokens) <= tolerance * tokens) return { kind: "right", tolerancePercent };
  const isPossible =
    billed <= tokens * ESTIMATE_FACTOR_MAX && billed * ESTIMATE_FACTOR_MAX >= tokens;
  return { kind: !isExact && isPossible ? "odd" : "wrong", tolerancePercent };
}

/** Compares the tokens billed for one copy of a known text or state with a reference count. */
export async function lengthFinding(
  deployment: Deployment,
  known: { readonly what: "text" | "state"; readonly text: string },
  billed: number,
): Promise<Finding | undefined> {
  const { what, text } = known;
  const reference = await referenceCount(deployment, text);
  const { kind, tolerancePercent } = compareTokens(billed, reference);
  if (kind === "right") return undefined;
  const judge = kind === "wrong" ? failed : warned;
  return judge(`the tokens billed for a known ${what} are not what it has`, {
    ...(what === "text" && { percent_too_much: computePercent(billed, reference.tokens) }),
    tokens_billed: Math.round(billed),
    tokens_expected: reference.tokens,
    counted_by: reference.by,
    tolerance_percent: tolerancePercent,
  });
}

export function computePercent(billed: number, actual: number): number {
  return actual > 0 ? Math.round((billed / actual - 1) * 100) : 0;
}

interface Family {
  readonly name: string;
  readonly names: RegExp;
  readonly count: (text: string) => Promise<number>;
}

/* Tokenizers are loaded on first use, because each has megabytes of vocabulary. */
const FAMILIES: readonly Family[] = [
  {
    name: "o200k_base",
    names: /(?:^|\/)(?:gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|chatgpt-4o|gpt-oss|o[134](?:-|$))/i,
    count: async (text) => (await import("gpt-tokenizer/encoding/o200k_base")).countTokens(text),
  },
  {
    name: "cl100k_base",
    names: /(?:^|\/)gpt-(?:4|3\.5)(?:-|$)/i,
    count: async (text) => (await import("gpt-tokenizer/encoding/cl100k_base")).countTokens(text),
  },
];
