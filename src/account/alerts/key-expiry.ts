import type { OrgId } from "../../kernel/index.ts";
import type { NewEvent } from "./report-event.ts";

/** A key that expires soon or has just expired. */
export interface ExpiryRow {
  readonly org_id: OrgId;
  readonly key_id: string;
  readonly name: string;
  readonly expires_at: Date;
  /** 0: it has expired. */
  readonly days: number;
}

/** Once for each key, stage and date: a key whose date is moved is reported again. */
export function expiryEvent(row: ExpiryRow): NewEvent {
  const { org_id: orgId, key_id: keyId, name, expires_at: at, days } = row;
  const facts = { key_id: keyId, key_name: name, expires_at: at.toISOString() };
  const once = onceOf(keyId, days, at.getTime());
  return days === 0
    ? { orgId, kind: "key.expired", facts, once }
    : { orgId, kind: "key.expiring", facts: { ...facts, days }, once };
}

function onceOf(keyId: string, days: number, atMs: number): string {
  return `key ${keyId} ${days} ${atMs}`;
}

/*
 * Of several stages at once the last. One that began before the key was made is not reported: a
 * person who makes a key for an hour knows that it ends. What is expired is read again for days, as
 * a commit may come late.
 */
export const EXPIRIES_SQL = `
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
