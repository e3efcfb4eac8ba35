import { headerName } from "../../wire/neutral/translation-issues.ts";

/** The header in which clients of either wire may name betas. */
export const BETA_HEADER = "anthropic-beta";

/** The names of a beta header, split into those that may go upstream and the others. */
export interface BetaNames {
  readonly kept: readonly string[];
  readonly others: readonly string[];
}

/** A family is followed by nothing or by a date, dashed or not, so near misses stay out. */
const allowed = new RegExp(
  "^(?:prompt-caching|extended-cache-ttl|token-efficient-tools|fine-grained-tool-streaming" +
    "|interleaved-thinking|claude-code|oauth|computer-use)(?:-\\d{4}-?\\d{2}-?\\d{2})?$",
);

const none: BetaNames = { kept: [], others: [] };

export function splitBetaNames(header: string | undefined): BetaNames {
  if (header === undefined) return none;
  const kept = new Set<string>();
  const others = new Set<string>();
  for (const part of header.split(",")) {
    const name = part.trim();
    if (allowed.test(name)) kept.add(name);
    else if (name !== "") others.add(headerName(name));
  }
  return { kept: [...kept], others: [...others] };
}
