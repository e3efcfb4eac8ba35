import type { Pool, PoolClient } from "pg";

import { formatUsd, microUsd, newRecordId, type OrgId } from "../core/index.ts";
import { inTransaction } from "../storage/index.ts";
import type { NewEvent } from "./alert-event.ts";
import { topUpEvents } from "./notice-top-ups.ts";

/**
 * Compares the figures of every organization with its rules, in one transaction: a passed
 * threshold, its event and its deliveries are committed together. One instance at a time; another
 * one that asks meanwhile has nothing to do. Answers how many events were made.
 */
export async function noticeAlerts(pool: Pool): Promise<number> {
  return await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ ours: boolean }>(LOCK_SQL);
    if (rows[0]?.ours !== true) return 0;
    const crossed = await client.query<CrossedRow>(CROSSED_SQL);
    const purchases = await client.query<PurchaseRow>(PURCHASES_SQL);
    const restrictions = await client.query<RestrictionRow>(RESTRICTIONS_SQL);
    const topUps = await topUpEvents(client);
    const events = [
      ...highestOf(crossed.rows).map(crossingEvent),
      ...purchases.rows.map(purchaseEvent),
      ...restrictions.rows.map(restrictionEvent),
      ...topUps,
    ];
    for (const forget of FORGET_SQL) await client.query(forget);
    for (const event of events) await insertEvent(client, event);
    return events.length;
  });
}

/** Stores an event and a delivery for each destination, or for one of them. */
export async function insertEvent(
  client: Pick<PoolClient, "query">,
  { orgId, kind, facts, once }: NewEvent,
  destinationId?: string,
): Promise<string> {
  const eventId = newRecordId("evt");
  const event = [eventId, orgId, kind, JSON.stringify(facts), once ?? null];
  await client.query(INSERT_EVENT_SQL, event);
  await client.query(INSERT_DELIVERIES_SQL, [eventId, orgId, destinationId ?? null]);
  return eventId;
}

interface CrossedRow {
  readonly org_id: OrgId;
  readonly kind: "balance.low" | "org_cap.reached" | "key_cap.reached";
  readonly subject: string;
  readonly threshold: bigint;
  readonly measured: bigint;
  readonly most: bigint | null;
  readonly name: string | null;
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

/** Where 50 and 80 percent are passed at once, the higher one is reported. */
function highestOf(rows: readonly CrossedRow[]): readonly CrossedRow[] {
  const highest = new Map<string, CrossedRow>();
  for (const row of rows) {
    const subject = `${row.kind} ${row.org_id} ${row.subject}`;
    const known = highest.get(subject);
    if (known === undefined || known.threshold < row.threshold) highest.set(subject, row);
  }
  return [...highest.values()];
}

function crossingEvent(row: CrossedRow): NewEvent {
  const { org_id: orgId, kind, subject, threshold, measured, most, name } = row;
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
  return { orgId, kind, facts: { ...cap, key_id: subject, key_name: name } };
}

function purchaseEvent({
  org_id: orgId,
  purchase_id: id,
  micro_usd: amount,
}: PurchaseRow): NewEvent {
  const facts = { purchase_id: id, amount_usd: formatUsd(microUsd(amount)) };
  return { orgId, kind: "purchase.granted", facts, once: `purchase ${id}` };
}

/** What was unusual stays with the operator. */
function restrictionEvent(row: RestrictionRow): NewEvent {
  const facts = { calls: row.family, until: row.until_at?.toISOString() ?? null };
  const once = `restriction ${row.hold_id}`;
  return { orgId: row.org_id, kind: "requests.restricted", facts, once };
}

/* Until the commit. Taken before the figures are read: what another instance has seen is older. */
const LOCK_SQL = "select pg_try_advisory_xact_lock(hashtext('tokenmarket alerts')) as ours";

/*
 * A passed threshold is over once its value is a tenth of the threshold (of a cap: a
 * twentieth of it) on the other side, its rule is gone, or its month is over. Percent are compared
 * as products: exact.
 */
const CROSSED_SQL = `
  with spent as (
    select scope, id, month, settled from spend
    where month = date_trunc('month', now() at time zone 'utc')::date
  ), measured as materialized (
    select r.org_id, 'balance.low' as kind, r.org_id as subject, r.balance_below as threshold,
      date '2000-01-01' as period, v.value as measured, null::bigint as most, null::text as name,
      v.value < r.balance_below as is_over,
      v.value >= r.balance_below + r.balance_below / 10 as is_clear
    from alert_rules r
    left join account a on a.account_id = 'wallet:' || r.org_id
    cross join lateral (
      select coalesce(a.credits - a.debits - a.owed, 0) as value
    ) v
    where r.balance_below is not null
    union all
    select r.org_id, c.kind, c.subject, p.percent, c.month, c.settled, c.cap, c.name,
      c.settled * 100 >= c.cap::numeric * p.percent,
      c.settled * 2000 < c.cap::numeric * p.percent * 19
    from alert_rules r
    cross join lateral unnest(r.cap_percents) as p (percent)
    cross join lateral (
      select 'org_cap.reached' as kind, o.org_id as subject, null as name,
        o.cap_micro_usd as cap, s.month, s.settled
      from org o join spent s on s.scope = 'org' and s.id = o.org_id
      where o.org_id = r.org_id and o.cap_micro_usd is not null
      union all
      select 'key_cap.reached', k.key_id, k.name, k.cap_micro_usd, s.month, s.settled
      from api_key k join spent s on s.scope = 'key' and s.id = k.key_id
      where k.org_id = r.org_id and k.cap_micro_usd is not null and k.disabled_at is null
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
  select m.org_id, m.kind, m.subject, m.threshold::bigint, m.measured, m.most, m.name
  from made join measured m using (org_id, kind, subject, threshold, period)`;

/* A commit may come after the instant it has written: read again for days, reported once. */
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

/* Longer than a delivery is tried, and than anything is read again. */
const FORGET_SQL: readonly string[] = [
  "delete from alert_event where at < now() - interval '90 days'",
  `delete from alert_destination t
  where disabled_reason = 'removed' and disabled_at < now() - interval '90 days'
    and not exists (select from alert_delivery d where d.destination_id = t.destination_id)`,
];

const INSERT_EVENT_SQL = `
  insert into alert_event (event_id, org_id, kind, facts, once) values ($1, $2, $3, $4, $5)`;

const INSERT_DELIVERIES_SQL = `
  insert into alert_delivery (event_id, destination_id)
  select $1, destination_id from alert_destination
  where org_id = $2 and disabled_at is null and ($3::text is null or destination_id = $3)`;
