import type { Pool, PoolClient } from "pg";

import {
  byGateway,
  type ChangeLog,
  type Public,
  inTransaction,
  readRows,
} from "../../kernel/index.ts";
import { createBrowserToken } from "../identity/browser-token.ts";
import {
  dueColumns,
  type DueDelivery,
  nameDestination,
  shortAddress,
  type TryAnswer,
} from "./alert-store.ts";
import { DROP_WAITING_SQL, KEEP_STOP_SQL } from "./destination-sql.ts";
import { noticeAlerts } from "./noticing.ts";
import { reportEvent } from "./alert-kinds.ts";

/** Longer than a try should take: a try that outlasts its lease may be repeated meanwhile. */
const LEASE_S = 120;
/** Limits the tries in flight per destination, so that no slow destination occupies a process. */
const TRIES_AT_ONCE = 2;

/** A lease moves a delivery's next try to the end of the lease. */
export class PostgresAlertQueue {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async notice(): Promise<number> {
    return await noticeAlerts(this.#pool);
  }

  /**
   * Leases due deliveries, at most two per destination at a time over all processes. No other
   * process gets a delivery before its lease ends.
   */
  async takeDue(limit: number): Promise<readonly DueDelivery[]> {
    return await inTransaction(this.#pool, async (client) => {
      // Locks the destinations first and leases in a second statement, which therefore sees the
      // tries that another process committed before it released these locks.
      type Locked = { readonly destination_id: string };
      const { rows } = await client.query<Locked>(LOCK_DUE_SQL, [limit, TRIES_AT_ONCE]);
      if (rows.length === 0) return [];
      const ids = rows.map(({ destination_id: id }) => id);
      const values = [limit, LEASE_S, TRIES_AT_ONCE, ids];
      return await withStopTokens(client, await readRows(client, dueColumns, TAKE_SQL, values));
    });
  }

  /**
   * Records the end of a try; changes nothing if another process has taken over the lease. Without
   * `retryMs`, the wait until the next try, a try that did not deliver was the last one.
   */
  async end(
    delivery: DueDelivery,
    { end, answer }: TryAnswer,
    retryMs: number | undefined,
  ): Promise<void> {
    const { deliveryId, tries, destinationId } = delivery;
    const isDelivered = end === "delivered";
    const state = isDelivered ? "delivered" : retryMs === undefined ? "failed" : "waiting";
    await this.#changes.write(ALERTS, async (client, note) => {
      await client.query(FORGET_TRY_SQL, [deliveryId, tries]);
      const ended = [deliveryId, tries, state, answer, retryMs ?? 0];
      const { rowCount } = await client.query(END_SQL, ended);
      // The destination's state stays: another process has the lease, the destination was disabled,
      // or this installation could not send.
      if (rowCount === 0 || end === "unsent") return;
      await client.query(isDelivered ? WELL_SQL : FAILING_SQL, [destinationId]);
      if (state !== "failed") return;
      const disabling = end === "gone" ? GONE_SQL : DISABLE_SQL;
      const disabled = await client.query(disabling, [destinationId]);
      if (disabled.rowCount === 0) return;
      const before = nameDestination(delivery);
      const { orgId } = delivery.event;
      note({ action: "alert.destination", orgId, target: destinationId, before, after: null });
      await reportDisabled(client, delivery);
    });
  }
}

export type AlertQueue = Public<PostgresAlertQueue>;

/** Gives each e-mail a link that stops further alerts; each try gets a new link. */
async function withStopTokens(
  client: PoolClient,
  due: readonly DueDelivery[],
): Promise<readonly DueDelivery[]> {
  const mails = due.filter(({ channel }) => channel === "email");
  const tokens = new Map(mails.map(({ deliveryId: id }) => [id, createBrowserToken()]));
  if (tokens.size === 0) return due;
  const hashes = [...tokens.values()].map(({ hash }) => hash);
  await client.query(KEEP_STOP_SQL, [[...tokens.keys()], hashes]);
  return due.map((each) => {
    const stop = tokens.get(each.deliveryId);
    return stop === undefined ? each : { ...each, stopToken: stop.token };
  });
}

async function reportDisabled(
  client: PoolClient,
  { destinationId, channel, address, event }: DueDelivery,
): Promise<void> {
  await client.query(DROP_WAITING_SQL, [[destinationId], "the destination was disabled"]);
  // This report goes to other destinations, whose readers may have no role: it cuts the address.
  const facts = { destination_id: destinationId, channel, address: shortAddress(address) };
  await reportEvent(client, { orgId: event.orgId, kind: "destination.disabled", facts });
}

const ALERTS = byGateway("alerts");

/* Skips destinations with the maximum of tries in flight, which would crowd out the others. */
const LOCK_DUE_SQL = `
  with due as (
    select destination_id, min(next_at) as since from alert_delivery
    where state = 'waiting' and next_at <= now()
    group by destination_id
  )
  select t.destination_id from due join alert_destination t using (destination_id)
  where (
    select count(*) from alert_try y
    where y.destination_id = t.destination_id and y.until_at > now()
  ) < $2
  order by since limit $1
  for no key update of t skip locked`;

const TAKE_SQL = `
  with ranked as (
    select d.delivery_id, d.next_at, row_number() over (
      partition by d.destination_id order by d.next_at, d.delivery_id
    ) + (
      select count(*) from alert_try y
      where y.destination_id = d.destination_id and y.until_at > now()
    ) as place
    from alert_delivery d
    where d.destination_id = any ($4) and d.state = 'waiting' and d.next_at <= now()
  ), due as (
    select d.delivery_id from ranked r join alert_delivery d using (delivery_id)
    where r.place <= $3 and d.state = 'waiting' and d.next_at <= now()
    order by r.next_at limit $1
    for update of d skip locked
  ), taken as (
    update alert_delivery d
    set tries = d.tries + 1, next_at = now() + $2 * interval '1 second'
    from due where d.delivery_id = due.delivery_id
    returning d.delivery_id, d.tries, d.event_id, d.destination_id
  ), under_way as (
    insert into alert_try (delivery_id, destination_id, tries, until_at)
    select delivery_id, destination_id, tries, now() + $2 * interval '1 second' from taken
    on conflict (delivery_id) do update
    set tries = excluded.tries, until_at = excluded.until_at
  )
  select d.delivery_id, d.tries, e.event_id, e.org_id, o.name as org_name, e.kind, e.facts, e.at,
    t.destination_id, t.channel, t.address, array_remove(array[t.sealed_secret,
      case when t.former_until > now() then t.former_secret end], null) as sealed_secrets
  from taken d
  join alert_event e using (event_id)
  join alert_destination t using (destination_id)
  join org o on o.org_id = e.org_id`;

const FORGET_TRY_SQL = "delete from alert_try where delivery_id = $1 and tries = $2";

const END_SQL = `
  update alert_delivery
  set state = $3, last_answer = $4, last_at = now(),
    next_at = now() + $5::double precision * interval '1 ms'
  where delivery_id = $1 and tries = $2 and state = 'waiting'`;

const WELL_SQL = `
  update alert_destination set failing_since = null
  where destination_id = $1 and failing_since is not null`;

const FAILING_SQL = `
  update alert_destination set failing_since = now()
  where destination_id = $1 and failing_since is null`;

/* Disables a destination only if every try to deliver to it has failed for two days. */
const DISABLE_SQL = `
  update alert_destination set disabled_at = now(), disabled_reason = 'failing'
  where destination_id = $1 and disabled_at is null
    and failing_since < now() - interval '2 days'`;

const GONE_SQL = `
  update alert_destination set disabled_at = now(), disabled_reason = 'gone'
  where destination_id = $1 and disabled_at is null`;
