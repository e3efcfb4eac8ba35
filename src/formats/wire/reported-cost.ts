import {
  parseDecimal,
  plainDecimal,
  shiftDecimal,
  findMember,
  findPath,
  type Span,
} from "../../kernel/index.ts";

/**
 * What a provider says its answer cost: `usage.cost` in USD, else `usage.cost_in_usd_ticks`, as
 * plain decimal USD text ("0.0832"), read digit by digit from the answer's own text, which must be
 * valid JSON. Undefined when it says nothing, or nothing that is an amount. A number that no bill
 * could hold comes as `hugeUsd`, which is above every reserve.
 */
export function readReportedCost(text: string): string | undefined {
  const usage = findPath(text, "usage");
  if (usage === undefined || text[usage.start] !== "{") return undefined;
  return (
    plainUsd(rawOf(text, findMember(text, usage.start, "cost")), 0) ??
    plainUsd(rawOf(text, findMember(text, usage.start, "cost_in_usd_ticks")), TICK_DIGITS)
  );
}

/** The largest amount that is read: more would only be more than everything. */
export const hugeUsd: string = "9".repeat(15);

/** 10^10 ticks are one dollar. */
const TICK_DIGITS = 10;
const WHOLE_DIGITS_MAX = hugeUsd.length;
/** Far below a pico-dollar; what follows is cut off. */
const FRACTION_DIGITS_MAX = 40;

function rawOf(text: string, span: Span | undefined): string {
  return span === undefined ? "" : text.slice(span.start, span.end);
}

/** The number `raw`, also as a string, divided by 10^`digits`; undefined below 0 and for no number. */
function plainUsd(raw: string, digits: number): string | undefined {
  const number = /^"?(\d[^"]*)"?$/.exec(raw)?.[1];
  const written = number === undefined ? undefined : parseDecimal(number);
  if (written === undefined) return undefined;
  const usd = shiftDecimal(written, -digits);
  return usd.point > WHOLE_DIGITS_MAX ? hugeUsd : plainDecimal(usd, FRACTION_DIGITS_MAX);
}
