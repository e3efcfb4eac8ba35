import type { Pool } from "pg";
import {
  attemptIdFrom,
  columns,
  count,
  instantMs,
  micro,
  normaliseEmail,
  type OrgId,
  orNull,
  parseRequestId,
  type Public,
  readRows,
  readRowsInTime,
  type RecordOf,
  text,
} from "../../kernel/index.ts";
import { readCreatedAt, TWO_DAYS_OF_IDS, type FlaggedListing } from "../../ledger/index.ts";
import type { ReportQuery } from "./report-parts.ts";

const FOUND_MAX = 20;
const KEY_LABEL_CHARS = "tm_vk_".length + 6;

/** Queries over all organizations. Only operators may see the results, never a customer. */
export class PostgresOperatorDesk {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Reads the overview from wallets and from daily and hourly sums, never from the journal. */
  async read() {
    const [days, orgs, providers, empty, until] = await Promise.all([
      readRowsInTime(this.#pool, dayColumns, DAYS_SQL),
      readRowsInTime(this.#pool, orgColumns, ORGS_SQL),
      readRowsInTime(this.#pool, providerColumns, PROVIDERS_SQL),
      readRowsInTime(this.#pool, emptyColumns, EMPTY_SQL),
      readRowsInTime(this.#pool, untilColumns, UNTIL_SQL),
    ]);
    return {
      /** Seven days and today, newest first; a day without calls is left out. */
      days,
      orgs,
      /** The ten worst providers: at least a tenth of 20 or more calls failed in 25 hours. */
      providers,
      /** The number of organizations that had credit and have less than a cent. */
      outOfCredit: empty[0]?.total ?? 0,
      /** Ten of these organizations, those with the highest debits first. */
      empty,
      /** The time up to which calls are summed; null if no calls are summed yet. */
      untilMs: until[0]?.untilMs ?? null,
    };
  }

  async usageOf(orgId: OrgId) {
    return await readRowsInTime(this.#pool, usageColumns, USAGE_SQL, [orgId]);
  }

  /**
   * Finds records by a complete id, receipt number, e-mail address or organization name, and keys
   * also by their first characters.
   */
  async lookUp(asked: string): Promise<readonly Found[]> {
    const { text: sql, values } = readQuestion(asked.trim());
    return await readRowsInTime(this.#pool, foundColumns, `${sql} limit ${FOUND_MAX}`, values);
  }
}

export type OperatorDesk = Public<PostgresOperatorDesk>;

/** Selects the sums since an instant: daily sums, and hourly sums for days that have none yet. */
function partsSinceSql(since: string): string {
  const columnsOf = `org_id, provider_id, model_id, attempts, succeeded, failed, requests,
    failed_requests, debit, margin, losses, lost`;
  return `select ${columnsOf}, day from listing_day_sum
    where day >= ((${since}) at time zone 'utc')::date
    union all
    select ${columnsOf}, (hour at time zone 'utc')::date from listing_hour_sum h
    where hour >= ${since} and not exists (
      select from listing_day_sum d
      where d.org_id = h.org_id and d.day = (h.hour at time zone 'utc')::date)`;
}

const FIGURES_SQL = `sum(requests)::bigint as requests,
  sum(failed_requests)::bigint as failed_requests, sum(debit)::bigint as debit,
  sum(margin)::bigint as margin`;
const WEEK_SQL = partsSinceSql("now() - interval '7 days'");

const DAYS_SQL = `
  select to_char(day, 'YYYY-MM-DD') as day, ${FIGURES_SQL} from (${WEEK_SQL}) part
  group by 1 order by 1 desc`;

const ORGS_SQL = `
  select p.org_id, o.name, ${FIGURES_SQL}
  from (${WEEK_SQL}) p join org o using (org_id)
  group by 1, 2 order by sum(debit) desc, 1 limit 10`;

const PROVIDERS_SQL = `
  select provider_id, sum(attempts)::bigint as attempts, sum(failed)::bigint as failed
  from listing_hour_sum where hour >= now() - interval '25 hours'
  group by 1 having sum(attempts) >= 20 and sum(failed) * 10 >= sum(attempts)
  order by 3 desc, 1 limit 10`;

const EMPTY_SQL = `
  select o.org_id, o.name, w.credits - w.debits - w.owed as balance, count(*) over () as total
  from account w join org o using (org_id)
  where o.funded_at is not null and w.credits - w.debits - w.owed < 10000
  order by w.debits desc, o.org_id limit 10`;

const UNTIL_SQL = "select max(hour) + interval '1 hour' as until from listing_hour";

const USAGE_SQL = `
  select model_id, ${FIGURES_SQL}
  from (${partsSinceSql("now() - interval '30 days'")}) part where org_id = $1
  group by 1 order by sum(debit) desc, 1 limit 20`;

const figures = {
  requests: count("requests"),
  failedRequests: count("failed_requests"),
  debitMicroUsd: micro("debit"),
  /** The debits minus the amounts owed to providers. */
  marginMicroUsd: micro("margin"),
} as const;
const figureColumns = columns(figures);
export type DeskFigures = RecordOf<typeof figureColumns>;
const org = { orgId: text<OrgId>("org_id"), name: text<string>("name") } as const;
const dayColumns = columns({ day: text<string>("day"), ...figures });
const orgColumns = columns({ ...org, ...figures });
const usageColumns = columns({ modelId: text<string>("model_id"), ...figures });
const providerColumns = columns({
  providerId: text<string>("provider_id"),
  attempts: count("attempts"),
  failed: count("failed"),
});
const emptyColumns = columns({ ...org, balanceMicroUsd: micro("balance"), total: count("total") });
const untilColumns = columns({ untilMs: orNull(instantMs("until")) });
const foundColumns = columns({
  kind: text<"organization" | "person" | "key" | "purchase" | "request">("kind"),
  id: text<string>("id"),
  label: text<string>("label"),
  orgId: org.orgId,
  orgName: text<string>("org_name"),
});
type Found = RecordOf<typeof foundColumns>;

function readQuestion(asked: string): ReportQuery {
  const find = (sql: string, ...values: unknown[]): ReportQuery => ({ text: sql, values });
  const requestId = parseRequestId(asked);
  if (requestId !== undefined) return find(REQUEST_SQL, requestId, ...findAttemptSpan(requestId));
  if (asked.includes("@")) return find(EMAIL_SQL, normaliseEmail(asked));
  const [, prefix, digits] = /^(R|TEST)-(\d{1,18})$/i.exec(asked) ?? [];
  if (prefix !== undefined) {
    const series = prefix.toUpperCase() === "R" ? "live:%" : "test:%";
    return find(`${PURCHASE_SQL} receipt_number = $1 and receipt_series like $2`, digits, series);
  }
  if (asked.startsWith("pur_")) return find(`${PURCHASE_SQL} purchase_id = $1`, asked);
  if (/^tm_vk_[0-9a-f]{6}/.test(asked)) {
    const label = asked.slice(0, KEY_LABEL_CHARS);
    return find(`${KEY_SQL} left(label, ${KEY_LABEL_CHARS}) = $1`, label);
  }
  return asked.startsWith("key_") ? find(`${KEY_SQL} key_id = $1`, asked) : find(ORG_SQL, asked);
}

function findAttemptSpan(requestId: string): readonly bigint[] {
  const first = attemptIdFrom(readCreatedAt(requestId));
  return [first - TWO_DAYS_OF_IDS, first + TWO_DAYS_OF_IDS];
}

/* Attempts are indexed by organization, so the query probes the index for each organization. */
const REQUEST_SQL = `
  select 'request' as kind, $1::text as id, 'Request' as label, o.org_id, o.name as org_name
  from org o where o.org_id in (select org_id from refused_request where request_id = $1::uuid)
    or o.org_id in (select org_id from hold where request_id = $1::uuid)
    or exists (select from attempt a where a.org_id = o.org_id and a.request_id = $1::uuid
      and a.attempt_id between $2 and $3)`;

const PURCHASE_SQL = `
  select 'purchase' as kind, purchase_id as id,
    coalesce('Purchase with receipt ' || receipt_number, 'Purchase, ' || state) as label, org_id,
    name as org_name
  from purchase join org using (org_id) where`;

const KEY_SQL = `
  select 'key' as kind, key_id as id, k.name || case when k.disabled_at is null then ''
    else ', disabled' end as label, org_id, o.name as org_name
  from api_key k join org o using (org_id) where origin not in ('playground', 'optimize') and`;

const EMAIL_SQL = `
  select 'person' as kind, a.account_id as id, a.email || ', ' || m.role as label, m.org_id,
    o.name as org_name
  from console_account a join org_member m using (account_id) join org o on o.org_id = m.org_id
  where a.email_norm = $1
  union
  select 'organization', org_id, email, org_id, name from org where lower(btrim(email)) = $1
    and not exists (select from org_member m where m.org_id = org.org_id)`;

const ORG_SQL = `
  select 'organization' as kind, org_id as id, email as label, org_id, name as org_name from org
  where org_id = $1 or lower(name) = lower($1)`;

/** Returns the largest loss first. Reads sums, which include each hour soon after its end. */
export async function listingLosses(pool: Pool, days: number): Promise<readonly ListingLoss[]> {
  return await readRows(pool, lossColumns, LOSSES_SQL, [days]);
}

const counted = {
  providerId: text<string>("provider_id"),
  modelId: text<string>("model_id"),
  attempts: count("attempts"),
} as const;
const lossColumns = columns({ ...counted, lostMicroUsd: micro("lost") });
export type ListingLoss = RecordOf<typeof lossColumns>;

const LOSSES_SQL = `
  select provider_id, model_id, sum(losses)::bigint as attempts, sum(lost)::bigint as lost
  from (${partsSinceSql("now() - $1::integer * interval '1 day'")}) part where losses > 0
  group by 1, 2 order by sum(lost) desc, 1, 2`;

export async function flaggedListings(
  pool: Pool,
  days: number,
): Promise<readonly FlaggedListing[]> {
  return await readRows(pool, flaggedColumns, FLAGGED_SQL, [days]);
}

const flaggedColumns = columns<FlaggedListing>({ flag: text("error_class"), ...counted });

// Attempt ids contain the time, so the condition on them excludes older partitions.
const FLAGGED_SQL = `
  select error_class, provider_id, model_id, count(*) as attempts from attempt
  where attempt_id >= attempt_id_at(now() - $1::integer * interval '1 day')
    and error_class = 'usage_impossible'
  group by 1, 2, 3 order by 4 desc, 2, 3`;
