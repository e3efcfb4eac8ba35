-- Tables of the features: video jobs, purchases, optimize searches, sums for reports.

-- Jobs of providers that outlive a request. Their attempts may be retired: no key refers to them.
create table video_job (
  job_id text primary key,
  org_id text not null references org,
  key_id text not null references api_key,
  request_id uuid not null,
  attempt_id bigint not null unique,
  model_id text not null,
  provider_id text not null,
  deployment_id text not null,
  connection_id text,
  provider_job_id text not null,
  reserve bigint not null check (reserve >= 0),
  seconds integer not null check (seconds > 0),
  options jsonb not null,
  state text not null check (state in ('queued', 'in_progress', 'completed', 'failed')),
  progress smallint not null check (progress between 0 and 100),
  started_at timestamptz not null,
  created_at timestamptz not null,
  completed_at timestamptz,
  expires_at timestamptz,
  error_code text,
  -- What the provider reports that it cost, whoever pays for it.
  reported_cost_pico numeric,
  debit bigint,
  deadline_at timestamptz not null,
  polled_at timestamptz,
  next_poll_at timestamptz not null,
  lease_until timestamptz,
  polls integer not null,
  poll_failures integer not null,
  missing_polls integer not null,
  missing_at timestamptz,
  check ((state in ('completed', 'failed')) = (completed_at is not null)),
  check ((state = 'failed') = (error_code is not null)),
  check ((debit is null) = (completed_at is null)),
  check (state <> 'completed' or progress = 100),
  check (state = 'completed' or progress < 100)
);
create index video_job_due on video_job (next_poll_at) where completed_at is null;
create index video_job_by_org on video_job (org_id, created_at);

-- Purchases, and what payers and their banks took back.
create table purchase (
  purchase_id text primary key,
  org_id text not null references org,
  micro_usd bigint not null check (micro_usd > 0),
  cents bigint not null,
  state text not null default 'created'
    check (state in ('created', 'pending', 'failed', 'expired', 'parked', 'granted')),
  is_test_money boolean not null,
  session_id text unique,
  payment_id text unique,
  receipt_url text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  checked_at timestamptz,
  granted_at timestamptz,
  check ((state = 'granted') = (granted_at is not null)),
  constraint purchase_is_of_whole_cents check (micro_usd = cents * 10000)
);
create index purchase_by_org on purchase (org_id, created_at);
create index purchase_undecided on purchase (checked_at nulls first, created_at)
  where state in ('created', 'pending');
create index purchase_without_receipt on purchase (checked_at nulls first, granted_at)
  where state = 'granted' and receipt_url is null;
create index purchase_with_test_money on purchase (org_id)
  where state = 'granted' and is_test_money;

-- A refund or a dispute. It may arrive before the grant of its purchase: then it waits. taken and
-- given_back are what its arrival and its end moved, null while they moved nothing yet.
create table purchase_claim (
  claim_id text primary key,
  purchase_id text not null references purchase,
  kind text not null check (kind in ('refund', 'dispute')),
  micro_usd bigint not null check (micro_usd > 0),
  is_reversed boolean not null,
  is_over boolean not null,
  taken bigint check (taken >= 0),
  given_back bigint check (given_back >= 0),
  checked_at timestamptz,
  created_at timestamptz not null default now(),
  check (is_over or not is_reversed),
  check (given_back is null or (is_reversed and taken is not null))
);
create index purchase_claim_by_purchase on purchase_claim (purchase_id);
create index purchase_claim_open on purchase_claim (checked_at nulls first, claim_id)
  where not is_over;

-- Events that were processed: they save work, and nothing depends on them.
create table payment_event (
  event_id text primary key,
  kind text not null,
  done_at timestamptz not null default now()
);
create index payment_event_by_time on payment_event (done_at);

-- Periodic work that one process at a time does, and when it is due next.
create table billing_schedule (
  name text primary key,
  next_at timestamptz not null
);

-- Searches for the best model: what was found, and never a prompt or an answer.
create table optimize_search (
  search_id text primary key,
  org_id text not null references org,
  key_id text not null unique references api_key,
  name text not null,
  objective text not null check (objective in ('lowest_cost', 'fastest', 'best_judged')),
  judge_model_id text,
  model_ids text[] not null,
  prompts integer not null check (prompts > 0),
  budget bigint not null check (budget > 0),
  state text not null default 'running' check (state in
    ('running', 'finished', 'stopped', 'over_budget', 'interrupted', 'failed')),
  message text,
  calls_done integer not null default 0,
  calls_planned integer not null,
  results jsonb not null default '[]',
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  lease_until timestamptz not null,
  check ((state = 'running') = (ended_at is null))
);
create index optimize_search_by_org on optimize_search (org_id, created_at);
create index optimize_search_running on optimize_search (lease_until) where state = 'running';

-- Sums for the console. Finished days are summed up once per organization, so that a month is read
-- from a few thousand rows. The sums add nothing to the journal: without them every report is the
-- same. This table has the days of the journal whose partition notes every change to it.
create table usage_day (
  day date primary key,
  is_done boolean not null default false
);

-- An organization's attempts of a day are summed up in usage_sum.
create table usage_rolled (
  org_id text not null,
  day date not null,
  debit bigint not null,
  primary key (org_id, day)
);

-- Whole requests, by the day of their attempts and by what a report may ask for. The request's own
-- day is the one its id carries, which another clock may have made.
create table usage_sum (
  org_id text not null,
  day date not null,
  request_day date not null,
  model_id text not null,
  key_id text not null,
  provider_id text not null,
  status text not null,
  requests bigint not null,
  debit bigint not null,
  prompt bigint not null,
  cached_prompt bigint not null,
  cache_write bigint not null,
  completion bigint not null,
  internal_reasoning bigint not null,
  last_attempt_id bigint not null,
  -- How many first bytes came in which span of milliseconds.
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  primary key (org_id, day, request_day, model_id, key_id, provider_id, status)
);
create index usage_sum_by_key on usage_sum (org_id, key_id, day);

-- Requests that are in no sum, because a day does not hold them whole: they are few, and read from
-- the journal.
create table usage_unrolled (
  org_id text not null,
  request_id uuid not null,
  day date not null,
  primary key (org_id, request_id, day)
);
create index usage_unrolled_by_day on usage_unrolled (org_id, day);

-- Something changed in a summed day. Rows are only added, and removed by the process that sums up
-- and sees the changes they note: a change and its note are committed together.
create table usage_stale (
  org_id text not null,
  day date not null,
  note_id bigint generated always as identity
);
create index usage_stale_by_org on usage_stale (org_id, day);
