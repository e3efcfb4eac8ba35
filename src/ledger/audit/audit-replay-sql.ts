import { CAP_PERIODS, capColumn } from "../../kernel/index.ts";
import { attemptDay } from "./audit-query.ts";
import {
  type AuditSpan,
  type AuditStart,
  attemptsSql,
  monthsSql,
  type OrgRange,
  orgsSql,
} from "./audit-span.ts";

/**
 * Values from the whole journal that the replay of each range of organizations needs. All are 0 if
 * the audit begins at a checkpoint; `retiredThrough` and `retiredIds` are 0 if no day is retired.
 */
export interface ReplayBounds {
  /** Position of the last transfer of a retired attempt. */
  readonly retiredThrough: bigint;
  /** The first attempt id after the last retired day. */
  readonly retiredIds: bigint;
  readonly firstPosition: bigint;
}

export const REPLAY_ACCOUNTS_TITLE = "the replayed journal gives every account";

const monthNumber = (month: string): string =>
  `extract(year from ${month})::bigint * 12 + extract(month from ${month})::bigint - 1`;

/** Returns the first month whose spend the span contains in full, in months since year 0. */
export function findFirstMonth(span: AuditSpan): number {
  if (span === undefined) return 0;
  const [year = 0, month = 1] = span.day.split("-").map(Number);
  return year * 12 + month - 2;
}

/** Selects an upper bound of the number of journal lines, and the `ReplayBounds`. */
export function journalSizeSql(span: AuditSpan): string {
  const retired =
    span === undefined
      ? `(select max(t.position) from transfer t
          join retired_day r on r.day = ${attemptDay("t.attempt_id")}
          where t.attempt_id < (select max(to_id) from retired_day)),
        (select max(to_id) from retired_day), (select min(opened_position) from journal)`
      : "0, 0, 0";
  return `
    select (select 2 * count(*) + count(corrected_at) from ${attemptsSql(span)} a)
        + (select count(*) from hold where not annulled)
        + (select count(*) from cap_change) + (select count(*) from period_cap_change)
        + (select count(*) from transfer where attempt_id is null and ${after(span)}),
      ${retired}`;
}

/** The organization of a transfer; "" (it sorts first) for transfers between platform accounts. */
const TRANSFER_ORG = `coalesce(substring(debit_account from '^(?:wallet|receivable):(.*)$'),
  substring(credit_account from '^(?:wallet|receivable):(.*)$'), '')`;
const ACCOUNT_ORG = "substring(account_id from '^(?:wallet|receivable):(.*)$')";

/**
 * Selects the journal of some organizations: first the totals before it, then the lines by
 * position. At one position, closings come before holds, because a hold may need the credit that a
 * closing of the same batch released. An attempt that was opened and closed at the same position
 * was annulled before it was opened, so it is left out. The last sort columns give duplicates of
 * damaged books a fixed order.
 */
export function journalSql(span: AuditSpan, orgs: OrgRange, bounds: ReplayBounds): string {
  const attempts = attemptsSql(span);
  return `
  select kind, position, attempt_id, a, b, c, x, y, cost_pico, owed_pico from (
    select 0 as step, 'cap' as kind, position, null::bigint as attempt_id, scope as a, id as b,
      org_id as c, cap_micro_usd as x, 0::bigint as y, null::numeric as cost_pico,
      null::numeric as owed_pico
    from cap_change where ${orgsSql("org_id", orgs)}
    union all
    select 0, 'cap', position, null, 'key', key_id, org_id, cap_micro_usd,
      case period when 'week' then 1 else 2 end, null, null
    from period_cap_change where ${orgsSql("org_id", orgs)}
    union all
    ${span === undefined ? beforeAllSql(orgs, bounds) : beforeSql(span, orgs)}
    union all
    select line.* from ${attempts} s cross join lateral (values
      (1, 'closed', closed_position, attempt_id, state,
        case when corrected_at is not null then 'corrected' end, null, debit, overrun, cost_pico,
        owed_pico),
      (2, 'open', ${OPENING})
    ) as line (step, kind, position)
    where opened_position <> closed_position and ${orgsSql("org_id", orgs)}
      and ${after(span, "line.position")}
    union all
    select 1, 'corrected', corrected_position, attempt_id, state, null, null, debit, overrun,
      cost_pico, owed_pico
    from ${attempts} s where corrected_at is not null and ${orgsSql("org_id", orgs)}
      and ${after(span, "corrected_position")}
    union all
    select 2, 'open', ${OPENING}
    from hold where not annulled and ${orgsSql("org_id", orgs)} and ${after(span, "opened_position")}
  ) line order by position, step, attempt_id, x`;
}

const OPENING = `opened_position, attempt_id, org_id, key_id, provider_id, reserve,
      ${monthNumber("month")}, (created_at at time zone 'utc')::date - date '1970-01-01', null`;

/**
 * For an audit of all books: selects the retired spend, and the transfers that belong to no attempt
 * of the journal. Of these, the transfers before the journal's first attempt are summed up.
 */
function beforeAllSql(orgs: OrgRange, { firstPosition, retiredIds }: ReplayBounds): string {
  return `
    select 0, 'retired', 0, null, s.scope, s.id, coalesce(k.org_id, s.id),
      sum(s.settled)::bigint, ${monthNumber("s.month")}, null, null
    from retired_spend s left join api_key k on s.scope = 'key' and k.key_id = s.id
    where ${orgsSql("coalesce(k.org_id, s.id)", orgs)}
    group by s.scope, s.id, k.org_id, s.month
    union all
    select 0, 'transfer', at, null, debit_account, credit_account, null, sum(amount)::bigint, null,
      null, null
    from (
      select case when position < ${firstPosition} then 0 else position end as at, debit_account,
        credit_account, amount
      from transfer where attempt_id is null
      union all
      select case when t.position < ${firstPosition} then 0 else t.position end, debit_account,
        credit_account, amount
      from transfer t join retired_day r on r.day = ${attemptDay("t.attempt_id")}
      where attempt_id < ${retiredIds}
    ) outside
    where ${orgsSql(TRANSFER_ORG, orgs)} group by at, debit_account, credit_account`;
}

/**
 * For an audit that begins at a checkpoint: selects the checkpoint's sums, the attempts that were
 * in flight or not yet corrected at its position, and later transfers without an attempt.
 */
function beforeSql(span: AuditStart, orgs: OrgRange): string {
  const { day, position } = span;
  const attempts = attemptsSql(span);
  const kept = `opened_position <= ${position} and ${orgsSql("org_id", orgs)}`;
  const opening = OPENING.replace("opened_position", "0");
  return `
    select 0, 'account', 0, null, account_id, null, null, debits, credits, null, null
    from audit_checkpoint_account where day = '${day}' and ${orgsSql(ACCOUNT_ORG, orgs)}
      and ${ACCOUNT_ORG} is not null
    union all
    select 0, 'retired', 0, null, s.scope, s.id, coalesce(k.org_id, s.id), sum(s.settled)::bigint,
      ${monthNumber("s.month")}, null, null
    from audit_checkpoint_spend s left join api_key k on s.scope = 'key' and k.key_id = s.id
    where s.day <= '${day}' and ${monthsSql(span, "s.month")}
      and ${orgsSql("coalesce(k.org_id, s.id)", orgs)}
    group by s.scope, s.id, k.org_id, s.month
    union all
    select 1, 'held', ${opening} from ${attempts} s
    where opened_position <> closed_position and ${kept} and closed_position > ${position}
    union all
    select 1, 'held', ${opening} from hold where not annulled and ${kept}
    union all
    select 1, 'crashed', ${opening} from ${attempts} s
    where ${kept} and closed_position <= ${position} and corrected_position > ${position}
    union all
    select 0, 'transfer', position, null, debit_account, credit_account, null, amount, null, null,
      null
    from transfer where attempt_id is null and position > ${position}
      and ${orgsSql(TRANSFER_ORG, orgs)}`;
}

function after(span: AuditSpan, column = "position"): string {
  return span === undefined ? "true" : `${column} > ${span.position}`;
}

export function accountsSql(orgs: OrgRange): string {
  return `select account_id, debits, credits, reserved from account
    where ${ACCOUNT_ORG} is not null and ${orgsSql(ACCOUNT_ORG, orgs)}`;
}

export const SHARED_ACCOUNTS_SQL = `select account_id, debits, credits, reserved from account
  where ${ACCOUNT_ORG} is null`;

/** Selects the sums of the platform's accounts in the checkpoint of the span, if any. */
export function sharedBeforeSql(span: AuditSpan): string {
  return `select account_id, debits, credits, 0 from audit_checkpoint_account
    where ${span === undefined ? "false" : `day = '${span.day}'`} and ${ACCOUNT_ORG} is null`;
}

export function spendRowsSql(span: AuditSpan, orgs: OrgRange): string {
  return `
  select s.scope, s.id, coalesce(k.org_id, s.id), ${monthNumber("s.month")}, s.settled, s.reserved
  from spend s left join api_key k on s.scope = 'key' and k.key_id = s.id
  where ${monthsSql(span, "s.month")} and ${orgsSql("coalesce(k.org_id, s.id)", orgs)}`;
}

export function capsSql(orgs: OrgRange): string {
  return `
  select scope, id, org_id, period, cap from (
    select 'org' as scope, org_id as id, org_id, 'month' as period, cap_micro_usd as cap from org
    ${CAP_PERIODS.map(
      (period) =>
        `union all select 'key', key_id, org_id, '${period}', ${capColumn(period)} from api_key`,
    ).join(" ")}
  ) x
  where ${orgsSql("org_id", orgs)} and (cap is not null or (scope, id, period) in (
    select scope, id, 'month' from cap_change
    union all select 'key', key_id, period from period_cap_change))`;
}
