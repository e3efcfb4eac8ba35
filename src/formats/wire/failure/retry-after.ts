import { parseForeignInstant, RETRY_AFTER_SECONDS_MAX } from "../../../kernel/index.ts";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Seconds to wait: rounded up, at least 1, at most `RETRY_AFTER_SECONDS_MAX`. */
export interface Waits {
  /** Undefined if the provider asks for no wait. */
  readonly waitSeconds?: number | undefined;
  /**
   * Time until the rate-limit windows reset. Some providers report it in every answer, so it is
   * used only after a rate limit.
   */
  readonly resetSeconds?: number | undefined;
}

/** Dates are compared with `nowMs`, or if that is absent, with the answer's `date` header. */
export function readWaits(headers: Headers, nowMs?: number): Waits {
  const now = nowMs ?? parseDate(readHeader(headers, "date"));
  const ms = readHeader(headers, "retry-after-ms") ?? "";
  const waitMs = NUMBER.test(ms) ? Number(ms) : parseWait(readHeader(headers, "retry-after"), now);
  return { waitSeconds: toSeconds(waitMs), resetSeconds: toSeconds(longestReset(headers, now)) };
}

const NUMBER = /^\d+(\.\d+)?$/;

function toSeconds(waitMs: number | undefined): number | undefined {
  if (waitMs === undefined) return undefined;
  return Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil(waitMs / 1000)));
}

const RESET_HEADERS = [
  "x-ratelimit-reset-requests",
  "x-ratelimit-reset-tokens",
  "x-ratelimit-reset",
  "ratelimit-reset",
  "anthropic-ratelimit-requests-reset",
  "anthropic-ratelimit-tokens-reset",
  "anthropic-ratelimit-input-tokens-reset",
  "anthropic-ratelimit-output-tokens-reset",
];

/** The longest wait in milliseconds: of the exhausted windows, or if there are none, of all. */
function longestReset(headers: Headers, nowMs: number | undefined): number | undefined {
  const exhausted = RESET_HEADERS.filter(
    (name) => readHeader(headers, name.replace("reset", "remaining")) === "0",
  );
  const names = exhausted.length > 0 ? exhausted : RESET_HEADERS;
  let longest: number | undefined;
  for (const name of names) {
    const wait = parseWait(readHeader(headers, name), nowMs);
    if (wait !== undefined && wait > (longest ?? 0)) longest = wait;
  }
  return longest;
}

function parseWait(value: string | undefined, nowMs: number | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (NUMBER.test(value)) return parseWaitNumber(Number(value), nowMs);
  const duration = durationMs(value);
  if (duration !== undefined) return duration;
  const dateMs = parseDate(value);
  return dateMs === undefined || nowMs === undefined ? undefined : Math.max(0, dateMs - nowMs);
}

/** Small numbers are seconds. Large ones are instants, in seconds or milliseconds since 1970. */
function parseWaitNumber(value: number, nowMs: number | undefined): number | undefined {
  const isInstant = value > 1_000_000_000;
  if (!isInstant) return value * 1000;
  const instantMs = value > 1_000_000_000_000 ? value : value * 1000;
  return nowMs === undefined ? undefined : Math.max(0, instantMs - nowMs);
}

const UNIT_MS: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
};

/** Reads durations such as `6m0s`, `120ms` and `1h30m`; undefined for other text. */
function durationMs(value: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|d|h|m|s))+$/.test(value)) return undefined;
  let totalMs = 0;
  for (const [, amount = "0", unit = "s"] of value.matchAll(/(\d+(?:\.\d+)?)(ms|d|h|m|s)/g)) {
    totalMs += Number(amount) * (UNIT_MS[unit] ?? 0);
  }
  return totalMs;
}

function parseDate(value: string | undefined): number | undefined {
  if (value === undefined || !/[a-z]/i.test(value) || !/\d{4}/.test(value)) return undefined;
  const dateMs = parseForeignInstant(value);
  return Number.isNaN(dateMs) ? undefined : dateMs;
}

function readHeader(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value)?.slice(0, VALUE_CHARS_MAX).trim();
}

const VALUE_CHARS_MAX = 128;
