import { OWN_KEY_PINS } from "../../catalog/index.ts";
import {
  bool,
  columns,
  count,
  integer,
  micro,
  type RecordOf,
  type Row,
  SIZED_ATTEMPTS_MAX,
  text,
} from "../../kernel/index.ts";
import { hourUsageColumns, requestIdFrom, SUMMED_USAGE_SQL } from "../../ledger/index.ts";
import type { ReportQuery } from "./report-parts.ts";
import type { ReportFilter } from "./request-rows.ts";

/** Bounds that divide attempts into groups by size, in tokens; ascending and without repeats. */
export interface SizeBounds {
  /** Bounds of the input tokens of an attempt: prompt, cached and cache-write tokens together. */
  readonly promptTokens: readonly number[];
  /** Bounds of the input and output tokens of an attempt together. */
  readonly totalTokens: readonly number[];
}

export interface SizeFilter extends Pick<ReportFilter, "orgId" | "fromMs" | "toMs"> {
  readonly modelId?: string;
}

/** Routes whose tokens cannot be compared between models. */
const MEDIA_ROUTES = [
  "/v1/images/generations",
  "/images/generations",
  "/v1/videos",
  "/v1/decisions",
];

/** Reads one attempt more than it may count, to detect that there are too many. */
export function sizesQuery(filter: SizeFilter, bounds: SizeBounds): ReportQuery {
  const { orgId, fromMs, toMs, modelId = null } = filter;
  const sql = `
  with counted as materialized (
    select model_id, provider_id, starts_with(price_pin_id, $8) as is_own_key, debit,
      ${hourUsageColumns.sql},
      prompt + cached_prompt + cache_write as prompts,
      prompt + cached_prompt + cache_write + completion + internal_reasoning as total
    from journal
    where org_id = $1 and request_id >= $2::uuid and request_id < $3::uuid
      and prompt is not null and route <> all ($4::text[])
      and ($9::text is null or model_id = $9)
    limit $5
  )
  select model_id, provider_id, is_own_key, width_bucket(prompts, $6::bigint[]) as prompt_above,
    width_bucket(total, $7::bigint[]) as total_above, count(*) as attempts,
    (select count(*) from counted) as all_attempts,
    sum(debit)::bigint as debit, ${SUMMED_USAGE_SQL}
  from counted group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`;
  const values = [
    orgId,
    requestIdFrom(fromMs),
    requestIdFrom(toMs),
    MEDIA_ROUTES,
    SIZED_ATTEMPTS_MAX + 1,
    toLowerBounds(bounds.promptTokens),
    toLowerBounds(bounds.totalTokens),
    OWN_KEY_PINS,
    modelId,
  ];
  return { text: sql, values };
}

/** Adds 1: an attempt must exceed a bound, but `width_bucket` also counts sizes that equal it. */
function toLowerBounds(bounds: readonly number[]): number[] {
  return bounds.map((bound) => bound + 1);
}

export function sizedTokens(rows: readonly Row[]): readonly SizedTokens[] | undefined {
  const [first] = rows;
  if (first !== undefined && readColumns.read(first).all > SIZED_ATTEMPTS_MAX) return undefined;
  return rows.map(sizedColumns.read);
}

const readColumns = columns({ all: count("all_attempts") });
const sizedColumns = columns({
  modelId: text<string>("model_id"),
  providerId: text<string>("provider_id"),
  isOwnKey: bool("is_own_key"),
  /** The number of bounds that the prompts of this group exceed. */
  promptAbove: integer("prompt_above"),
  totalAbove: integer("total_above"),
  attempts: count("attempts"),
  debitMicroUsd: micro("debit"),
  usage: hourUsageColumns,
});
export type SizedTokens = RecordOf<typeof sizedColumns>;
