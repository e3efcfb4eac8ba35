import { destinationColumns, type LinkedAddress } from "./alert-store.ts";

/** Limit confirmation e-mails in 24 hours: to one mailbox, and from one organization. */
const ADDRESS_MAILS_MAX = 3;
const ORG_MAILS_MAX = 20;

export const DESTINATIONS_SQL = `
  select ${destinationColumns.sql} from alert_destination
  where org_id = $1 and disabled_reason is distinct from 'removed'
  order by created_at, destination_id
  limit 50`;

/** Finds the destinations that this transaction has added: `now()` is the transaction's start. */
export const NEW_DESTINATIONS_SQL = `
  select ${destinationColumns.sql} from alert_destination
  where org_id = $1 and created_at = now()`;

export const COUNT_SQL = `
  select count(*) from alert_destination
  where org_id = $1 and disabled_reason is distinct from 'removed'`;

/*
 * Finds an enabled or unconfirmed destination with this address. E-mail addresses are compared
 * without regard to letter case.
 */
export const IS_THERE_SQL = `
  select from alert_destination
  where org_id = $1 and channel = $2 and (disabled_at is null or disabled_reason = 'unconfirmed')
    and (address = $3 or channel = 'email' and lower(address) = lower($3))`;

export const ADD_SQL = `
  insert into alert_destination (destination_id, org_id, channel, address, kinds, sealed_secret,
    confirm_hash, confirm_until, disabled_at, disabled_reason)
  select $1, $2, $3, $4, $5, $6, $7, asked + interval '7 days', asked,
    case when asked is not null then 'unconfirmed' end
  from (select case when $7::bytea is not null then now() end as asked) a
  returning ${destinationColumns.sql}`;

export const LOCK_ADDRESS_SQL =
  "select pg_advisory_xact_lock(hashtextextended('tokenmarket alert address ' || lower($1), 0))";

const HOUR_SQL = "floor(extract(epoch from now()) / 3600)";

/** Counts one e-mail in the hour of the database's clock, unless that hour has `max` already. */
export function countMailSql(max: string): string {
  return `
    update invitation_hour set hour = ${HOUR_SQL},
      mails = 1 + case when hour = ${HOUR_SQL} then mails else 0 end
    where (hour <> ${HOUR_SQL} or mails < ${max})`;
}

/*
 * Counts one confirmation e-mail in the hourly limit that confirmations share with the invitations
 * of all organizations. Changes no row if that limit is reached, or the 24-hour limit of the
 * mailbox or of the organization.
 */
export const CLAIM_CONFIRMATION_SQL = `${countMailSql("$3")}
    and (select count(*) filter (where lower(address) = lower($2)) < ${ADDRESS_MAILS_MAX}
        and count(*) filter (where org_id = $1) < ${ORG_MAILS_MAX}
      from alert_destination
      where confirm_until is not null and created_at > now() - interval '24 hours')`;

export const FIND_SQL = `
  select ${destinationColumns.sql} from alert_destination
  where org_id = $1 and destination_id = $2 and disabled_reason is distinct from 'removed'
  for no key update`;

/*
 * Finds another enabled or unconfirmed destination with the address of destination $2. An address
 * may have only one enabled or unconfirmed destination.
 */
export const IS_TAKEN_SQL = `
  select from alert_destination t join alert_destination o using (org_id, channel)
  where t.org_id = $1 and t.destination_id = $2 and o.destination_id <> t.destination_id
    and (o.address = t.address or channel = 'email' and lower(o.address) = lower(t.address))
    and (o.disabled_at is null or o.disabled_reason = 'unconfirmed')`;

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

/* Removes a destination, whether enabled or disabled, and deletes its secrets. */
export const REMOVE_SQL = `
  update alert_destination
  set disabled_at = coalesce(disabled_at, now()), disabled_reason = 'removed',
    sealed_secret = null, former_secret = null, former_until = null
  where org_id = $1 and destination_id = $2 and disabled_reason is distinct from 'removed'
  returning channel, address`;

/*
 * Removes the destinations with address $2, and those that account $3 added and that their readers
 * have not confirmed.
 */
export const REMOVE_MEMBER_SQL = `
  update alert_destination d
  set disabled_at = coalesce(disabled_at, now()), disabled_reason = 'removed'
  where org_id = $1 and channel = 'email' and disabled_reason is distinct from 'removed'
    and (lower(address) = lower($2) or disabled_reason = 'unconfirmed' and exists (
      select from change c
      where c.org_id = $1 and c.target = d.destination_id and c.action = 'alert.destination'
        and c.before is null and c.actor_kind = 'account' and c.actor_id = $3))
  returning destination_id, address`;

/*
 * In every organization of account $1, changes the destination with the member's old address $2 to
 * $3, or removes it if alerts go to $3 already. A destination that its reader had to confirm stays
 * as it is. Nothing changes if $2 and $3 differ only in letter case.
 */
export const MOVE_ADDRESS_SQL = `
  update alert_destination t
  set address = case when is_there then t.address else $3 end,
    disabled_at = case when is_there then coalesce(disabled_at, now()) else disabled_at end,
    disabled_reason = case when is_there then 'removed' else disabled_reason end
  from (
    select d.destination_id, exists (
      select from alert_destination o where o.org_id = d.org_id and o.channel = 'email'
        and o.disabled_at is null and lower(o.address) = lower($3)) as is_there
    from alert_destination d join org_member m using (org_id)
    where m.account_id = $1 and d.channel = 'email' and lower(d.address) = lower($2)
      and lower($2) <> lower($3)
      and d.confirm_until is null and d.disabled_reason is distinct from 'removed'
  ) own
  where t.destination_id = own.destination_id
  returning t.destination_id, t.org_id, is_there`;

/** Fails every waiting delivery to the destinations $1; the delivery log shows $2 as the reason. */
export const DROP_WAITING_SQL = `
  update alert_delivery set state = 'failed', last_answer = $2
  where destination_id = any ($1) and state = 'waiting'`;

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

/** Queues a failed delivery for a new series of tries. Returns one row if the delivery exists. */
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

/** Finds a link by its token's hash. A delivery's next try replaces its `stop` link. */
export const FIND_LINK_SQL = `
  select link, t.destination_id, t.org_id, t.address, o.name as org_name
  from (
    select 'confirm' as link, destination_id from alert_destination
    where confirm_hash = $1 and disabled_reason = 'unconfirmed' and confirm_until > now()
    union all select 'stop', destination_id from alert_delivery where stop_hash = $1
  ) l join alert_destination t using (destination_id) join org o using (org_id)`;

/** `confirm` changes no row if the address gets alerts already, `stop` none if it gets none. */
export const USE_LINK_SQL: Readonly<Record<LinkedAddress["link"], string>> = {
  confirm: `
    update alert_destination t set disabled_at = null, disabled_reason = null, confirm_hash = null
    where destination_id = $1 and disabled_reason = 'unconfirmed' and not exists (
      select from alert_destination o where o.org_id = t.org_id and o.channel = 'email'
        and o.disabled_at is null and lower(o.address) = lower(t.address))
    returning destination_id`,
  stop: `
    update alert_destination t
    set disabled_at = coalesce(t.disabled_at, now()), disabled_reason = 'stopped'
    from alert_destination asked
    where asked.destination_id = $1 and t.org_id = asked.org_id and t.channel = 'email'
      and lower(t.address) = lower(asked.address)
      and coalesce(t.disabled_reason, '') not in ('removed', 'stopped')
    returning t.destination_id`,
};

export const KEEP_STOP_SQL = `
  update alert_delivery d set stop_hash = new.hash
  from unnest($1::bigint[], $2::bytea[]) as new (id, hash) where d.delivery_id = new.id`;

/*
 * Makes the stop links in all e-mails that were sent to the destinations $1 unknown. Deliveries
 * without a link change too: if one gets its link meanwhile, the serializable caller runs again.
 */
export const END_STOP_LINKS_SQL = `
  update alert_delivery set stop_hash = null where destination_id = any ($1)`;
