-- The books: accounts, transfers, the attempt journal, monthly spend, instances, provider periods.

create table account (
  account_id text primary key,
  org_id text references org,
  debits bigint not null default 0 check (debits >= 0),
  credits bigint not null default 0 check (credits >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  owed bigint not null default 0,
  must_cover boolean not null default false,
  constraint account_covers_its_holds check (not must_cover or debits + reserved <= credits),
  constraint account_owes_only_when_it_has_nothing_free
    check (owed >= 0 and (owed = 0 or debits + reserved = credits))
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
create index transfer_charged_without_attempt on transfer (debit_account, transfer_id)
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
  -- The model that the provider reported, and whether the listing does not allow it.
  served_model text,
  substituted boolean,
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
create index attempt_by_org_request on attempt (org_id, request_id);
create index attempt_open on attempt (instance_id, epoch) where state = 'open';
-- Settlement reads by the time of the end, the journal is ordered by admission. These find the
-- blocks to read and cost a batch next to nothing; the expression keeps them out of its plans.
create index attempt_by_closing on attempt using brin ((closed_at at time zone 'utc'))
  with (autosummarize = on);
create index attempt_by_correction on attempt (corrected_at) where corrected_at is not null;

-- A request refused before its first attempt: its id can be queried, and it owes nothing.
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
create index refused_request_by_org on refused_request (org_id, request_id) include (key_id);
create index refused_request_by_key on refused_request (org_id, key_id, request_id);

-- How many requests of a key were refused in a minute. The first of them have a row of their own in
-- refused_request; what is beyond those is only counted here.
create table refused_minute (
  org_id text not null,
  minute timestamptz not null,
  key_id text not null,
  -- Requests that came with their record, and requests without a row in refused_request.
  recorded bigint not null,
  unlisted bigint not null,
  primary key (org_id, minute, key_id),
  check (recorded >= 0 and unlisted >= 0)
) with (fillfactor = 70);
create index refused_minute_by_minute on refused_minute (minute);

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
-- A wallet's page adds up days that were taken out of the journal.
create index retired_spend_by_id on retired_spend (scope, id, day);

-- The periods of a provider are one chain: each names the end of the one before, which no other
-- names, and begins there or later. So they cannot overlap, whichever process writes them.
create table provider_period (
  provider_id text not null,
  start_at timestamptz not null,
  end_at timestamptz not null,
  after_end_at timestamptz,
  mode text not null check (mode in ('prepaid', 'arrears')),
  every text not null check (every in ('half_daily', 'daily', 'weekly', 'monthly')),
  -- Of the closings and corrections in the period; the same in its lines.
  attempts bigint not null,
  settled bigint not null,
  voids bigint not null,
  unknowns bigint not null,
  unknown_charge bigint not null,
  corrections bigint not null,
  resolved_charge bigint not null,
  prompt bigint not null,
  cached_prompt bigint not null,
  cache_write bigint not null,
  completion bigint not null,
  internal_reasoning bigint not null,
  cost_pico numeric(38, 0) not null,
  corrected_pico numeric(38, 0) not null,
  debit bigint not null,
  overrun bigint not null,
  check (attempts = settled + voids + unknowns),
  check (cost_pico >= corrected_pico and corrected_pico >= 0 and debit >= 0 and overrun >= 0),
  late_attempts bigint not null check (late_attempts between 0 and attempts),
  late_pico numeric(38, 0) not null,
  late_corrections bigint not null check (late_corrections between 0 and corrections),
  late_corrected_pico numeric(38, 0) not null,
  carry_in_pico numeric(38, 0) not null check (carry_in_pico between 0 and 999999),
  carry_out_pico numeric(38, 0) not null check (carry_out_pico between 0 and 999999),
  rounding bigint not null check (rounding >= 0),
  payable bigint not null,
  closed_at timestamptz not null default now(),
  primary key (provider_id, start_at),
  unique (provider_id, end_at),
  unique nulls not distinct (provider_id, after_end_at),
  foreign key (provider_id, after_end_at) references provider_period (provider_id, end_at),
  check (start_at < end_at and after_end_at <= start_at),
  constraint period_owes_the_exact_sum
    check (carry_in_pico + cost_pico = payable::numeric * 1000000 + carry_out_pico),
  constraint period_is_covered check (debit + overrun + rounding = payable)
);

-- One model on one day of admission: the days are what retired days are compared with.
create table provider_period_line (
  provider_id text not null,
  start_at timestamptz not null,
  admitted_on date not null,
  model_id text not null,
  upstream_model_id text not null,
  attempts bigint not null,
  settled bigint not null,
  voids bigint not null,
  unknowns bigint not null,
  unknown_charge bigint not null,
  corrections bigint not null,
  resolved_charge bigint not null,
  prompt bigint not null,
  cached_prompt bigint not null,
  cache_write bigint not null,
  completion bigint not null,
  internal_reasoning bigint not null,
  cost_pico numeric(38, 0) not null,
  corrected_pico numeric(38, 0) not null,
  debit bigint not null,
  overrun bigint not null,
  check (attempts = settled + voids + unknowns),
  check (cost_pico >= corrected_pico and corrected_pico >= 0 and debit >= 0 and overrun >= 0),
  primary key (provider_id, start_at, admitted_on, model_id, upstream_model_id),
  foreign key (provider_id, start_at) references provider_period
);

-- Nothing that ended before this instant is left outside the provider's periods, so that closing
-- need not search there again.
create table provider_progress (
  provider_id text primary key,
  through timestamptz not null
);

create table provider_payment (
  provider_id text not null,
  start_at timestamptz not null,
  ref text not null unique,
  paid_at timestamptz not null default now(),
  primary key (provider_id, start_at),
  foreign key (provider_id, start_at) references provider_period
);

-- What a provider's own statement says, compared with ours; once per file.
create table provider_statement (
  statement_id bigint generated always as identity primary key,
  provider_id text not null,
  start_at timestamptz not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  their_pico numeric(38, 0) not null,
  our_pico numeric(38, 0) not null,
  difference_pico numeric(38, 0) not null generated always as (their_pico - our_pico) stored,
  compared integer,
  differing integer,
  only_theirs integer,
  only_ours integer,
  unknown_claimed integer,
  recorded_at timestamptz not null default now(),
  unique (provider_id, start_at, sha256),
  foreign key (provider_id, start_at) references provider_period,
  check (num_nulls(compared, differing, only_theirs, only_ours, unknown_claimed) in (0, 5))
);
