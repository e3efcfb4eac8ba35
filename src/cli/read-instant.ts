import { isDay } from "../kernel/index.ts";
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

const INSTANT = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;
