import {
  columns,
  type Columns,
  computed,
  instantMs,
  opaque,
  orNull,
  type Column,
  text,
} from "../../kernel/index.ts";
import type { AlertDestination, DisabledReason } from "./alert-store.ts";

const reason: Column<DisabledReason | null> = orNull(text("disabled_reason"));

/** The columns of destinations, without the secrets. */
export const destinationColumns: Columns<AlertDestination> = columns<AlertDestination>({
  destinationId: text("destination_id"),
  channel: text("channel"),
  address: text("address"),
  kinds: orNull(opaque("kinds")),
  createdAtMs: instantMs("created_at"),
  failingSinceMs: orNull(instantMs("failing_since")),
  disabledAtMs: orNull(instantMs("disabled_at")),
  disabledReason: reason,
  formerSecretUntilMs: computed(
    "case when former_until > now() then former_until end",
    orNull(instantMs("former_until")),
  ),
});

export const DESTINATIONS_SQL = `
  select ${destinationColumns.sql} from alert_destination
  where org_id = $1 and disabled_reason is distinct from 'removed'
  order by created_at, destination_id
  limit 50`;

export const COUNT_SQL = `
  select count(*) from alert_destination
  where org_id = $1 and disabled_reason is distinct from 'removed'`;

export const ADD_SQL = `
  insert into alert_destination (destination_id, org_id, channel, address, kinds, sealed_secret)
  values ($1, $2, $3, $4, $5, $6)
  on conflict do nothing
  returning ${destinationColumns.sql}`;

export const FIND_SQL = `
  select ${destinationColumns.sql} from alert_destination
  where org_id = $1 and destination_id = $2 and disabled_reason is distinct from 'removed'
  for no key update`;

/* Only one destination with an address may be enabled. */
export const IS_TAKEN_SQL = `
  select from alert_destination t join alert_destination o using (org_id, channel, address)
  where t.org_id = $1 and t.destination_id = $2
    and o.destination_id <> t.destination_id and o.disabled_at is null`;

export const CHANGE_SQL = `
  update alert_destination
  set kinds = $3,
    disabled_at = case when $4 then null else coalesce(disabled_at, now()) end,
    disabled_reason = case when $4 then null else coalesce(disabled_reason, 'paused') end,
    failing_since = case when $4 and disabled_at is not null then null else failing_since end
  where org_id = $1 and destination_id = $2
  returning ${destinationColumns.sql}`;

export const ROTATE_SQL = `
  update alert_destination
  set former_secret = sealed_secret, former_until = now() + interval '24 hours', sealed_secret = $3
  where org_id = $1 and destination_id = $2 and channel = 'webhook'
    and disabled_reason is distinct from 'removed'
  returning ${destinationColumns.sql}`;

/* One that failed too long is taken off the list as well. Its secrets are deleted. */
export const REMOVE_SQL = `
  update alert_destination
  set disabled_at = coalesce(disabled_at, now()), disabled_reason = 'removed',
    sealed_secret = null, former_secret = null, former_until = null
  where org_id = $1 and destination_id = $2 and disabled_reason is distinct from 'removed'
  returning channel, address`;

/** $2: why, for the log. */
export const DROP_WAITING_SQL = `
  update alert_delivery set state = 'failed', last_answer = $2
  where destination_id = $1 and state = 'waiting'`;

export const ACTIVE_SQL = `
  select from alert_destination
  where org_id = $1 and destination_id = $2 and disabled_at is null for share`;

export const COUNT_WAITING_SQL = `
  select count(*) from alert_delivery where destination_id = $1 and state = 'waiting'`;

export const INSERT_TEST_SQL = `
  with made as (
    insert into alert_event (event_id, org_id, kind, facts) values ($1, $2, 'alerts.test', '{}')
    returning event_id
  )
  insert into alert_delivery (event_id, destination_id) select event_id, $3 from made`;

/** One row where there is such a delivery; the tries start over. */
export const AGAIN_SQL = `
  with asked as (
    select delivery_id from alert_delivery where destination_id = $1 and event_id = $2
  ), queued as (
    update alert_delivery d set state = 'waiting', tries = 0, next_at = now()
    from asked
    where d.delivery_id = asked.delivery_id and d.state = 'failed' and not exists (
      select from alert_try y where y.delivery_id = d.delivery_id and y.until_at > now()
    )
    returning d.delivery_id
  )
  select exists (select from queued) as is_queued from asked`;
