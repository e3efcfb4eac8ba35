import { UsageFault, type Flags } from "./command-context.ts";
import { isDay } from "../kernel/index.ts";

export interface WholeRange {
  readonly min: number;
  readonly max: number;
}

/** The whole number of `--<name>`; undefined when the flag is not there. */
export function readWhole(flags: Flags, name: string, range: WholeRange): number | undefined {
  const text = readText(flags, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= range.min && value <= range.max) return value;
  throw new UsageFault(
    `--${name} must be a whole number from ${range.min} to ${range.max}, not ${text}`,
  );
}

/** The text of `--<name>`; undefined when the flag is absent. */
export function readText(flags: Flags, name: string): string | undefined {
  const value = flags[name.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase())];
  return value === undefined ? undefined : String(value);
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The duration of `--<name>`, such as 30m, 12h or 7d, in milliseconds. `min`, `max`: such texts. */
export function readDurationMs(
  flags: Flags,
  name: string,
  { min, max }: { readonly min: string; readonly max: string },
): number | undefined {
  const text = readText(flags, name);
  if (text === undefined) return undefined;
  const value = durationMs(text);
  if (value >= durationMs(min) && value <= durationMs(max)) return value;
  throw new UsageFault(`--${name} must be from ${min} to ${max}, such as 12h or 7d, not ${text}`);
}

function durationMs(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return Number(count) * (UNIT_MS[unit] ?? Number.NaN);
}

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

/** Adds the values of an option that may be given again, or with commas between them. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, ...value.split(",")];
}
