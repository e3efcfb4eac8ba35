import { escapeLiteral } from "pg";

/** The checkpoint at which an audit begins. Its totals of all earlier writes are trusted. */
export interface AuditStart {
  /** The day as YYYY-MM-DD. All attempts of this day and of earlier days have ended. */
  readonly day: string;
  readonly position: bigint;
  /** Attempts with lower ids ended by `position`; they may have been corrected after it. */
  readonly fromAttempt: bigint;
}

/** The part of the books that an audit checks; undefined for all books. */
export type AuditSpan = AuditStart | undefined;

/** Ids from `from` (inclusive) to `until` (exclusive). A missing bound is no limit. */
export interface Range<T> {
  readonly from?: T | undefined;
  readonly until?: T | undefined;
}
export type IdRange = Range<bigint>;
/** Organization ids are compared by their bytes. */
export type OrgRange = Range<string>;

/** Selects months whose spend the span has in full: that before its day's month, and later ones. */
export function monthsSql(span: AuditSpan, column: string): string {
  if (span === undefined) return "true";
  return `${column} >= (date_trunc('month', date '${span.day}') - interval '1 month')::date`;
}

/** Returns a table expression of the finished attempts that an audit of this span checks. */
export function attemptsSql(span: AuditSpan, range: IdRange = {}): string {
  const ids = boundsSql("attempt_id", range);
  if (span === undefined) return `(select * from attempt where ${ids})`;
  const { fromAttempt } = span;
  return `(select * from attempt where attempt_id >= ${fromAttempt} and ${ids}
    union all select * from attempt where ${correctedLater(span, range)})`;
}

/** Selects attempts' transfers since the span's start, and earlier ones of `attemptsSql`. */
export function attemptTransfersSql(span: AuditSpan, range: IdRange): string {
  const ids = boundsSql("attempt_id", range);
  if (span === undefined) {
    return `(select * from transfer where attempt_id is not null and ${ids})`;
  }
  const { position, fromAttempt } = span;
  return `(
    select * from transfer where position > ${position} and attempt_id is not null and ${ids}
    union all
    select * from transfer where position <= ${position} and attempt_id >= ${fromAttempt} and ${ids}
    union all
    select * from transfer where position <= ${position} and attempt_id < ${fromAttempt}
      and attempt_id in (select attempt_id from attempt where ${correctedLater(span, range)}))`;
}

/** Selects the debits and credits of each account, up to the position `through` if given. */
export function accountSumsSql(span: AuditSpan, through?: bigint): string {
  const [before, after] =
    span === undefined
      ? ["", "true"]
      : [
          `select account_id, debits as debit, credits as credit from audit_checkpoint_account
           where day = '${span.day}' union all`,
          `position > ${span.position}`,
        ];
  const upTo = through === undefined ? "" : ` and position <= ${through}`;
  return `
    select account_id, sum(debit) as debits, sum(credit) as credits from (
      ${before}
      select debit_account as account_id, amount as debit, 0 as credit from transfer
      where ${after}${upTo}
      union all select credit_account, 0, amount from transfer where ${after}${upTo}
    ) x group by account_id`;
}

/** Selects settled spend by scope, id and month; the caller must add up rows with equal keys. */
export function spendSql(span: AuditSpan): string {
  const before =
    span === undefined
      ? "select scope, id, month, settled from retired_spend"
      : `select scope, id, month, settled from audit_checkpoint_spend
         where day <= '${span.day}' and ${monthsSql(span, "month")}`;
  return `
    select case grouping(org_id) when 0 then 'org' else 'key' end as scope,
      coalesce(org_id, key_id) as id, month, sum(spent) as settled
    from (${spentSql(span)}) a where ${monthsSql(span, "month")}
    group by grouping sets ((org_id, month), (key_id, month))
    union all ${before}`;
}

/**
 * Selects what each attempt has added to the spend since the span's start. For an attempt closed
 * before and corrected since, this is its debit minus its reserve, at most 0.
 */
function spentSql(span: AuditSpan): string {
  if (span === undefined) return "select org_id, key_id, month, debit as spent from attempt";
  const { position } = span;
  return `
    select org_id, key_id, month,
      case when closed_position > ${position} then debit else debit - reserve end as spent
    from ${attemptsSql(span)} s
    where closed_position > ${position} or corrected_position > ${position}`;
}

export function orgsSql(column: string, range: OrgRange): string {
  const [from, until] = [range.from, range.until].map((id) =>
    id === undefined ? undefined : escapeLiteral(id),
  );
  return boundsSql(`${column} collate "C"`, { from, until });
}

function boundsSql(column: string, { from, until }: Range<string | bigint>): string {
  const bounds = [
    ...(from === undefined ? [] : [`${column} >= ${from}`]),
    ...(until === undefined ? [] : [`${column} < ${until}`]),
  ];
  return bounds.length === 0 ? "true" : bounds.join(" and ");
}

function correctedLater({ position, fromAttempt }: AuditStart, range: IdRange): string {
  return `attempt_id < ${fromAttempt} and corrected_at is not null
    and corrected_position > ${position} and ${boundsSql("attempt_id", range)}`;
}
