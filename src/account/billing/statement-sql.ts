import {
  attemptsOutsideSql,
  CREDIT_LINES_SQL,
  ENDED_COLUMNS_SQL,
  idsOfDay,
  isoDay,
  MANAGED_SQL,
  type ReportQuery,
  TOKENS_AND_DEBIT,
} from "../../gateway/index.ts";
import { instant, type OrgId } from "../../kernel/index.ts";
import { requestIdFrom, TWO_DAYS_OF_IDS } from "../../ledger/index.ts";

export const STATEMENT_LINES_MAX = 500;
export const STATEMENT_GROUPS_MAX = 200;

/** `rolledDays`: the UTC days for which the ledger stores daily sums. */
export interface StatementBooks {
  readonly orgId: OrgId;
  readonly rolledDays: readonly string[];
}

/** Sums purchases, grants, refunds and disputes by kind: for the month, and for all time before. */
export function creditSumsQuery(orgId: OrgId, fromMs: number, toMs: number): ReportQuery {
  const text = `
  with line as (${CREDIT_LINES_SQL})
  select kind, at_ms >= $2 as in_month, count(*)::bigint as count, sum(amount)::bigint as amount
  from line where at_ms < $3 group by 1, 2 order by 1, 2`;
  return { text, values: [orgId, fromMs, toMs] };
}

export function creditLinesQuery(orgId: OrgId, fromMs: number, toMs: number): ReportQuery {
  const text = `
  with line as (${CREDIT_LINES_SQL})
  select at_ms, id, kind, ref, amount, p.receipt_series, p.receipt_number
  from line left join purchase p on kind = 'purchase' and ref = 'purchase:' || p.purchase_id
  where at_ms >= $2 and at_ms < $3 order by at_ms, id limit ${STATEMENT_LINES_MAX}`;
  return { text, values: [orgId, fromMs, toMs] };
}

/**
 * The cost of all requests as it stood at the midnight `atMs`. It sums earlier attempts at their
 * present cost, and then undoes what ended or was corrected after that midnight.
 */
export function debitsQuery(books: StatementBooks, atMs: number): ReportQuery {
  const { orgId, rolledDays } = books;
  const end = firstIdAt(atMs);
  const at = instantSql(atMs);
  const text = `
  select (coalesce((select sum(debit) from usage_rolled
      where org_id = $1 and day = any ($2::date[]) and day < $3), 0)
    + coalesce((select sum(debit) from attempt
      where org_id = $1 and attempt_id < ${end} and ${attemptsOutsideSql(rolledDays)}), 0)
    + coalesce((select sum(settled) from retired_spend
      where scope = 'org' and id = $1 and day < $3), 0)
    + coalesce((select sum(${debitAtSql(at)} - debit) from (${changedSinceSql(atMs, end)}) a), 0)
  )::bigint as debits`;
  return { text, values: [orgId, rolledDays, isoDay(atMs)] };
}

/**
 * Sums the month's charges by model and by key, and counts requests by their last attempt. Stored
 * sums contain whole requests, so charges of a request that lasts past midnight are moved to the
 * month in which they were made.
 */
export function usageQuery(books: StatementBooks, fromMs: number, toMs: number): ReportQuery {
  const { orgId, rolledDays } = books;
  const [first, end] = [firstIdAt(fromMs), firstIdAt(toMs)];
  const [from, to] = [instantSql(fromMs), instantSql(toMs)];
  const isOf = `attempt_id >= ${first}`;
  const sign = `((closed_at >= ${from} and closed_at < ${to})::integer - (${isOf})::integer)`;
  const text = `
  with part as (
    select model_id, key_id, requests, (${INPUT})::bigint as input,
      (${OUTPUT})::bigint as output, debit::bigint as debit
    from usage_sum where org_id = $1 and day = any ($2::date[]) and day >= $3 and day < $4
    union all
    select model_id, key_id, count(*), sum(${INPUT}), sum(${OUTPUT}), sum(debit)
    from (select ${ENDED_COLUMNS_SQL} from attempt where org_id = $1 and final and ${isOf}
      and attempt_id < ${end} and ${attemptsOutsideSql(rolledDays)}) r group by 1, 2
    union all
    select model_id, key_id, 0, sum(sign * (${INPUT})), sum(sign * (${OUTPUT})), sum(sign * debit)
    from (${carriedSql(fromMs, -1)} union all ${carriedSql(toMs, 1)}) carried group by 1, 2
    union all
    select model_id, key_id, ${sign} * final::integer, ${sign} * coalesce(${INPUT}, 0),
      ${sign} * coalesce(${OUTPUT}, 0),
      ${debitAtSql(to)} - ${debitAtSql(from)} - case when ${isOf} then debit else 0 end
    from (${changedSinceSql(toMs, end)} union ${changedSinceSql(fromMs, first)}) late
  ), named as (
    select case grouping(model_id) when 0 then 'model' else 'key' end as kind,
      coalesce(model_id, key_id) as name, sum(requests) as requests, sum(input) as input,
      sum(output) as output, sum(debit) as debit
    from part group by grouping sets ((model_id), (key_id))
  ), ranked as (
    select *, row_number() over (partition by kind order by debit desc, requests desc, name) as rank
    from named where requests <> 0 or debit <> 0
  )
  select kind, case when rank < ${STATEMENT_GROUPS_MAX} then name else 'other' end as name,
    greatest(sum(requests), 0)::bigint as requests, greatest(sum(input), 0)::bigint as input,
    greatest(sum(output), 0)::bigint as output, sum(debit)::bigint as debit
  from ranked group by 1, 2 order by 1, sum(debit) desc, 2`;
  const days = [isoDay(fromMs), isoDay(toMs)];
  return { text, values: [orgId, rolledDays, ...days] };
}

const INPUT = "coalesce(prompt, 0) + coalesce(cached_prompt, 0) + coalesce(cache_write, 0)";
const OUTPUT = "coalesce(completion, 0) + coalesce(internal_reasoning, 0)";
const HOUR_MS = 3_600_000;

/**
 * Selects the tokens and cost of attempts before the midnight `atMs` whose request had its last
 * attempt after that midnight, with `sign` as a column. Request ids contain the time, so requests
 * that began later are not read; the extra hour allows for clocks that disagree.
 */
function carriedSql(atMs: number, sign: 1 | -1): string {
  const midnight = firstIdAt(atMs);
  const behind = (of: string): string =>
    `${of}.attempt_id >= ${midnight} and ${of}.attempt_id < ${midnight + TWO_DAYS_OF_IDS}`;
  const cameBefore = requestIdFrom(atMs + HOUR_MS);
  return `select f.model_id, f.key_id, ${sign} as sign, ${TOKENS_AND_DEBIT.map(
    (column) => `coalesce((f.earlier).${column}, 0) - o.${column} as ${column}`,
  ).join(", ")}
    from attempt f cross join lateral (
      select ${TOKENS_AND_DEBIT.map((column) => `coalesce(sum(${column}), 0) as ${column}`).join(", ")}
      from attempt b where b.org_id = f.org_id and b.request_id = f.request_id and not b.final
        and ${behind("b")} offset 0
    ) o where f.org_id = $1 and f.final and f.earlier is not null
      and f.request_id < '${cameBefore}'::uuid and ${behind("f")}`;
}

const ATTEMPT_COLUMNS = `attempt_id, request_id, state, model_id, key_id, prompt, cached_prompt, cache_write,
      completion, internal_reasoning, debit`;

/** The cost of an attempt at an instant: 0 before it ended, its reserve before it was corrected. */
function debitAtSql(at: string): string {
  return `case when closed_at >= ${at} then 0 when corrected_at >= ${at} then reserve else debit end`;
}

/**
 * Selects the few attempts that were admitted before the instant `atMs` (their ids are below `end`)
 * and that ended or were corrected after it.
 */
function changedSinceSql(atMs: number, end: bigint): string {
  const columns = `${ATTEMPT_COLUMNS}, reserve, final, closed_at, corrected_at`;
  const utc = new Date(atMs).toISOString().replace("Z", "");
  return `select ${columns} from attempt where org_id = $1 and attempt_id < ${end}
      and (closed_at at time zone 'utc') >= timestamp '${utc}'
    union select ${columns} from attempt where org_id = $1 and attempt_id < ${end}
      and corrected_at >= ${instantSql(atMs)}`;
}

function instantSql(ms: number): string {
  return `timestamptz '${instant(ms)}'`;
}

function firstIdAt(atMs: number): bigint {
  return idsOfDay(isoDay(atMs)).first;
}

/** $1: organization; $2: key ids. A managed key is named by its purpose. */
export const KEY_NAMES_SQL: string = `
  select key_id, case when ${MANAGED_SQL} then initcap(origin) else name end as name
  from api_key where org_id = $1 and key_id = any ($2)`;

/**
 * True if a day before the end of the month, even of an earlier month, was deleted from the journal
 * after the statement was closed, and the organization had usage on it. $1: organization; $2: when
 * the statement was closed; $3: the end of its month.
 */
export const LEFT_SINCE_SQL = `
  select exists (select from retired_spend s join retired_day d using (day)
    where s.scope = 'org' and s.id = $1 and d.retired_at >= $2 and d.day < $3) as has_left`;
