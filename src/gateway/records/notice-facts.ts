import {
  CAP_PERIODS,
  capColumn,
  type CapPeriod,
  CLIENT_LEFT,
  type Column,
  columns,
  hasDailySpendSql,
  instantMs,
  type KeyId,
  micro,
  microUsd,
  type MicroUsd,
  opaque,
  orNull,
  type RecordOf,
  type Row,
  text,
} from "../../kernel/index.ts";
import type { RefusalCause } from "../../ledger/index.ts";
import { MANAGED_SQL } from "../accounts/key-store.ts";

const CAUSE_SQL = `case
  when error_class = 'insufficient_quota' and reason->>'limit_scope' = 'key' then 'key_cap'
  when error_class = 'insufficient_quota' and reason ? 'cap_usd' then 'org_cap'
  when error_class = 'insufficient_quota' and reason->>'retryable' = 'true' then 'held'
  when error_class = 'insufficient_quota' then 'balance'
  when error_class in ('usage_limited', 'usage_restricted') then 'unusual_use'
  when error_class = 'rate_limit' then 'limit'
  when error_class in ('gateway_error', 'model_unavailable') and reason->>'limit_kind' = 'health'
    then 'provider'
  else 'request' end`;

const ROWS_MAX = 1_000;
/** The most caps that are returned: enough for 20 keys, because each has up to three caps. */
const CAPS_MAX = 60;

/** Reads few rows. $2 is the first request id of the last hour, $3 that of the last day. */
export const NOTICE_FACTS_SQL = `
  with lately as (
    select ${CAUSE_SQL} as cause, model_id, created_at,
      ((reason->>'needed_usd')::numeric * 1000000)::bigint as needed
    from refused_request
    where org_id = $1 and request_id >= $2::uuid and error_class <> '${CLIENT_LEFT}'
    order by request_id desc limit ${ROWS_MAX}
  ), served as (
    select request_id from attempt
    where org_id = $1 and request_id >= $3::uuid
      and attempt_id >= attempt_id_at(now() - interval '25 hours')
    order by request_id desc limit 1
  ), capped as (
    select k.key_id, k.name, p.period, p.cap, p.settled as spent, s.reserved as held
    from api_key k cross join lateral (
      select coalesce(sum(reserved), 0) as reserved, coalesce(sum(settled) filter (
        where month = date_trunc('month', now() at time zone 'utc')), 0) as of_month
      from spend where scope = 'key' and id = k.key_id
    ) s cross join lateral (
      select coalesce(sum(settled), 0) as of_week,
        coalesce(sum(settled) filter (where day = (now() at time zone 'utc')::date), 0) as of_day
      from spend_day
      where ${hasDailySpendSql("k")}
        and key_id = k.key_id
        and day >= date_trunc('week', now() at time zone 'utc')::date
        and day < date_trunc('week', now() at time zone 'utc')::date + 7
    ) d cross join lateral (values
      ${CAP_PERIODS.map((period) => `('${period}', k.${capColumn(period)}, of_${period})`).join(
        ", ",
      )}) as p (period, cap, settled)
    where k.org_id = $1 and k.disabled_at is null
      and (k.expires_at is null or k.expires_at > now()) and not ${MANAGED_SQL}
      and s.reserved + p.settled >= p.cap * 0.8
    order by (s.reserved + p.settled) / p.cap desc, k.key_id, p.period limit ${CAPS_MAX}
  )
  select
    (select coalesce(jsonb_object_agg(cause, n), '{}')
      from (select cause, count(*) as n from lately group by cause) c) as refused,
    (select min(needed) from lately
      where cause = 'balance' and created_at > now() - interval '15 minutes') as needed,
    (select min(needed) from lately
      where cause = 'org_cap' and created_at > now() - interval '15 minutes') as needed_under_cap,
    (select created_at from refused_request
      where org_id = $1 and request_id >= coalesce((select request_id from served), $3::uuid)
        and error_class = 'insufficient_quota'
      order by request_id limit 1) as refused_since,
    (select coalesce(jsonb_agg(jsonb_build_object(
      'keyId', key_id, 'name', name, 'period', period, 'cap', cap::text,
      'spent', spent::text, 'held', held::text)), '[]')
      from capped) as capped,
    (select coalesce(jsonb_agg(distinct model_id), '[]') from (
      (select model_id from attempt
        where org_id = $1 and request_id >= $2::uuid
          and attempt_id >= attempt_id_at(now() - interval '2 hours')
        order by request_id desc limit ${ROWS_MAX})
      union all
      (select model_id from lately where cause = 'provider')
    ) m where model_id is not null) as models`;

/** Counts the newest refused requests by cause. $2 is the first request id that counts. */
export const REFUSED_CAUSES_SQL = `
  select cause, count(*)::integer as requests from (
    select ${CAUSE_SQL} as cause from refused_request
    where org_id = $1 and request_id >= $2::uuid and error_class <> '${CLIENT_LEFT}'
    order by request_id desc limit 10000
  ) r group by cause order by requests desc, cause`;

export interface RefusedFor {
  readonly cause: RefusalCause;
  readonly requests: number;
}

const factColumns = columns({
  /** Number of refusals by cause, among the newest thousand refused requests of the last hour. */
  refused: opaque<Readonly<Partial<Record<RefusalCause, number>>>>("refused"),
  /** The smallest reserve refused for lack of balance in the last 15 minutes; null if none. */
  neededMicroUsd: orNull(micro("needed")),
  /** Like `neededMicroUsd`, for refusals by the organization's spend cap. */
  neededUnderCapMicroUsd: orNull(micro("needed_under_cap")),
  /** When balance or cap first refused since the newest attempt, in the last day; null if never. */
  refusedSinceMs: orNull(instantMs("refused_since")),
  models: opaque<readonly string[]>("models"),
});

/** Reads an amount from JSON, which has it as a text. */
function microText(name: string): Column<MicroUsd> {
  return { ...micro(name), read: (row) => microUsd(BigInt(text(name).read(row))) };
}

/** A spend cap of which 80 percent or more is used or held. A key may have one for each period. */
const cappedColumns = columns({
  keyId: text<KeyId>("keyId"),
  name: text<string>("name"),
  period: text<CapPeriod>("period"),
  capMicroUsd: microText("cap"),
  spentMicroUsd: microText("spent"),
  heldMicroUsd: microText("held"),
});
export type CappedKey = RecordOf<typeof cappedColumns>;

export interface NoticeFacts extends RecordOf<typeof factColumns> {
  /** The fullest cap comes first. */
  readonly cappedKeys: readonly CappedKey[];
}

export function noticeFacts(row: Row): NoticeFacts {
  const capped = row["capped"] as readonly Row[];
  return { ...factColumns.read(row), cappedKeys: capped.map(cappedColumns.read) };
}
