import type { Pool } from "pg";

import { byGateway, type ChangeLog } from "../changes/index.ts";
import type { OrgId } from "../core/index.ts";
import type { AlertFacts, AlertKind } from "./alert-event.ts";
import type { AlertChannel, AlertQueue, DeliveryEnd, DueDelivery } from "./alert-store.ts";
import { insertEvent, noticeAlerts } from "./noticing.ts";

/** Longer than any try takes. */
const LEASE_S = 120;

/** Deliveries in PostgreSQL: a lease moves the next time of one past its own end. */
export class PostgresAlertQueue implements AlertQueue {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async notice(): Promise<number> {
    return await noticeAlerts(this.#pool);
  }

  async takeDue(limit: number): Promise<readonly DueDelivery[]> {
    const { rows } = await this.#pool.query<DueRow>(TAKE_SQL, [limit, LEASE_S]);
    return rows.map(dueDelivery);
  }

  async end(delivery: DueDelivery, end: DeliveryEnd): Promise<void> {
    const { deliveryId, tries, destinationId, channel, address } = delivery;
    const { orgId } = delivery.event;
    const retryMs = end.isDelivered ? undefined : end.retryMs;
    const state = end.isDelivered ? "delivered" : retryMs === undefined ? "failed" : "waiting";
    await this.#changes.write(ALERTS, async (client, note) => {
      const ended = [deliveryId, tries, state, end.answer, retryMs ?? 0];
      const { rowCount } = await client.query(END_SQL, ended);
      // Its lease was over: another process has it.
      if (rowCount === 0) return;
      await client.query(end.isDelivered ? WELL_SQL : FAILING_SQL, [destinationId]);
      if (state !== "failed") return;
      const disabled = await client.query(DISABLE_SQL, [destinationId]);
      if (disabled.rowCount === 0) return;
      await client.query(DROP_WAITING_SQL, [destinationId]);
      const before = { channel, address };
      note({ action: "alert.destination", orgId, target: destinationId, before, after: null });
      const facts = { destination_id: destinationId, channel, address };
      await insertEvent(client, { orgId, kind: "destination.disabled", facts });
    });
  }
}

const ALERTS = byGateway("alerts");

interface DueRow {
  readonly delivery_id: bigint;
  readonly tries: number;
  readonly event_id: string;
  readonly org_id: OrgId;
  readonly org_name: string;
  readonly kind: AlertKind;
  readonly facts: AlertFacts;
  readonly at: Date;
  readonly destination_id: string;
  readonly channel: AlertChannel;
  readonly address: string;
}

function dueDelivery(row: DueRow): DueDelivery {
  return {
    deliveryId: row.delivery_id,
    tries: row.tries,
    event: {
      eventId: row.event_id,
      orgId: row.org_id,
      orgName: row.org_name,
      kind: row.kind,
      facts: row.facts,
      atMs: row.at.getTime(),
    },
    destinationId: row.destination_id,
    channel: row.channel,
    address: row.address,
  };
}

const TAKE_SQL = `
  with due as (
    select delivery_id from alert_delivery
    where state = 'waiting' and next_at <= now()
    order by next_at limit $1
    for update skip locked
  ), taken as (
    update alert_delivery d
    set tries = d.tries + 1, next_at = now() + $2 * interval '1 second'
    from due where d.delivery_id = due.delivery_id
    returning d.delivery_id, d.tries, d.event_id, d.destination_id
  )
  select d.delivery_id, d.tries, e.event_id, e.org_id, o.name as org_name, e.kind, e.facts, e.at,
    t.destination_id, t.channel, t.address
  from taken d
  join alert_event e using (event_id)
  join alert_destination t using (destination_id)
  join org o on o.org_id = e.org_id`;

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

/* One delivery that was given up is not enough: nothing has arrived for as long as one is tried. */
const DISABLE_SQL = `
  update alert_destination set disabled_at = now(), disabled_reason = 'failing'
  where destination_id = $1 and disabled_at is null
    and failing_since < now() - interval '2 days'`;

const DROP_WAITING_SQL = `
  update alert_delivery set state = 'failed', last_answer = 'the destination was disabled'
  where destination_id = $1 and state = 'waiting'`;
