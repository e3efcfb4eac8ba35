import type { PoolClient } from "pg";

import { formatUsd, instant, microUsd, type MicroUsd, type OrgId } from "../../kernel/index.ts";
import {
  attemptsOutsideSql,
  CREDIT_LINES_SQL,
  ENDED_COLUMNS_SQL,
  findRolledDays,
  idsOfDay,
  isoDay,
  MANAGED_SQL,
  type ReportQuery,
  TOKENS_AND_DEBIT,
  walletLine,
  type WalletRow,
} from "../../gateway/index.ts";
import { requestIdFrom, TWO_DAYS_OF_IDS } from "../../ledger/index.ts";
import type { StatementDocument, UsageLine } from "../console-api/contract/statements.ts";
import { receiptNumber } from "./purchase-store.ts";
import { type Month, spanOfMonth } from "./statements.ts";

export interface StatementFigures {
  readonly document: StatementDocument;
  readonly openingMicroUsd: MicroUsd;
  readonly closingMicroUsd: MicroUsd;
  readonly usageMicroUsd: MicroUsd;
}

/**
 * Computes a statement from the ledger, in the caller's snapshot. `opening` is the closing balance
 * of the previous statement; if absent, the opening balance is computed from the ledger too.
 */
export async function readStatement(
  client: PoolClient,
  orgId: OrgId,
  month: Month,
  opening?: MicroUsd,
): Promise<StatementFigures> {
  const { fromMs, toMs } = spanOfMonth(month);
  const books = { orgId, rolledDays: await findRolledDays(client, orgId) };
  const span = [orgId, fromMs, toMs];
  const { rows: sums } = await client.query<CreditSumRow>(CREDIT_SUMS_SQL, span);
  const before = sumAmounts(sums.filter((row) => !row.in_month));
  const inMonth = sums.filter((row) => row.in_month);
  const credits = creditSums(inMonth);
  const credited = sumAmounts(inMonth);
  const { rows: lines } = await client.query<LineRow>(STATEMENT_LINES_SQL, span);
  const closing = microUsd(before + credited - (await debitsAt(client, books, toMs)));
  const openingMicroUsd = opening ?? microUsd(before - (await debitsAt(client, books, fromMs)));
  const usage = microUsd(openingMicroUsd + credited - closing);
  const { rows: groups } = await client.query<GroupRow>(usageQuery(books, fromMs, toMs));
  const ofModels = groups.filter(({ kind }) => kind === "model");
  const ofKeys = groups.filter(({ kind }) => kind === "key");
  const listed = ofModels.reduce((sum, { debit }) => sum + debit, 0n);
  // A closed statement stores this document as text, with the fields in this order.
  const document: StatementDocument = {
    version: 1,
    org_id: orgId,
    month,
    opening_usd: formatUsd(openingMicroUsd),
    credits,
    usage_usd: formatUsd(usage),
    closing_usd: formatUsd(closing),
    lines: lines.map(creditLine),
    lines_left_out: credits.reduce((sum, { count }) => sum + count, 0) - lines.length,
    unlisted_usage_usd: formatUsd(microUsd(usage - listed)),
    models: ofModels.map((row) => ({ model: row.name, ...usageLine(row) })),
    keys: await nameKeys(client, orgId, ofKeys),
  };
  return { document, openingMicroUsd, closingMicroUsd: closing, usageMicroUsd: usage };
}

interface LineRow extends WalletRow {
  readonly receipt_series: string | null;
  readonly receipt_number: bigint | null;
}

function creditLine(row: LineRow): StatementDocument["lines"][number] {
  const { receipt_series: series, receipt_number: number } = row;
  const receipt = series === null || number === null ? null : receiptNumber({ series, number });
  const { atMs, kind, ref, amountMicroUsd } = walletLine(row);
  return { at: instant(atMs), kind, ref, receipt, amount_usd: formatUsd(amountMicroUsd) };
}

interface CreditSumRow {
  readonly kind: string;
  readonly in_month: boolean;
  readonly count: bigint;
  readonly amount: bigint;
}

interface GroupRow {
  readonly kind: "model" | "key";
  readonly name: string;
  readonly requests: bigint;
  readonly input: bigint;
  readonly output: bigint;
  readonly debit: bigint;
}

function sumAmounts(rows: readonly CreditSumRow[]): bigint {
  return rows.reduce((sum, { amount }) => sum + amount, 0n);
}

/** Sums credits by the kinds that customers see, which merge some kinds of the ledger. */
function creditSums(rows: readonly CreditSumRow[]): StatementDocument["credits"] {
  const sums = new Map<string, { count: number; amount: bigint }>();
  for (const { kind, count, amount } of rows) {
    const shown = walletLine({ at_ms: 0n, id: 0n, kind, ref: "", amount }).kind;
    const known = sums.get(shown) ?? { count: 0, amount: 0n };
    sums.set(shown, { count: known.count + Number(count), amount: known.amount + amount });
  }
  return [...sums].map(([kind, { count, amount }]) => ({
    kind,
    count,
    amount_usd: formatUsd(microUsd(amount)),
  }));
}

function usageLine(row: GroupRow): UsageLine {
  return {
    requests: Number(row.requests),
    input_tokens: Number(row.input),
    output_tokens: Number(row.output),
    cost_usd: formatUsd(microUsd(row.debit)),
  };
}

async function nameKeys(
  client: PoolClient,
  orgId: OrgId,
  rows: readonly GroupRow[],
): Promise<StatementDocument["keys"]> {
  const ids = rows.map(({ name }) => name);
  const found = await client.query<{ key_id: string; name: string }>(KEY_NAMES_SQL, [orgId, ids]);
  const names = new Map(found.rows.map(({ key_id: id, name }) => [id, name]));
  return rows.map((row) => ({
    key_id: row.name,
    name: names.get(row.name) ?? row.name,
    ...usageLine(row),
  }));
}

const STATEMENT_LINES_MAX = 500;
const STATEMENT_GROUPS_MAX = 200;

/** `rolledDays`: the UTC days for which the ledger stores daily sums. */
interface StatementBooks {
  readonly orgId: OrgId;
  readonly rolledDays: readonly string[];
}

const CREDIT_SUMS_SQL = `
  with line as (${CREDIT_LINES_SQL})
  select kind, at_ms >= $2 as in_month, count(*)::bigint as count, sum(amount)::bigint as amount
  from line where at_ms < $3 group by 1, 2 order by 1, 2`;

const STATEMENT_LINES_SQL = `
  with line as (${CREDIT_LINES_SQL})
  select at_ms, id, kind, ref, amount, p.receipt_series, p.receipt_number
  from line left join purchase p on kind = 'purchase' and ref = 'purchase:' || p.purchase_id
  where at_ms >= $2 and at_ms < $3 order by at_ms, id limit ${STATEMENT_LINES_MAX}`;

/** Sums the debits of attempts as of `atMs`: adds the present ones, then undoes later changes. */
async function debitsAt(client: PoolClient, books: StatementBooks, atMs: number): Promise<bigint> {
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
  const values = [orgId, rolledDays, isoDay(atMs)];
  return (await client.query<{ debits: bigint }>(text, values)).rows[0]?.debits ?? 0n;
}

/**
 * Sums the month's charges by model and by key, and counts requests by their last attempt. Stored
 * daily sums count a whole request on the day of its last attempt, so charges of a request that
 * lasts past the midnight between two months are moved to their month.
 */
function usageQuery(books: StatementBooks, fromMs: number, toMs: number): ReportQuery {
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
 * Selects the tokens and cost of attempts before the midnight `atMs`, for requests whose last
 * attempt came after it. Request ids contain the time, so requests that began after midnight are
 * not read; the limit is an hour later, since clocks may disagree.
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

/** The cost of an attempt at `at`: 0 if it ended later; its reserve if it was corrected later. */
function debitAtSql(at: string): string {
  return `case when closed_at >= ${at} then 0 when corrected_at >= ${at} then reserve else debit end`;
}

/** Selects the few attempts with ids below `end` that ended or were corrected after `atMs`. */
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
const KEY_NAMES_SQL: string = `
  select key_id, case when ${MANAGED_SQL} then initcap(origin) else name end as name
  from api_key where org_id = $1 and key_id = any ($2)`;

/**
 * True if, since the statement was closed, the journal lost a day of usage before the month's end.
 * $1: organization; $2: when the statement was closed; $3: the end of its month.
 */
export const LEFT_SINCE_SQL = `
  select exists (select from retired_spend s join retired_day d using (day)
    where s.scope = 'org' and s.id = $1 and d.retired_at >= $2 and d.day < $3) as has_left`;
