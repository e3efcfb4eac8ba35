import { UsageFault } from "./command-context.ts";

/** A day is its midnight; a time of day needs its zone. */
export function readInstant(text: string, flag: string): number {
  const [, day] = INSTANT.exec(text) ?? [];
  const ms = day === undefined ? Number.NaN : Date.parse(text);
  // Date.parse takes a 30th of February for the 2nd of March.
  if (!Number.isNaN(ms) && new Date(Date.parse(day ?? "")).toISOString().startsWith(day ?? ""))
    return ms;
  throw new UsageFault(`${flag} must be a day or an instant in UTC such as 2026-09-01T12:00Z`);
}

const INSTANT = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;
