import { isDay } from "../../kernel/index.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";

const YEARS_MAX = 10;
const YEAR_MS = 366 * 86_400_000;
const INSTANT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/;

/**
 * When a key is to expire, in milliseconds: undefined changes nothing, null is never. An instant
 * that has passed is refused: to stop a key at once is what disabling is for.
 */
export function readExpiry(
  text: string | null | undefined,
  nowMs: number,
): number | null | undefined | ConsoleRefusal {
  if (text === undefined || text === null || text === "") return undefined;
  if (text === "never") return null;
  const [, day = ""] = INSTANT.exec(text) ?? [];
  const atMs = isDay(day) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) return NOT_AN_INSTANT;
  if (atMs <= nowMs) return PASSED;
  return atMs > nowMs + YEARS_MAX * YEAR_MS ? TOO_FAR : atMs;
}

const NOT_AN_INSTANT = invalidField(
  "expires_at",
  "expires_at is not an instant; use UTC, such as 2027-01-31T00:00:00Z, or `never`",
);
const PASSED = invalidField(
  "expires_at",
  "expires_at has already passed; choose a later instant, or disable the key to stop it now",
);
const TOO_FAR = invalidField(
  "expires_at",
  `expires_at is more than ${YEARS_MAX} years ahead; choose an earlier instant, or \`never\``,
);
