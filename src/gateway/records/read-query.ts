import type { Static, TObject } from "typebox";

import {
  invalidRequest,
  parseMoment,
  refused,
  type Result,
  schemaCheck,
  defined,
} from "../../kernel/index.ts";
import { type Grouping, UsageParameters } from "./contract/usage.ts";
import type { UsageQuery } from "./record-rows.ts";

/**
 * Returns a reader, which answers an invalid value with the 400 that names it. Unknown parameters
 * are ignored, because clients add their own. Of a repeated parameter, only the first value counts,
 * unless it is a list.
 */
export function queryReader<S extends TObject>(
  schema: S,
): (query: URLSearchParams) => Result<{ readonly asked: Static<S> }> {
  const check = schemaCheck(schema, { missing: "is missing", unknown: "" });
  const types = Object.entries(schema.properties).map(
    ([name, each]) => [name, (each as { readonly type?: unknown }).type] as const,
  );
  return (query) => {
    const asked = Object.fromEntries(
      types
        .filter(([name]) => query.has(name))
        .map(([name, type]) => [name, readValue(query.getAll(name), type)]),
    );
    const fault = check(asked);
    if (fault === undefined) return { ok: true, asked: asked as Static<S> };
    const [name = "", at = 0] = fault.path;
    const texts = query.getAll(String(name));
    const value = (Array.isArray(asked[name]) ? splitEntries(texts) : texts)[Number(at)] ?? "";
    const shown = JSON.stringify(value.slice(0, ECHOED_CHARS_MAX));
    return refused(invalidRequest(`${name} ${fault.message.replace("{value}", () => shown)}`));
  };
}

const ECHOED_CHARS_MAX = 64;

function readValue(texts: readonly string[], type: unknown): string | number | readonly string[] {
  if (type === "array") return splitEntries(texts).map((text) => text.trim());
  const [first = ""] = texts;
  return type === "integer" && /^\d{1,9}$/.test(first) ? Number(first) : first;
}

function splitEntries(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => text.split(","));
}

export interface ReadUsageQuery {
  readonly range: Omit<UsageQuery, "orgId" | "limit">;
  readonly limit?: number;
  readonly groupBy?: Grouping;
}

/**
 * Reads the query of `GET /v1/usage`. The answer is a CSV file (`isFile`) if `format` says so.
 * Without `format` the `accept` header decides: JSON unless CSV has the higher weight.
 */
export function readUsageQuery(
  query: URLSearchParams,
  accept: string | undefined,
): Result<ReadUsageQuery & { readonly isFile: boolean }> {
  const read = readQuery(query);
  if (!read.ok) return read;
  const { limit, from, to, group_by: groupBy, cursor, format } = read.asked;
  const fromMs = from === undefined ? undefined : parseMoment(from);
  const toMs = to === undefined ? undefined : parseMoment(to);
  return {
    ok: true,
    range: defined({ fromMs, toMs, cursor }),
    ...defined({ limit, groupBy }),
    isFile: format === undefined ? prefersCsv(accept) : format === "csv",
  };
}

const readQuery = queryReader(UsageParameters);

function prefersCsv(accept = ""): boolean {
  return parseWeight(accept, "text/csv") > parseWeight(accept, "application/json");
}

/** Returns the weight of a media type, 0 to 1; 0 unless the header names the type explicitly. */
function parseWeight(accept: string, mediaType: string): number {
  for (const range of accept.toLowerCase().split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (type !== mediaType) continue;
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0;
  }
  return 0;
}
