import { UsageFault } from "./command-context.ts";

/** A day is its midnight; a time of day needs its zone. */
export function readInstant(text: string, flag: string): number {
  const [, day = ""] = INSTANT.exec(text) ?? [];
  const ms = isDay(day) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new UsageFault(`${flag} must be a day or an instant in UTC such as 2026-09-01T12:00Z`);
}

/** A UTC day, as it was written. */
export function readDay(text: string, flag: string): string {
  if (isDay(text)) return text;
  throw new UsageFault(`${flag} must be a day as YYYY-MM-DD, not ${text}`);
}

/** A day that the calendar has. */
export function isDay(text: string): boolean {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse takes a 30th of February for the 2nd of March.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

const INSTANT = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;
