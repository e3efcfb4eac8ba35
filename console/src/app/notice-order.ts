import type { Notice, PriceNotice } from "../api/contract.ts";

/** A notice above every page; `development` warns of test money or local sign-in. */
export type Line =
  | { readonly kind: "notice"; readonly notice: Notice }
  | { readonly kind: "price"; readonly notice: PriceNotice }
  | { readonly kind: "development" };

/**
 * Sorts notices by severity: first those about requests that are refused now, then those about
 * requests that will be refused, then information.
 */
export function inOrder(lines: readonly Line[]): readonly Line[] {
  return lines.toSorted((a, b) => rankLine(a) - rankLine(b));
}

/** Position of a notice. A price change comes after every warning about requests. */
function rankLine(line: Line): number {
  if (line.kind === "development") return RANKS.development;
  if (line.kind === "notice") return RANKS[line.notice.severity];
  return line.notice.is_rise ? RANKS.rise : RANKS.fall;
}

const RANKS = { bad: 0, warn: 1, rise: 2, info: 3, fall: 4, development: 5 } as const;

export function toLineKey(line: Line): string {
  if (line.kind === "development") return line.kind;
  return line.kind === "price"
    ? line.notice.notice_id
    : `${line.notice.kind} ${line.notice.target} ${line.notice.text}`;
}
