import type { PriceRules } from "../listing-tools/index.ts";
import { UsageFault } from "./command-context.ts";

const DAY_MS = 86_400_000;
/** So long customers know of a rise before it begins, unless the operator names a day. */
const RISE_NOTICE_DAYS = 7;
const EFFECTIVE_DAYS_MAX = 366;

/** `--effective` and `--max-rise`, as rules of the merge. */
export function readPriceRules(
  flags: { readonly effective?: string; readonly maxRise: string },
  nowMs: number,
): PriceRules {
  const effectiveMs = readEffective(flags.effective, nowMs);
  return {
    nowMs,
    // The first midnight that is seven whole days away.
    riseFromMs: Math.ceil(nowMs / DAY_MS + RISE_NOTICE_DAYS) * DAY_MS,
    riseMax: readPercent(flags.maxRise),
    ...(effectiveMs === undefined ? {} : { effectiveMs }),
  };
}

function readEffective(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (text === "now") return nowMs;
  const dayMs = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  const isReal = !Number.isNaN(dayMs) && new Date(dayMs).toISOString().startsWith(text);
  if (!isReal) throw new UsageFault(`--effective must be a UTC day or now, not ${text}`);
  if (dayMs <= nowMs) throw new UsageFault(`--effective ${text} is past; name a later day, or now`);
  if (dayMs > nowMs + EFFECTIVE_DAYS_MAX * DAY_MS) {
    throw new UsageFault(`--effective ${text} is over ${EFFECTIVE_DAYS_MAX} days away`);
  }
  return dayMs;
}

const FRACTION_DIGITS = 6;

/** In millionths of a percent. */
function readPercent(text: string): bigint {
  const [, whole = "", fraction = ""] = /^(\d{1,4})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole !== "") return BigInt(whole + fraction.padEnd(FRACTION_DIGITS, "0"));
  throw new UsageFault(`--max-rise must be a percentage such as 20 or 7.5, not ${text}`);
}
