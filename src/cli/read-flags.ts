import { UsageFault, type Flags } from "./command-context.ts";
import { isDay, type MicroUsd, parseUsd } from "../kernel/index.ts";

export interface WholeRange {
  readonly min: number;
  readonly max: number;
}

/** The whole number of the flag `--<name>`; undefined if the flag is absent. */
export function readWhole(flags: Flags, name: string, range: WholeRange): number | undefined {
  const text = readText(flags, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= range.min && value <= range.max) return value;
  throw new UsageFault(
    `--${name} must be a whole number from ${range.min} to ${range.max}, not ${text}`,
  );
}

export function readText(flags: Flags, name: string): string | undefined {
  const value = flags[name.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase())];
  return value === undefined ? undefined : String(value);
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The duration of the flag `--<name>` in milliseconds; undefined if the flag is absent. The value,
 * `min` and `max` are texts such as 30m, 12h or 7d.
 */
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

/** Parses a day (midnight UTC) or an instant with a time zone into milliseconds since 1970. */
export function readInstant(text: string, flag: string): number {
  const [, day = ""] = INSTANT.exec(text) ?? [];
  const ms = isDay(day) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new UsageFault(`${flag} must be a day or an instant in UTC such as 2026-09-01T12:00Z`);
}

export function readDay(text: string, flag: string): string {
  if (isDay(text)) return text;
  throw new UsageFault(`${flag} must be a day as YYYY-MM-DD, not ${text}`);
}

const INSTANT = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/**
 * The host of a URL at which this listening address can be reached. It is loopback if the server
 * listens on every address.
 */
export function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

/** Requires dollars of at least 0. `flag` names the flag in the message, such as `--credit-usd`. */
export function requireUsd(flag: string, text: string): MicroUsd {
  const amount = parseUsd(text);
  if (amount !== undefined && amount >= 0n) return amount;
  throw new UsageFault(`${flag} must be dollars such as 0.25, not ${text}`);
}

export function requireFilled(flag: string, text: string): string {
  if (text.trim() !== "") return text.trim();
  throw new UsageFault(`${flag} must not be empty`);
}

/** Adds the values of an option that can be given several times, or once with commas. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, ...value.split(",")];
}
