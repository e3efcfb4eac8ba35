import {
  invalidRequest,
  parseRequestId,
  refused,
  type Refused,
  type Result,
} from "../core/index.ts";
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

export function readUsageQuery(query: URLSearchParams): Result<ReadUsageQuery> {
  const limit = readInteger(query, "limit", { min: 1, max: LIST_ROWS_MAX });
  if (!limit.ok) return limit;
  const from = readInstant(query, "from");
  if (!from.ok) return from;
  const to = readInstant(query, "to");
  if (!to.ok) return to;
  const groupBy = query.get("group_by");
  if (groupBy !== null && !isGrouping(groupBy)) {
    return invalid(`group_by must be one of ${GROUPINGS.join(", ")}`);
  }
  const cursor = query.get("cursor");
  if (cursor !== null && parseRequestId(cursor) === undefined) {
    return invalid("cursor must be the next_cursor of an earlier page");
  }
  return {
    ok: true,
    range: {
      ...(from.value === undefined ? {} : { fromMs: from.value }),
      ...(to.value === undefined ? {} : { toMs: to.value }),
      ...(cursor === null ? {} : { cursor }),
    },
    ...(limit.value === undefined ? {} : { limit: limit.value }),
    ...(groupBy === null ? {} : { groupBy }),
  };
}

/** `format` decides; without it the `accept` header, where JSON wins when both are as welcome. */
export function readFormat(
  query: URLSearchParams,
  accept: string | undefined,
): Result<{ readonly format: "csv" | "json" }> {
  const format = query.get("format");
  if (format === "csv" || format === "json") return { ok: true, format };
  if (format !== null) return invalid("format must be csv or json");
  const isCsv = accept !== undefined && weightOf(accept, "text/csv") > weightOf(accept, JSON_TYPE);
  return { ok: true, format: isCsv ? "csv" : "json" };
}

const JSON_TYPE = "application/json";

/** A number of a query; undefined when the query does not have it. */
type ReadNumber = Result<{ readonly value: number | undefined }>;

function invalid(message: string): Refused {
  return refused(invalidRequest(message));
}

/** A whole number within bounds. */
export function readInteger(
  query: URLSearchParams,
  name: string,
  bounds: { readonly min: number; readonly max: number },
): ReadNumber {
  const text = query.get(name);
  if (text === null) return ABSENT;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= bounds.min && value <= bounds.max) return { ok: true, value };
  return invalid(
    `${name} must be a whole number from ${bounds.min} to ${bounds.max}, not ${quoted(text)}`,
  );
}

const ABSENT: ReadNumber = { ok: true, value: undefined };

function isGrouping(text: string): text is Grouping {
  return GROUPINGS.some((grouping) => grouping === text);
}

/* `Date.parse` alone takes nearly anything: it reads "-1" as a day of 2001. */
const ISO_INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Unix seconds, or an ISO date or instant. */
function readInstant(query: URLSearchParams, name: string): ReadNumber {
  const text = query.get(name);
  if (text === null) return ABSENT;
  const ms = /^\d{1,11}$/.test(text)
    ? Number(text) * 1000
    : Date.parse(ISO_INSTANT.test(text) ? text : "");
  if (Number.isFinite(ms)) return { ok: true, value: ms };
  return invalid(
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
