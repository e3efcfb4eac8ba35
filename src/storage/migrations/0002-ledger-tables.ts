/** The books: accounts, transfers, the attempt journal, monthly spend, instances. */
export const ledgerTablesSql: string = `
create table account (
  account_id text primary key,
  org_id text references org,
  debits bigint not null default 0 check (debits >= 0),
  credits bigint not null default 0 check (credits >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  must_cover boolean not null default false,
  constraint account_covers_its_holds check (not must_cover or debits + reserved <= credits)
) with (fillfactor = 50);

-- Counts the steps of the books. A step takes its number while it holds the wallets it touches, so
-- for each organization the numbers grow in the order in which the steps were committed.
create sequence ledger_position;

create table transfer (
  transfer_id bigint generated always as identity primary key,
  position bigint not null,
  attempt_id bigint,
  kind text not null,
  debit_account text not null,
  credit_account text not null,
  amount bigint not null check (amount > 0),
  ref text unique,
  at timestamptz not null default now(),
  check (debit_account <> credit_account),
  check ((attempt_id is null) <> (ref is null))
);
create unique index transfer_once_per_attempt on transfer (attempt_id, kind)
  where attempt_id is not null;
create index transfer_without_attempt on transfer (credit_account, transfer_id)
  where attempt_id is null;

create table price_pin (
  pin_id text primary key,
  provider_id text not null,
  model_id text not null,
  prompt_pico numeric(38, 0) not null,
  cached_prompt_pico numeric(38, 0) not null,
  cache_write_pico numeric(38, 0) not null,
  completion_pico numeric(38, 0) not null,
  internal_reasoning_pico numeric(38, 0) not null,
  first_used_at timestamptz not null default now()
);

-- The row that fences: it changes only when an instance starts or is declared dead. The lease has
-- its own table, so that a renewal never waits for a reserve that holds the fence.
create table instance (
  instance_id text primary key,
  number smallint not null unique check (number between 0 and 1023),
  epoch bigint not null,
  host text not null,
  process text not null
);
create table instance_lease (
  instance_id text primary key references instance on delete cascade,
  lease_until timestamptz not null
) with (fillfactor = 50);

-- One partition per day, which the id carries.
create table attempt (
  attempt_id bigint primary key,
  request_id uuid not null,
  ordinal smallint not null check (ordinal > 0),
  org_id text not null,
  key_id text not null,
  model_id text not null,
  provider_id text not null,
  upstream_model_id text not null,
  price_pin_id text not null,
  route text not null,
  stream boolean not null,
  instance_id text not null,
  epoch bigint not null,
  estimated_tokens bigint not null,
  reserve bigint not null check (reserve >= 0),
  month date not null,
  state text not null default 'open'
    check (state in ('open', 'settled', 'void', 'unknown_after_crash')),
  resumable boolean not null default false,
  provider_job_id text,
  outcome text,
  basis text,
  prompt bigint,
  cached_prompt bigint,
  cache_write bigint,
  completion bigint,
  internal_reasoning bigint,
  cost_pico numeric(38, 0) check (cost_pico >= 0),
  debit bigint not null default 0 check (debit between 0 and reserve),
  overrun bigint not null default 0 check (overrun >= 0),
  upstream_status smallint,
  error_class text,
  final boolean not null default false,
  started_at timestamptz,
  first_byte_ms integer,
  duration_ms integer,
  opened_position bigint not null,
  closed_position bigint,
  corrected_position bigint,
  created_at timestamptz not null default now(),
  closed_at timestamptz,
  corrected_at timestamptz,
  check ((state = 'open') = (closed_at is null)),
  check ((closed_at is null) = (closed_position is null)),
  check ((corrected_at is null) = (corrected_position is null)),
  check (state not in ('open', 'void') or debit = 0),
  check (corrected_at is null or state = 'unknown_after_crash'),
  check (state <> 'unknown_after_crash' or debit = reserve or corrected_at is not null)
) partition by range (attempt_id);

-- The first id of an instant: 41 bits of milliseconds since 2025, then 22 bits of other things.
create function attempt_id_at(p_at timestamptz) returns bigint language sql immutable as $$
  select (floor(extract(epoch from p_at) * 1000)::bigint - 1735689600000) << 22
$$;

-- A table of its own first: to attach one does not stop the batches that go on beside it.
create function ensure_attempt_partition(p_day date) returns void language plpgsql as $$
declare
  v_name constant text := 'attempt_' || to_char(p_day, 'YYYYMMDD');
begin
  -- The lock before the look: a session remembers that it once saw no such table.
  perform pg_advisory_xact_lock(hashtext('tokenmarket partitions'));
  if to_regclass(v_name) is not null then return; end if;
  execute format('create table %I (like attempt including all)', v_name);
  execute format('alter table attempt attach partition %I for values from (%s) to (%s)', v_name,
    attempt_id_at(p_day::timestamp at time zone 'utc'),
    attempt_id_at((p_day + 1)::timestamp at time zone 'utc'));
end $$;

create function ensure_attempt_partitions(p_days_ahead integer) returns void
language plpgsql as $$
declare
  v_today constant date := clock_timestamp() at time zone 'utc';
begin
  for i in -1 .. p_days_ahead loop
    perform ensure_attempt_partition(v_today + i);
  end loop;
end $$;

create index attempt_by_org_request on attempt (org_id, request_id);
create index attempt_open on attempt (instance_id, epoch) where state = 'open';

-- A request refused before its first attempt: its id answers, and it owes nothing.
create table refused_request (
  request_id uuid primary key,
  org_id text not null,
  key_id text not null,
  model_id text,
  route text not null,
  stream boolean not null,
  error_class text not null,
  created_at timestamptz not null
);

-- Spend per UTC month of admission. In-flight holds count against the cap of every month.
create table spend (
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null default 0 check (settled >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  primary key (scope, id, month)
) with (fillfactor = 50);

-- Every cap an organization or a key ever had, in the books' own order.
create table cap_change (
  position bigint primary key,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  org_id text not null,
  cap_micro_usd bigint,
  at timestamptz not null default now()
);

-- What is before this instant is settled with the providers: nothing is closed there any more.
create table settlement_horizon (
  only_row boolean primary key default true check (only_row),
  through timestamptz not null
);
insert into settlement_horizon (through) values ('-infinity');

-- Days whose attempts were exported and taken out of the journal, and what they had summed up to.
create table retired_day (
  day date primary key,
  from_id bigint not null,
  to_id bigint not null,
  attempts bigint not null,
  debit bigint not null,
  overrun bigint not null,
  cost_pico numeric(38, 0) not null,
  file text not null,
  sha256 bytea not null,
  signature bytea not null,
  retired_at timestamptz not null default now()
);
create table retired_spend (
  day date not null references retired_day,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null,
  primary key (day, scope, id, month)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% rows are never changed or deleted', tg_table_name;
end $$;
create trigger transfer_is_insert_only before update or delete on transfer
  for each row execute function refuse_change();
create trigger transfer_is_not_truncated before truncate on transfer
  for each statement execute function refuse_change();
-- Closed at most once, ever; what was charged without knowing may be corrected once.
create trigger closed_attempt_is_final before update on attempt
  for each row when (old.state <> 'open' and not (old.state = 'unknown_after_crash'
    and old.corrected_at is null and new.corrected_at is not null and new.state = old.state
    and new.reserve = old.reserve and new.org_id = old.org_id and new.key_id = old.key_id
    and new.month = old.month and new.closed_at = old.closed_at))
  execute function refuse_change();
create trigger attempt_is_kept before truncate on attempt
  for each statement execute function refuse_change();
create trigger cap_change_is_insert_only before update or delete on cap_change
  for each row execute function refuse_change();
create trigger price_pin_is_immutable before update or delete on price_pin
  for each row execute function refuse_change();
`;
