import { parseRequestId } from "../core/ids.ts";
import { invalidRequest, type Refusal } from "../core/refusals.ts";
import type { UsageQuery } from "./record-store.ts";

const GROUPINGS = ["day", "model", "key", "provider"] as const;
/** The longest page of any list. */
export const LIST_ROWS_MAX = 1_000;

export type Grouping = (typeof GROUPINGS)[number];

/** What the query of `GET /v1/usage` asks for. */
export interface ReadUsageQuery {
  readonly range: Omit<UsageQuery, "orgId" | "limit">;
  readonly limit?: number;
  readonly groupBy?: Grouping;
}

export function readUsageQuery(query: URLSearchParams): ReadUsageQuery | Refusal {
  const limit = readInteger(query, "limit", { min: 1, max: LIST_ROWS_MAX });
  if (typeof limit === "object") return limit;
  const fromMs = readInstant(query, "from");
  if (typeof fromMs === "object") return fromMs;
  const toMs = readInstant(query, "to");
  if (typeof toMs === "object") return toMs;
  const groupBy = query.get("group_by");
  if (groupBy !== null && !isGrouping(groupBy)) {
    return invalidRequest(`group_by must be one of ${GROUPINGS.join(", ")}`);
  }
  const cursor = query.get("cursor");
  if (cursor !== null && parseRequestId(cursor) === undefined) {
    return invalidRequest("cursor must be the next_cursor of an earlier page");
  }
  return {
    range: {
      ...(fromMs === undefined ? {} : { fromMs }),
      ...(toMs === undefined ? {} : { toMs }),
      ...(cursor === null ? {} : { cursor }),
    },
    ...(limit === undefined ? {} : { limit }),
    ...(groupBy === null ? {} : { groupBy }),
  };
}

/** `format` decides; without it the `accept` header, where JSON wins when both are as welcome. */
export function readFormat(
  query: URLSearchParams,
  accept: string | undefined,
): "csv" | "json" | Refusal {
  const format = query.get("format");
  if (format === "csv" || format === "json") return format;
  if (format !== null) return invalidRequest("format must be csv or json");
  if (accept === undefined) return "json";
  return weightOf(accept, "text/csv") > weightOf(accept, "application/json") ? "csv" : "json";
}

/** A whole number within bounds; undefined when the query does not have it. */
export function readInteger(
  query: URLSearchParams,
  name: string,
  bounds: { readonly min: number; readonly max: number },
): number | undefined | Refusal {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= bounds.min && value <= bounds.max) return value;
  return invalidRequest(
    `${name} must be a whole number from ${bounds.min} to ${bounds.max}, not ${quoted(text)}`,
  );
}

function isGrouping(text: string): text is Grouping {
  return GROUPINGS.some((grouping) => grouping === text);
}

/* `Date.parse` alone takes nearly anything: it reads "-1" as a day of 2001. */
const ISO_INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Unix seconds, or an ISO date or instant. */
function readInstant(query: URLSearchParams, name: string): number | undefined | Refusal {
  const text = query.get(name);
  if (text === null) return undefined;
  const ms = /^\d{1,11}$/.test(text)
    ? Number(text) * 1000
    : Date.parse(ISO_INSTANT.test(text) ? text : "");
  if (Number.isFinite(ms)) return ms;
  return invalidRequest(
    `${name} must be Unix seconds or an ISO date such as 2026-01-31, not ${quoted(text)}`,
  );
}

/** How welcome a media type is, from 0 to 1; only where it is named itself. */
function weightOf(accept: string, mediaType: string): number {
  for (const range of accept.toLowerCase().split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (type !== mediaType) continue;
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0;
  }
  return 0;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
