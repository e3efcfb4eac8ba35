import type { Pool } from "pg";

import type { ChangedBy, ChangeLog, Facts } from "../changes/index.ts";
import { formatUsd, type OrgId } from "../core/index.ts";
import {
  bool,
  columns,
  type Columns,
  computed,
  inTransaction,
  instantMs,
  integer,
  micro,
  opaque,
  orNull,
  type Row,
  text,
} from "../storage/index.ts";
import type { AlertDestination, AlertRules, AlertStore, DeliveryRecord } from "./alert-store.ts";
import { insertEvent } from "./noticing.ts";

const DESTINATIONS_MAX = 10;
const LOG_LINES_MAX = 100;
const NO_RULES: AlertRules = {
  balanceBelowMicroUsd: null,
  capPercents: [],
  hasPurchases: false,
  hasRestrictions: false,
};

/** What customers set and see of alerts, in PostgreSQL. */
export class PostgresAlertStore implements AlertStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async rules(orgId: OrgId): Promise<AlertRules> {
    const { rows } = await this.#pool.query<Row>(RULES_SQL, [orgId]);
    return rows[0] === undefined ? NO_RULES : ruleColumns.read(rows[0]);
  }

  async changeRules(orgId: OrgId, change: Partial<AlertRules>, by: ChangedBy): Promise<void> {
    await this.#changes.write(by, async (client, note) => {
      await client.query(LOCK_ORG_SQL, [orgId]);
      const { rows } = await client.query<Row>(RULES_SQL, [orgId]);
      const known = rows[0] === undefined ? NO_RULES : ruleColumns.read(rows[0]);
      const rules = { ...known, ...change };
      await client.query(SET_RULES_SQL, [
        orgId,
        rules.balanceBelowMicroUsd,
        [...rules.capPercents],
        rules.hasPurchases,
        rules.hasRestrictions,
      ]);
      const before = ruleFacts(known);
      note({ action: "alert.rules", orgId, target: orgId, before, after: ruleFacts(rules) });
    });
  }

  async destinations(orgId: OrgId): Promise<readonly AlertDestination[]> {
    const { rows } = await this.#pool.query<Row>(DESTINATIONS_SQL, [orgId]);
    return rows.map(destinationColumns.read);
  }

  async addDestination(
    orgId: OrgId,
    wanted: Parameters<AlertStore["addDestination"]>[1],
    by: ChangedBy,
  ): Promise<AlertDestination | "taken" | "full"> {
    const { destinationId, channel, address } = wanted;
    return await this.#changes.write(by, async (client, note) => {
      await client.query(LOCK_ORG_SQL, [orgId]);
      const { rows: counted } = await client.query<{ count: bigint }>(COUNT_SQL, [orgId]);
      if (Number(counted[0]?.count ?? 0) >= DESTINATIONS_MAX) return "full";
      const added = [destinationId, orgId, channel, address];
      const { rows } = await client.query<Row>(ADD_SQL, added);
      if (rows[0] === undefined) return "taken";
      const after = { channel, address };
      note({ action: "alert.destination", orgId, target: destinationId, before: null, after });
      return destinationColumns.read(rows[0]);
    });
  }

  async removeDestination(orgId: OrgId, destinationId: string, by: ChangedBy): Promise<boolean> {
    return await this.#changes.write(by, async (client, note) => {
      const { rows } = await client.query<{ channel: string; address: string }>(REMOVE_SQL, [
        orgId,
        destinationId,
      ]);
      const [removed] = rows;
      if (removed === undefined) return false;
      await client.query(DROP_WAITING_SQL, [destinationId]);
      const { channel, address } = removed;
      const before = { channel, address };
      note({ action: "alert.destination", orgId, target: destinationId, before, after: null });
      return true;
    });
  }

  async sendTest(orgId: OrgId, destinationId: string): Promise<string | undefined> {
    return await inTransaction(this.#pool, async (client) => {
      const { rowCount } = await client.query(ACTIVE_SQL, [orgId, destinationId]);
      if (rowCount === 0) return undefined;
      return await insertEvent(client, { orgId, kind: "alerts.test", facts: {} }, destinationId);
    });
  }

  async log(orgId: OrgId): Promise<readonly DeliveryRecord[]> {
    const { rows } = await this.#pool.query<Row>(LOG_SQL, [orgId, LOG_LINES_MAX]);
    return rows.map(logColumns.read);
  }
}

function ruleFacts(rules: AlertRules): Facts {
  const { balanceBelowMicroUsd: below, capPercents } = rules;
  return {
    balance_below_usd: below === null ? null : formatUsd(below),
    cap_percents: capPercents.map(String),
    purchases: rules.hasPurchases,
    restrictions: rules.hasRestrictions,
  };
}

const ruleColumns: Columns<AlertRules> = columns<AlertRules>({
  balanceBelowMicroUsd: orNull(micro("balance_below")),
  capPercents: opaque("cap_percents"),
  hasPurchases: computed("purchases_since is not null", bool("has_purchases")),
  hasRestrictions: computed("restrictions_since is not null", bool("has_restrictions")),
});

const destinationColumns: Columns<AlertDestination> = columns<AlertDestination>({
  destinationId: text("destination_id"),
  channel: text("channel"),
  address: text("address"),
  createdAtMs: instantMs("created_at"),
  failingSinceMs: orNull(instantMs("failing_since")),
  disabledAtMs: orNull(instantMs("disabled_at")),
});

const logColumns: Columns<DeliveryRecord> = columns<DeliveryRecord>({
  eventId: text("event_id"),
  kind: text("kind"),
  atMs: instantMs("at"),
  address: orNull(text("address")),
  channel: orNull(text("channel")),
  state: orNull(text("state")),
  tries: orNull(integer("tries")),
  nextAtMs: orNull(instantMs("next_at")),
  lastAnswer: orNull(text("last_answer")),
});

const RULES_SQL = `select ${ruleColumns.sql} from alert_rules where org_id = $1`;

const LOCK_ORG_SQL = "select from org where org_id = $1 for no key update";

/* An alert that was on already stays on since its first instant. */
const SET_RULES_SQL = `
  insert into alert_rules
    (org_id, balance_below, cap_percents, purchases_since, restrictions_since)
  values ($1, $2, $3, case when $4 then now() end, case when $5 then now() end)
  on conflict (org_id) do update set
    balance_below = excluded.balance_below, cap_percents = excluded.cap_percents,
    purchases_since = case when $4 then coalesce(alert_rules.purchases_since, now()) end,
    restrictions_since = case when $5 then coalesce(alert_rules.restrictions_since, now()) end`;

const DESTINATIONS_SQL = `
  select ${destinationColumns.sql} from alert_destination
  where org_id = $1 and disabled_reason is distinct from 'removed'
  order by created_at, destination_id
  limit 50`;

const COUNT_SQL = `
  select count(*) from alert_destination where org_id = $1 and disabled_at is null`;

const ADD_SQL = `
  insert into alert_destination (destination_id, org_id, channel, address)
  values ($1, $2, $3, $4)
  on conflict do nothing
  returning ${destinationColumns.sql}`;

/* One that failed too long is taken off the list as well. */
const REMOVE_SQL = `
  update alert_destination
  set disabled_at = coalesce(disabled_at, now()), disabled_reason = 'removed'
  where org_id = $1 and destination_id = $2 and disabled_reason is distinct from 'removed'
  returning channel, address`;

const DROP_WAITING_SQL = `
  update alert_delivery set state = 'failed', last_answer = 'the destination was removed'
  where destination_id = $1 and state = 'waiting'`;

const ACTIVE_SQL = `
  select from alert_destination
  where org_id = $1 and destination_id = $2 and disabled_at is null for share`;

const LOG_SQL = `
  select ${logColumns.sql} from (
    select * from alert_event where org_id = $1 order by at desc limit $2
  ) e
  left join alert_delivery d using (event_id)
  left join alert_destination t using (destination_id)
  order by at desc, event_id, delivery_id
  limit $2`;
