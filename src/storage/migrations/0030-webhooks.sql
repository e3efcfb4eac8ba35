-- program_min: 11
-- Webhooks beside e-mail, which events go where, tries under way, and alerts of keys that expire. Alerts
-- came with the same release: no program of an earlier one takes a delivery.

alter table alert_destination
  -- Which events go there; null: all.
  add column kinds text[],
  -- Sealed by the encryption key of the installation; none of an e-mail address.
  add column sealed_secret bytea,
  -- The secret of before a rotation, and until when deliveries are signed by it too.
  add column former_secret bytea,
  add column former_until timestamptz;
alter table alert_destination drop constraint alert_destination_channel_check;
alter table alert_destination add constraint alert_destination_channel
  check (channel in ('email', 'webhook')) not valid;
alter table alert_destination drop constraint alert_destination_disabled_reason_check;
alter table alert_destination add constraint alert_destination_disabled_reason
  check (disabled_reason in ('removed', 'failing', 'gone', 'paused')) not valid;
alter table alert_destination add constraint alert_destination_secret
  check (channel <> 'webhook' or sealed_secret is not null or disabled_reason = 'removed') not valid;

alter table alert_rules
  -- Since when expiring keys are reported; null: they are not.
  add column key_expiry_since timestamptz;

-- Tries under way: so many at once for each destination, whichever instance makes them.
create table alert_try (
  delivery_id bigint primary key references alert_delivery on delete cascade,
  destination_id text not null,
  tries integer not null,
  until_at timestamptz not null
);
create index alert_try_by_destination on alert_try (destination_id);

-- Stores what was noticed, with a delivery for each destination that wants it, in the transaction of
-- the caller. False: what happens once was reported before.
create function alert_report(
  new_event_id text, for_org_id text, of_kind text, with_facts jsonb, happens_once text
) returns boolean language plpgsql as $$
begin
  insert into alert_event (event_id, org_id, kind, facts, once)
  values (new_event_id, for_org_id, of_kind, with_facts, happens_once)
  on conflict (once) do nothing;
  if not found then
    return false;
  end if;
  insert into alert_delivery (event_id, destination_id)
  select new_event_id, t.destination_id from alert_destination t
  where t.org_id = for_org_id and t.disabled_at is null
    and (t.kinds is null or of_kind = any (t.kinds));
  return true;
end $$;
