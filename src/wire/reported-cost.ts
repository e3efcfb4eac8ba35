import { findMember, findPath, type Span } from "../json/index.ts";

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
  const match = /^"?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?"?$/.exec(raw);
  if (match === null) return undefined;
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const all = (whole + fraction).replace(/^0+/, "");
  if (all === "") return "0";
  // The position of the point in `all`. An exponent that is not an exact number is beyond either
  // bound.
  const point = all.length - fraction.length + Number(exponent) - digits;
  if (point > WHOLE_DIGITS_MAX) return hugeUsd;
  if (point <= -FRACTION_DIGITS_MAX) return "0";
  return point <= 0
    ? withFraction("0", "0".repeat(-point) + all)
    : withFraction(all.slice(0, point).padEnd(point, "0"), all.slice(point));
}

function withFraction(whole: string, fraction: string): string {
  const kept = fraction.slice(0, FRACTION_DIGITS_MAX).replace(/0+$/, "");
  return kept === "" ? whole : `${whole}.${kept}`;
}
