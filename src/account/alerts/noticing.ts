import type { Pool } from "pg";

import {
  capColumn,
  type CapPeriod,
  formatUsd,
  inTransaction,
  microUsd,
  type OrgId,
  type PauseReason,
} from "../../kernel/index.ts";
import { type NewEvent, reportEvent } from "./alert-kinds.ts";

/**
 * Compares the figures of every organization with its alert rules in one transaction, which commits
 * a passed threshold, its event and its deliveries together. One instance at a time does this;
 * meanwhile a call on another returns 0. Returns the number of new events.
 */
export async function noticeAlerts(pool: Pool): Promise<number> {
  return await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ ours: boolean }>(LOCK_SQL);
    if (rows[0]?.ours !== true) return 0;
    const read = async <R extends object>(sql: string) => (await client.query<R>(sql)).rows;
    const events = [
      ...keepHighest(await read<CrossedRow>(CROSSED_SQL)).map(crossingEvent),
      ...(await read<PurchaseRow>(PURCHASES_SQL)).map(grantedEvent),
      ...(await read<RestrictionRow>(RESTRICTIONS_SQL)).map(restrictionEvent),
      ...(await read<ExpiryRow>(EXPIRIES_SQL)).map(expiryEvent),
      ...(await read<PurchaseRow>(CHARGED_SQL)).map(chargedEvent),
      ...(await read<PausedRow>(PAUSED_SQL)).map(pausedEvent),
      ...(await read<TroubleRow>(TROUBLES_SQL)).map(troubleEvent),
    ];
    for (const forget of FORGET_SQL) await client.query(forget);
    for (const event of events) await reportEvent(client, event);
    return events.length;
  });
}

interface CrossedRow {
  readonly org_id: OrgId;
  readonly kind: "balance.low" | "org_cap.reached" | "key_cap.reached";
  readonly subject: string;
  readonly threshold: bigint;
  readonly measured: bigint;
  readonly most: bigint | null;
  readonly name: string | null;
  /** The key that has the cap; null for the balance and for the organization's cap. */
  readonly key_id: string | null;
  readonly cap_period: CapPeriod | null;
}

interface PurchaseRow {
  readonly org_id: OrgId;
  readonly purchase_id: string;
  readonly micro_usd: bigint;
}

interface RestrictionRow {
  readonly org_id: OrgId;
  readonly hold_id: bigint;
  readonly family: string;
  readonly until_at: Date | null;
}

/** If the spend under one cap has passed several percentages, keeps only the highest of them. */
function keepHighest(rows: readonly CrossedRow[]): readonly CrossedRow[] {
  const highest = new Map<string, CrossedRow>();
  for (const row of rows) {
    const subject = `${row.kind} ${row.org_id} ${row.subject}`;
    const known = highest.get(subject);
    if (known === undefined || known.threshold < row.threshold) highest.set(subject, row);
  }
  return [...highest.values()];
}

function crossingEvent(row: CrossedRow): NewEvent {
  const { org_id: orgId, kind, threshold, measured, most, name } = row;
  if (kind === "balance.low") {
    const facts = {
      balance_usd: formatUsd(microUsd(measured)),
      threshold_usd: formatUsd(microUsd(threshold)),
    };
    return { orgId, kind, facts };
  }
  const cap = {
    percent: Number(threshold),
    spent_usd: formatUsd(microUsd(measured)),
    cap_usd: formatUsd(microUsd(most ?? 0n)),
  };
  if (kind === "org_cap.reached") return { orgId, kind, facts: cap };
  const { key_id: keyId, cap_period: period } = row;
  return { orgId, kind, facts: { ...cap, period, key_id: keyId, key_name: name } };
}

function grantedEvent(row: PurchaseRow): NewEvent {
  const { org_id: orgId, purchase_id: id, micro_usd: amount } = row;
  const facts = { purchase_id: id, amount_usd: formatUsd(microUsd(amount)) };
  return { orgId, kind: "purchase.granted", facts, once: `purchase ${id}` };
}

function chargedEvent(row: PurchaseRow): NewEvent {
  return { ...grantedEvent(row), kind: "topup.charged", once: `topup.charged ${row.purchase_id}` };
}

/** Leaves out the reason of the restriction, which only the operator sees. */
function restrictionEvent(row: RestrictionRow): NewEvent {
  const facts = { calls: row.family, until: row.until_at?.toISOString() ?? null };
  const once = `restriction ${row.hold_id}`;
  return { orgId: row.org_id, kind: "requests.restricted", facts, once };
}

/* The lock is held until the commit, so that no later run reads older figures. */
const LOCK_SQL = "select pg_try_advisory_xact_lock(hashtext('tokenmarket alerts')) as ours";

/*
 * Returns the thresholds that were passed since the last run. A crossing (the stored row of a
 * passed threshold) ends once the balance is a tenth above the threshold or the spend a twentieth
 * below it, or once the rule, cap or key is gone or the period is over. Percentages are compared by
 * multiplying, since a quotient would be rounded. `subject` is the key's id for a key's monthly
 * cap; the period is appended for its other caps.
 */
const CROSSED_SQL = `
  with today as (
    select (now() at time zone 'utc')::date as day,
      date_trunc('week', now() at time zone 'utc')::date as monday
  ), spent as not materialized (
    select scope, id, month, settled from spend
    where month = date_trunc('month', now() at time zone 'utc')::date
  ), measured as materialized (
    select r.org_id, 'balance.low' as kind, r.org_id as subject, r.balance_below as threshold,
      date '2000-01-01' as period, v.value as measured, null::bigint as most, null::text as name,
      null::text as key_id, null::text as cap_period,
      v.value < r.balance_below as is_over,
      v.value >= r.balance_below + r.balance_below / 10 as is_clear
    from alert_rules r
    left join account a on a.account_id = 'wallet:' || r.org_id
    cross join lateral (
      select coalesce(a.credits - a.debits - a.owed, 0) as value
    ) v
    where r.balance_below is not null
    union all
    select r.org_id, c.kind, c.subject, p.percent, c.first, c.settled, c.cap, c.name,
      c.key_id, c.cap_period,
      c.settled * 100 >= c.cap::numeric * p.percent,
      c.settled * 2000 < c.cap::numeric * p.percent * 19
    from alert_rules r
    cross join lateral unnest(r.cap_percents) as p (percent)
    cross join lateral (
      select 'org_cap.reached' as kind, o.org_id as subject, null as name,
        o.cap_micro_usd as cap, s.month as first, s.settled, null as key_id, null as cap_period
      from org o join spent s on s.scope = 'org' and s.id = o.org_id
      where o.org_id = r.org_id and o.cap_micro_usd is not null
      union all
      select 'key_cap.reached', k.key_id || p.mark, k.name, p.cap, p.first, p.settled,
        k.key_id, p.period
      from api_key k cross join lateral (
        select 'month' as period, '' as mark, k.cap_micro_usd as cap, s.month as first, s.settled
        from spent s where s.scope = 'key' and s.id = k.key_id
        union all
        select v.period, ' ' || v.period, v.cap, v.first, (
          select coalesce(sum(settled), 0)::bigint from spend_day
          where key_id = k.key_id and day >= v.first and day < v.behind)
        from today t cross join lateral (values
          ('week', k.${capColumn("week")}, t.monday, t.monday + 7),
          ('day', k.${capColumn("day")}, t.day, t.day + 1)) as v (period, cap, first, behind)
        where v.cap is not null
      ) p
      where k.org_id = r.org_id and p.cap is not null and k.disabled_at is null
        and (k.expires_at is null or k.expires_at > now())
        and k.origin not in ('playground', 'optimize')
    ) c
  ), ended as (
    delete from alert_crossing x
    where not exists (
      select from measured m
      where m.org_id = x.org_id and m.kind = x.kind and m.subject = x.subject
        and m.threshold = x.threshold and m.period = x.period and not m.is_clear
    )
  ), made as (
    insert into alert_crossing (org_id, kind, subject, threshold, period)
    select org_id, kind, subject, threshold, period from measured where is_over
    on conflict do nothing
    returning org_id, kind, subject, threshold, period
  )
  select m.org_id, m.kind, m.subject, m.threshold::bigint, m.measured, m.most, m.name, m.key_id,
    m.cap_period
  from made join measured m using (org_id, kind, subject, threshold, period)`;

/* Reads three days back, since a purchase may be committed later than its `granted_at`. */
const PURCHASES_SQL = `
  select p.org_id, p.purchase_id, p.micro_usd
  from alert_rules r join purchase p on p.org_id = r.org_id
  where p.state = 'granted'
    and p.granted_at > greatest(r.purchases_since, now() - interval '3 days')
    and r.purchases_since is not null
    and not exists (select from top_up t where t.purchase_id = p.purchase_id)
    and not exists (select from alert_event e where e.once = 'purchase ' || p.purchase_id)`;

const RESTRICTIONS_SQL = `
  select h.org_id, h.hold_id, h.family, h.until_at
  from alert_rules r join usage_hold h on h.org_id = r.org_id
  where h.created_at > greatest(r.restrictions_since, now() - interval '3 days')
    and r.restrictions_since is not null and h.lifted_at is null
    and not exists (select from alert_event e where e.once = 'restriction ' || h.hold_id)`;

/* Keeps events for 90 days; retries of deliveries and the queries need only the last three. */
const FORGET_SQL: readonly string[] = [
  "delete from alert_event where at < now() - interval '90 days'",
  `delete from alert_destination t
  where disabled_reason = 'removed' and disabled_at < now() - interval '90 days'
    and not exists (select from alert_delivery d where d.destination_id = t.destination_id)`,
];

interface ExpiryRow {
  readonly org_id: OrgId;
  readonly key_id: string;
  readonly name: string;
  readonly expires_at: Date;
  /** 0 if the key has expired. */
  readonly days: number;
}

/** `once` has the stage (`days`) and the expiry, so a key with a new expiry is reported again. */
function expiryEvent(row: ExpiryRow): NewEvent {
  const { org_id: orgId, key_id: keyId, name, expires_at: at, days } = row;
  const facts = { key_id: keyId, key_name: name, expires_at: at.toISOString() };
  const once = `key ${keyId} ${days} ${at.getTime()}`;
  return days === 0
    ? { orgId, kind: "key.expired", facts, once }
    : { orgId, kind: "key.expiring", facts: { ...facts, days }, once };
}

/*
 * A key's stages are 7 days before it expires, 1 day before, and its expiry. Of several due stages
 * only the last one is reported. A stage that began before the key was created is skipped: a person
 * who creates a key for an hour knows that it expires. Reads three days back, since a transaction
 * may be committed late.
 */
const EXPIRIES_SQL = `
  select k.org_id, k.key_id, k.name, k.expires_at, v.days
  from alert_rules r
  join api_key k on k.org_id = r.org_id
  cross join lateral (
    select case when k.expires_at <= now() then 0
      when k.expires_at <= now() + interval '1 day' then 1 else 7 end as days
  ) v
  where r.key_expiry_since is not null and k.disabled_at is null
    and k.origin not in ('playground', 'optimize')
    and k.expires_at <= now() + interval '7 days'
    and k.expires_at > greatest(r.key_expiry_since, now() - interval '3 days')
    and k.created_at <= k.expires_at - v.days * interval '1 day'
    and not exists (
      select from alert_event e where e.once = 'key ' || k.key_id || ' ' || v.days || ' '
        || (extract(epoch from date_trunc('milliseconds', k.expires_at)) * 1000)::bigint
    )`;

interface TroubleRow {
  readonly org_id: OrgId;
  readonly provider_id: string;
  readonly hour: Date;
  readonly attempts: bigint;
  readonly failed: bigint;
}

function troubleEvent(row: TroubleRow): NewEvent {
  const { org_id: orgId, provider_id: provider, hour, attempts, failed } = row;
  const at = hour.toISOString();
  const facts = { provider, hour: at, attempts: Number(attempts), failed: Number(failed) };
  const once = `trouble ${orgId} ${provider} ${at.slice(0, 10)}`;
  return { orgId, kind: "provider.trouble", facts, once };
}

/* Finds providers that failed over half of an organization's 20 or more attempts in an hour. */
const TROUBLES_SQL = `
  select org_id, provider_id, hour, attempts, failed from (
    select org_id, provider_id, hour, sum(attempts)::bigint as attempts,
      sum(failed)::bigint as failed
    from listing_hour_sum where hour > now() - interval '3 hours' group by 1, 2, 3
  ) h join alert_rules r using (org_id)
  where attempts >= 20 and failed * 2 > attempts and hour >= r.trouble_since - interval '1 hour'
    and not exists (select from alert_event e where e.once = 'trouble ' || org_id || ' '
      || provider_id || ' ' || to_char(hour at time zone 'utc', 'YYYY-MM-DD'))
  order by hour`;

interface PausedRow {
  readonly org_id: OrgId;
  readonly reason: PauseReason;
  readonly once: string;
}

/** No rule turns this event off, since customers must learn of the pause; a destination can. */
function pausedEvent({ org_id: orgId, reason, once }: PausedRow): NewEvent {
  return { orgId, kind: "topup.paused", facts: { reason }, once };
}

/* Reads three days back, like `PURCHASES_SQL`. */
const CHARGED_SQL = `
  select p.org_id, p.purchase_id, p.micro_usd
  from top_up t join purchase p using (purchase_id) join alert_rules r on r.org_id = p.org_id
  where t.created_at > now() - interval '3 days' and p.state = 'granted'
    and r.purchases_since is not null and p.granted_at > r.purchases_since
    and not exists (select from alert_event e where e.once = 'topup.charged ' || p.purchase_id)`;

const PAUSED_SQL = `
  select org_id, paused_reason as reason, once
  from (
    select *, 'topup.paused ' || org_id || ' ' || extract(epoch from paused_at) as once
    from top_up_rule where paused_at > now() - interval '3 days'
  ) r
  where not exists (select from alert_event e where e.once = r.once)`;
