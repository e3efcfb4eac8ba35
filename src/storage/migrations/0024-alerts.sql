-- program_min: 11
-- Alerts: which alerts an organization has chosen, what was noticed, and how it was delivered.

create table alert_rules (
  org_id text primary key references org,
  balance_below bigint check (balance_below > 0),
  cap_percents smallint[] not null default '{}'
    check (array_length(cap_percents, 1) <= 5 and 1 <= all (cap_percents) and 100 >= all (cap_percents)),
  -- Since when each of these is reported; null: it is not.
  purchases_since timestamptz,
  restrictions_since timestamptz
);

-- Thresholds that are passed now. A row goes once the value is well on the other side again, so
-- that one crossing is one event however often it is looked at.
create table alert_crossing (
  org_id text not null references org,
  kind text not null check (kind in ('balance.low', 'org_cap.reached', 'key_cap.reached')),
  subject text not null,
  threshold bigint not null,
  -- The month of a cap; a balance has none.
  period date not null,
  since timestamptz not null default now(),
  primary key (org_id, kind, subject, threshold, period)
);

create table alert_event (
  event_id text primary key,
  org_id text not null references org,
  kind text not null,
  facts jsonb not null,
  -- What it reports, where that happens once.
  once text unique,
  at timestamptz not null default now()
);
create index alert_event_by_org on alert_event (org_id, at desc);
create index alert_event_by_time on alert_event (at);

create table alert_destination (
  destination_id text primary key,
  org_id text not null references org,
  channel text not null check (channel in ('email')),
  address text not null,
  created_at timestamptz not null default now(),
  -- Since when every delivery has failed.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('removed', 'failing')),
  check ((disabled_at is null) = (disabled_reason is null))
);
create unique index one_alert_destination on alert_destination (org_id, channel, address)
  where disabled_at is null;
create index alert_destination_removed on alert_destination (disabled_at)
  where disabled_reason = 'removed';

create table alert_delivery (
  delivery_id bigint generated always as identity primary key,
  event_id text not null references alert_event on delete cascade,
  destination_id text not null references alert_destination,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  tries integer not null default 0,
  next_at timestamptz not null default now(),
  -- What the last try was answered: a status, or why there was none.
  last_answer text,
  last_at timestamptz,
  unique (event_id, destination_id)
);
create index alert_delivery_due on alert_delivery (next_at) where state = 'waiting';
create index alert_delivery_by_destination on alert_delivery (destination_id);
