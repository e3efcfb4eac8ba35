import { parseMoment, type Result } from "../../kernel/index.ts";
import { type Grouping, UsageParameters } from "./contract/usage.ts";
import { queryReader } from "./read-query.ts";
import type { UsageQuery } from "./record-store.ts";

/** The query of `GET /v1/usage`. */
export interface ReadUsageQuery {
  readonly range: Omit<UsageQuery, "orgId" | "limit">;
  readonly limit?: number;
  readonly groupBy?: Grouping;
}

/** `format` decides; without it the `accept` header does, with JSON preferred for equal weights. */
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
    range: {
      ...(fromMs === undefined ? {} : { fromMs }),
      ...(toMs === undefined ? {} : { toMs }),
      ...(cursor === undefined ? {} : { cursor }),
    },
    ...(limit === undefined ? {} : { limit }),
    ...(groupBy === undefined ? {} : { groupBy }),
    isFile: format === undefined ? prefersCsv(accept) : format === "csv",
  };
}

const readQuery = queryReader(UsageParameters);

function prefersCsv(accept: string | undefined): boolean {
  return (
    accept !== undefined &&
    parseWeight(accept, "text/csv") > parseWeight(accept, "application/json")
  );
}

/** The weight of a media type from 0 to 1, if it is named explicitly. */
function parseWeight(accept: string, mediaType: string): number {
  for (const range of accept.toLowerCase().split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (type !== mediaType) continue;
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0;
  }
  return 0;
}
