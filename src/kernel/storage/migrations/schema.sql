-- The tables, by subject; functions.sql has the functions, the triggers and the first partitions.
--
-- Amounts are whole micro-dollars, those named `_pico` pico-dollars. A `position` is a step of the
-- books: of one organization the numbers grow in the order of the commits. A month is its first day,
-- a day is of UTC.

-- == Organizations, their keys, and what they set ==

-- A customer. Everything that is paid, limited or read belongs to one.
create table org (
  org_id text primary key,
  name text not null,
  email text not null,
  email_verified boolean not null,
  cap_micro_usd bigint check (cap_micro_usd > 0),
  keys_may_set_org_limits boolean not null default false,
  -- When it first had any credit, and when it first had credit that was bought.
  funded_at timestamptz,
  bought_at timestamptz,
  created_at timestamptz not null default now()
);
create index org_by_email on org (lower(btrim(email)));

-- A virtual key. Its secret is kept as a SHA-256 only.
create table api_key (
  key_id text primary key,
  org_id text not null references org,
  digest bytea not null unique check (octet_length(digest) = 32),
  label text not null,
  name text not null,
  origin text not null
    check (origin in ('trial', 'console', 'identity', 'playground', 'optimize')),
  rpm_ceiling integer not null check (rpm_ceiling > 0),
  rpm integer check (rpm > 0 and rpm <= rpm_ceiling),
  cap_micro_usd bigint check (cap_micro_usd > 0),
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  -- From when on it is refused; null: never.
  expires_at timestamptz,
  -- The ids of the models that it may call; null: all.
  models text[],
  -- Caps by the UTC day and by the week, which begins on Monday, beside the monthly one.
  cap_day_micro_usd bigint check (cap_day_micro_usd > 0),
  cap_week_micro_usd bigint check (cap_week_micro_usd > 0),
  tags text[],
  -- The text that it had before it was rotated, and until when that works too.
  old_digest bytea unique check (octet_length(old_digest) = 32),
  old_until timestamptz,
  check ((old_digest is null) = (old_until is null))
);
create index api_key_by_org on api_key (org_id, created_at);
-- One, when several tabs finish the first sign-in at once.
create unique index one_trial_key_per_org on api_key (org_id) where origin = 'trial';
create unique index one_playground_key on api_key (org_id)
  where origin = 'playground' and disabled_at is null;

-- The limits that an organization or its contract sets.
create table limit_override (
  org_id text not null references org,
  scope text not null check (scope in ('org', 'key', 'model')),
  key_id text references api_key,
  model_id text,
  rpm integer check (rpm > 0),
  tpm integer check (tpm > 0),
  concurrency integer check (concurrency > 0),
  source text not null check (source in ('self', 'contract')),
  unique nulls not distinct (org_id, scope, key_id, model_id, source)
);

-- Endpoints that serve one organization alone, with the limits of the pool behind them.
create table dedicated_endpoint (
  endpoint_id text primary key,
  org_id text not null references org,
  provider_id text not null,
  rps integer check (rps > 0),
  paced_per_second double precision check (paced_per_second > 0),
  queue_ms_max integer check (queue_ms_max >= 0),
  rpm integer check (rpm > 0),
  tpm integer check (tpm > 0),
  concurrency integer check (concurrency > 0),
  created_at timestamptz not null default now(),
  removed_at timestamptz,
  check ((paced_per_second is null) = (queue_ms_max is null))
);
create unique index one_endpoint_per_manifest on dedicated_endpoint (provider_id)
  where removed_at is null;
create index dedicated_endpoint_by_org on dedicated_endpoint (org_id) where removed_at is null;

-- Which providers an organization allows, and how long a call of it may take.
create table routing_policy (
  org_id text primary key references org,
  timeout_ms integer check (timeout_ms > 0),
  only_providers text[],
  ignore_providers text[],
  prompt_logging text check (prompt_logging = 'none'),
  updated_at timestamptz not null default now()
);

-- Customer-provided keys of providers.
create table connection (
  connection_id text primary key,
  org_id text not null references org,
  key_id text references api_key,
  provider_id text not null,
  name text not null,
  label text not null,
  sealed_key bytea not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);
create unique index one_connection_per_provider
  on connection (org_id, provider_id, key_id) nulls not distinct where disabled_at is null;

-- Limits and restrictions after unusual use.
create table usage_hold (
  hold_id bigint generated always as identity primary key,
  org_id text not null references org,
  family text not null check (family in ('chat', 'images', 'videos', 'decisions')),
  state text not null check (state in ('limited', 'restricted')),
  reason text not null,
  created_at timestamptz not null default now(),
  until_at timestamptz,
  lifted_at timestamptz,
  check ((state = 'limited') = (until_at is not null))
);
create index usage_hold_by_org on usage_hold (org_id, family) where lifted_at is null;

-- == People and their browsers ==

-- A secret that opens something (cookie, link, code) is kept as its SHA-256; what is needed in the
-- clear again is sealed under a key that is not in the database.

-- A person, with an organization of its own.
create table console_account (
  account_id text primary key,
  org_id text not null unique references org,
  email text not null,
  email_norm text not null,
  email_verified_at timestamptz,
  name text,
  created_at timestamptz not null,
  -- Set: invited before the first sign-in, so that its own organization has no trial key yet.
  trial_deferred_at timestamptz
);
create unique index one_account_per_verified_email on console_account (email_norm)
  where email_verified_at is not null;

-- The people who may sign in to an account: subjects of identity providers.
create table console_identity (
  issuer text not null,
  subject text not null,
  account_id text not null references console_account,
  linked_at timestamptz not null,
  primary key (issuer, subject)
);
create index console_identity_by_account on console_identity (account_id);

-- A browser that is signed in, by the SHA-256 of its cookie.
create table console_session (
  session_id bytea primary key check (octet_length(session_id) = 32),
  account_id text not null references console_account,
  issuer text not null,
  subject text not null,
  idp_sid text,
  started_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > started_at),
  last_seen_at timestamptz not null,
  -- When the identity provider last confirmed its session, and when it was last asked.
  idp_checked_at timestamptz not null,
  idp_tried_at timestamptz not null,
  -- Since when the browser, in use, has been expected to ask for a confirmation.
  recheck_asked_at timestamptz,
  user_agent text,
  ended_at timestamptz,
  ended_reason text check (ended_reason in ('signed-out', 'idp-ended')),
  -- The organization that it looks at; null: the account's own.
  org_id text,
  check ((ended_at is null) = (ended_reason is null))
);
create index console_session_by_account on console_session (account_id);
create index console_session_by_identity on console_session (issuer, subject)
  where ended_at is null;
create index console_session_by_end on console_session (expires_at);

-- A first key that its owner has not saved yet, sealed.
create table console_reveal (
  session_id bytea primary key references console_session on delete cascade,
  sealed_key bytea not null,
  label text not null,
  name text not null,
  expires_at timestamptz not null,
  -- When it was shown first: until its owner says that it is saved, it can be shown again.
  shown_at timestamptz
);

-- Seals sign-ins under way in the cookie of their browser: made here once, so that every instance
-- has the same.
create table console_secret (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (octet_length(secret) = 32)
);
-- 244 random bits.
insert into console_secret (secret)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

-- Where a running instance has its console: a command beside it prints links that lead there. A line
-- counts as long as the lease of its instance does.
create table console_address (
  instance_id text primary key,
  url text not null
);

-- Tokens of log-outs by the identity provider: each counts once.
create table seen_logout_token (
  issuer text not null,
  token_id text not null,
  expires_at timestamptz not null,
  primary key (issuer, token_id)
);

-- The members of an organization and their roles. An account is always a member of its own one.
create table org_member (
  org_id text not null references org,
  account_id text not null references console_account on delete cascade,
  role text not null check (role in ('owner', 'developer', 'billing', 'viewer')),
  joined_at timestamptz not null default now(),
  primary key (org_id, account_id)
);
create index org_member_by_account on org_member (account_id);

-- The people who are invited, by e-mail.
create table org_invitation (
  invitation_id text primary key,
  org_id text not null references org,
  email text not null,
  email_norm text not null,
  role text not null check (role in ('owner', 'developer', 'billing', 'viewer')),
  -- SHA-256 of the token in the link; a link that is made anew replaces it.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- E-mails of it that were sent, and when the last one was.
  mails integer not null default 0,
  mailed_at timestamptz,
  ended_at timestamptz,
  ended_reason text check (ended_reason in ('accepted', 'revoked')),
  check ((ended_at is null) = (ended_reason is null))
);
create unique index one_open_invitation on org_invitation (org_id, email_norm)
  where ended_at is null;
create index org_invitation_by_address on org_invitation (email_norm);
create index org_invitation_by_end on org_invitation (expires_at);

-- E-mails with an invitation of the whole installation in one hour since 1970.
create table invitation_hour (
  is_only boolean primary key default true check (is_only),
  hour bigint not null default 0,
  mails bigint not null default 0
);
insert into invitation_hour default values;

-- One-time links that sign a browser in, on a machine without an identity provider.
create table local_claim (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  email text,
  expires_at timestamptz not null
);

-- == The books ==

-- Wallets of organizations (`wallet:<org>`), and accounts of the platform: `accrual:<provider>` is what
-- a provider is owed, `unknown:<provider>` what was charged after a crash, `grants`, `overrun`,
-- `margin:<provider>`, `receivable:<org>`, `rounding`, `lost` and those of cash the other sides.
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

-- A step takes its number while it holds the wallets it touches. Those of a month begin at a number
-- that the month has (`month_position`): the sequence is moved there once the month has come.
create sequence ledger_position;

-- The movements between two accounts: by an attempt, or by something that happens once and has a
-- reference. One partition for each month, by position. Rows are only inserted.
create sequence transfer_number;
create table transfer (
  transfer_id bigint not null default nextval('transfer_number'),
  position bigint not null,
  attempt_id bigint,
  kind text not null,
  debit_account text not null,
  credit_account text not null,
  amount bigint not null check (amount > 0),
  ref text,
  at timestamptz not null default now(),
  check (debit_account <> credit_account),
  check ((attempt_id is null) <> (ref is null))
) partition by range (position);
alter sequence transfer_number owned by transfer.transfer_id;

-- References that are used: each once, in all months together.
create table transfer_ref (ref text primary key);

-- Prices of a listing in pico-dollars per token, as an attempt was admitted with. Never changed.
create table price_pin (
  pin_id text primary key,
  provider_id text not null,
  model_id text not null,
  prompt_pico numeric(38, 0) not null,
  cached_prompt_pico numeric(38, 0) not null,
  cache_write_pico numeric(38, 0) not null,
  completion_pico numeric(38, 0) not null,
  internal_reasoning_pico numeric(38, 0) not null,
  first_used_at timestamptz not null default now(),
  cache_write_1h_pico numeric(38, 0),
  -- The prices at which the provider of these is owed; null: the same.
  purchase_pin_id text references price_pin
);

-- The prices that a pin stands for, by the size of the prompt: a listing with tiers has a sheet for
-- each, and every other one the sheet that is the pin itself. An attempt refers to the pin that it
-- was admitted with, and its tokens say by which sheet it was settled. A pin without a sheet is of a
-- listing that reports its own cost.
create table price_sheet (
  pin_id text not null references price_pin,
  -- Prompt, cached and written tokens together: the sheet is for more than these. 0: for any.
  above_prompt_tokens bigint not null check (above_prompt_tokens >= 0),
  sheet_pin_id text not null references price_pin,
  primary key (pin_id, above_prompt_tokens)
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
  lease_until timestamptz not null,
  -- Each renewal leaves a mark that only its own instance writes. An earlier mark than the one
  -- that was acknowledged says that commits were lost.
  token uuid,
  beat bigint not null default 0
) with (fillfactor = 50);

-- The attempts in flight: a row from its commit to its end, which takes it away and writes the
-- finished attempt in one transaction.
create table hold (
  attempt_id bigint primary key,
  request_id uuid not null,
  ordinal smallint not null,
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
  reserve bigint not null,
  month date not null,
  resumable boolean not null default false,
  provider_job_id text,
  -- No hold: it keeps the id from a reserve whose answer was lost and that may commit later.
  annulled boolean not null default false,
  opened_position bigint not null,
  created_at timestamptz not null default now(),
  constraint hold_is_sound check (ordinal > 0 and reserve >= 0 and (not annulled or reserve = 0)
    and resumable = (provider_job_id is not null))
) with (
  -- A row lives as long as its request: many die, few are there.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 100000, autovacuum_vacuum_cost_delay = 0
);

-- The use and the cost of several attempts of one request together.
create type attempt_sums as (
  attempts bigint, prompt bigint, cached_prompt bigint, cache_write bigint, completion bigint,
  internal_reasoning bigint, cost_pico numeric, debit bigint, duration_ms bigint,
  cache_write_1h bigint
);

-- The journal: finished attempts, one partition per day, which the id carries. A row is written once;
-- only the one late correction changes it, and which one of a request is the last.
--
-- A request is a row, too: the last of its finished attempts, by number and id, is `final` and has the
-- sums of the others in `earlier`. Its own columns and these are the request's figures. Most requests
-- are one attempt, which is final as it is written, with nothing earlier: such a request costs no row,
-- no index and no statement of its own. While another attempt of it is open, a request is in flight.
create table attempt (
  attempt_id bigint primary key,
  request_id uuid not null,
  ordinal smallint not null,
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
  reserve bigint not null,
  month date not null,
  state text not null,
  resumable boolean not null default false,
  provider_job_id text,
  outcome text,
  basis text,
  prompt bigint,
  cached_prompt bigint,
  cache_write bigint,
  completion bigint,
  internal_reasoning bigint,
  cost_pico numeric(38, 0),
  debit bigint not null default 0,
  overrun bigint not null default 0,
  upstream_status smallint,
  error_class text,
  -- The model that the provider reported, and whether the listing does not allow it.
  served_model text,
  substituted boolean,
  final boolean not null default false,
  earlier attempt_sums,
  started_at timestamptz,
  first_byte_ms integer,
  duration_ms integer,
  opened_position bigint not null,
  closed_position bigint not null,
  corrected_position bigint,
  created_at timestamptz not null default now(),
  closed_at timestamptz not null,
  corrected_at timestamptz,
  cache_write_1h bigint,
  -- The debt to the provider where it is not the cost; null: the cost.
  owed_pico numeric(38, 0),
  -- These were said by the headers of the answer and by nothing else in the row; null: it was not sent.
  remaining_rpm bigint,
  remaining_tpm bigint,
  queue_ms integer,
  retry_after integer,
  -- With commas between the names, as in the header.
  dropped_params text,
  -- One rule: a batch reads the text of each rule, each time.
  constraint attempt_is_sound check (
    state in ('settled', 'void', 'unknown_after_crash')
    and debit between 0 and reserve and overrun >= 0 and (cost_pico is null or cost_pico >= 0)
    and (state <> 'void' or debit = 0)
    and (state <> 'unknown_after_crash' or debit = reserve or corrected_at is not null)
    and (corrected_at is null) = (corrected_position is null)
    and (corrected_at is null or state = 'unknown_after_crash'))
) partition by range (attempt_id);
create index attempt_by_org_request on attempt (org_id, request_id);
-- Settlement reads by the time of the end, the journal is ordered by admission. These find the
-- blocks to read and cost a batch next to nothing; the expression keeps them out of its plans.
create index attempt_by_closing on attempt using brin ((closed_at at time zone 'utc'))
  with (autosummarize = on);
create index attempt_by_correction on attempt (corrected_at) where corrected_at is not null;
-- The log of requests that failed reads those alone, however many succeeded between them. Few attempts
-- are in it, so that it costs a batch nearly nothing.
create index attempt_by_org_failed on attempt (org_id, request_id)
  where outcome is distinct from 'completed';

-- Every attempt there is: the finished ones, and the holds as open ones.
create view journal as
select attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id, upstream_model_id,
  price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve, month, state,
  resumable, provider_job_id, outcome, basis, prompt, cached_prompt, cache_write, completion,
  internal_reasoning, cost_pico, debit, overrun, upstream_status, error_class, served_model,
  substituted, final, started_at, first_byte_ms, duration_ms, opened_position, closed_position,
  corrected_position, created_at, closed_at, corrected_at, cache_write_1h, owed_pico,
  remaining_rpm, remaining_tpm, queue_ms, retry_after, dropped_params
from attempt
union all
select attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id, upstream_model_id,
  price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve, month, 'open',
  resumable, provider_job_id, null, null, null::bigint, null::bigint, null::bigint, null::bigint,
  null::bigint, null::numeric(38, 0), 0::bigint, 0::bigint, null::smallint, null, null,
  null::boolean, false, null::timestamptz, null::integer, null::integer, opened_position,
  null::bigint, null::bigint, created_at, null::timestamptz, null::timestamptz, null::bigint,
  null::numeric(38, 0), null::bigint, null::bigint, null::integer, null::integer, null
from hold where not annulled;

-- Spend per UTC month of admission. In-flight holds count against the cap of every month.
create table spend (
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null default 0 check (settled >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  primary key (scope, id, month)
) with (fillfactor = 50);

-- The settled spend of a key, by the UTC day of admission. A row that is there is exact. Rows of
-- earlier weeks are of no use to a cap, and keys without such a cap have none.
create table spend_day (
  key_id text not null,
  day date not null,
  settled bigint not null default 0 check (settled >= 0),
  primary key (key_id, day)
) with (fillfactor = 50);

-- Every monthly cap that an organization or a key ever had, in the books' own order.
create table cap_change (
  position bigint primary key,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  org_id text not null,
  cap_micro_usd bigint,
  at timestamptz not null default now()
);

-- Every cap of a day or a week that a key ever had, as `cap_change` has those of a month.
create table period_cap_change (
  position bigint not null,
  period text not null check (period in ('day', 'week')),
  key_id text not null,
  org_id text not null,
  cap_micro_usd bigint,
  at timestamptz not null default now(),
  primary key (position, period)
);

-- == Refused requests ==

-- A request refused before its first attempt: its id can be queried, and it owes nothing.
create table refused_request (
  request_id uuid primary key,
  org_id text not null,
  key_id text not null,
  model_id text,
  route text not null,
  stream boolean not null,
  error_class text not null,
  created_at timestamptz not null,
  -- Which limit, in which figures, and what was dropped. Amounts are texts of dollars.
  reason jsonb
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

-- == What left the journal, and proofs ==

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
  retired_at timestamptz not null default now(),
  owed_pico numeric(38, 0)
);

-- The settled spend of organizations and keys in retired days, by month of admission.
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

-- The settled spend of keys by the day of admission, in days that left the journal while they were
-- of use to a cap.
create table retired_spend_day (
  retired date not null references retired_day,
  key_id text not null,
  day date not null,
  settled bigint not null,
  primary key (retired, key_id, day)
);

-- Where the next audit may begin: the balances at a position of the books, proven and signed.
create table audit_checkpoint (
  day date primary key,
  -- The steps up to this one are summed up here.
  position bigint not null,
  -- Attempts that ended after that position have this id or a later one, unless they were
  -- corrected.
  from_attempt bigint not null,
  -- The text that was signed; it has the digest of the rows below and of the checkpoint before.
  document text not null,
  signature bytea not null,
  made_at timestamptz not null default now()
);

-- Every account that ever moved, as it was at the position: sums of transfers, without holds.
create table audit_checkpoint_account (
  day date not null,
  account_id text not null,
  debits bigint not null,
  credits bigint not null,
  primary key (day, account_id)
);

-- The spend between the checkpoint before and this one, in months of admission.
create table audit_checkpoint_spend (
  day date not null,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null,
  primary key (day, scope, id, month)
);
create index audit_checkpoint_spend_by_month on audit_checkpoint_spend (month);

-- The end of the last audit of the books, for who watches them: one row, the newest.
create table audit_result (
  only_row boolean primary key default true check (only_row),
  ended_at timestamptz not null,
  violations bigint not null check (violations >= 0)
);

-- == Books that went back ==

-- Every time the books were reopened after a restore: the first life has no row.
create table ledger_life (
  life integer primary key check (life > 1),
  restored_to timestamptz not null,
  -- An attempt whose id is of this time, and that is in no journal, was lost.
  lost_from timestamptz not null,
  lost_until timestamptz not null,
  is_nothing_lost boolean not null,
  open_attempts text not null check (open_attempts in ('void', 'charge', 'kept')),
  reason text not null,
  reopened_at timestamptz not null default clock_timestamp(),
  check (lost_from <= lost_until)
);

-- An instance noticed that the books went back. Until they are reopened no instance takes traffic.
create table books_alarm (
  alarm_id bigint generated always as identity primary key,
  noticed_at timestamptz not null default clock_timestamp(),
  instance_id text not null,
  finding text not null,
  -- The newest commit of before that is still there.
  restored_to timestamptz not null,
  ended_in_life integer references ledger_life
);
create unique index one_open_alarm on books_alarm ((true)) where ended_in_life is null;

-- The claims of a provider for attempts that the books have lost: owed to it, and paid by no
-- customer.
create table lost_cost (
  ref text primary key,
  life integer not null references ledger_life,
  provider_id text not null,
  model_id text not null,
  upstream_model_id text not null,
  -- An id of its time: the attempt's own where the claim names one.
  attempt_id bigint not null,
  ended_at timestamptz not null,
  -- Attempts or requests in it.
  claims bigint not null check (claims >= 0),
  cost_pico numeric(38, 0) not null check (cost_pico >= 0),
  amount bigint not null check (amount = div(cost_pico, 1000000)),
  recorded_at timestamptz not null default clock_timestamp()
);
create index lost_cost_by_end on lost_cost (provider_id, ended_at);

-- == Settlement with providers ==

-- Everything before this instant is settled with the providers: nothing is closed there any more.
create table settlement_horizon (
  only_row boolean primary key default true check (only_row),
  through timestamptz not null
);
insert into settlement_horizon (through) values ('-infinity');

-- The periods of a provider are one chain: each names the end of the one before, which no other
-- names, and begins there or later. So they cannot overlap, whichever process writes them. What a
-- period costs is what the provider is owed, with what the books have lost.
create table provider_period (
  provider_id text not null,
  start_at timestamptz not null,
  end_at timestamptz not null,
  after_end_at timestamptz,
  mode text not null check (mode in ('prepaid', 'arrears')),
  every text not null check (every in ('half_daily', 'daily', 'weekly', 'monthly')),
  -- The number of closings and corrections in the period; the same in its lines.
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
  cache_write_1h bigint not null default 0,
  margin bigint not null default 0,
  lost_claims bigint not null default 0,
  lost_pico numeric(38, 0) not null default 0,
  lost bigint not null default 0,
  primary key (provider_id, start_at),
  unique (provider_id, end_at),
  unique nulls not distinct (provider_id, after_end_at),
  foreign key (provider_id, after_end_at) references provider_period (provider_id, end_at),
  check (start_at < end_at and after_end_at <= start_at),
  constraint period_owes_the_exact_sum
    check (carry_in_pico + cost_pico = payable::numeric * 1000000 + carry_out_pico),
  constraint period_is_covered check (debit + overrun + lost - margin + rounding = payable and lost >= 0)
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
  cache_write_1h bigint not null default 0,
  margin bigint not null default 0,
  lost_claims bigint not null default 0,
  lost_pico numeric(38, 0) not null default 0,
  lost bigint not null default 0,
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

-- Periods that were paid.
create table provider_payment (
  provider_id text not null,
  start_at timestamptz not null,
  ref text not null unique,
  paid_at timestamptz not null default now(),
  primary key (provider_id, start_at),
  foreign key (provider_id, start_at) references provider_period
);

-- A provider's own statement, compared with ours; once per file.
create table provider_statement (
  statement_id bigint generated always as identity primary key,
  provider_id text not null,
  start_at timestamptz not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  their_pico numeric(38, 0) not null,
  our_pico numeric(38, 0) not null,
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

-- == Credit for money ==

-- The last number of each series of receipts: one of an issuer, and another of its test money.
create table receipt_series (
  series text primary key,
  last bigint not null check (last > 0)
);

-- Purchases, and what payers and their banks took back. A receipt is given in the transaction of the
-- grant, with the next number of its series and the parties as they are then.
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
  -- As a person reads it: `Visa 4242`. Null: not known yet.
  payment_method text check (length(payment_method) <= 60),
  receipt_series text references receipt_series,
  receipt_number bigint check (receipt_number > 0),
  buyer jsonb,
  seller jsonb,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  checked_at timestamptz,
  granted_at timestamptz,
  check ((state = 'granted') = (granted_at is not null)),
  unique (receipt_series, receipt_number),
  constraint purchase_has_its_receipt check (num_nulls(receipt_series, receipt_number, buyer, seller)
    = case when granted_at is null then 4 else 0 end),
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

-- The customer of an organization at the payment provider, with its saved card. Test money and real
-- money have customers of their own: they are of different accounts.
create table payment_customer (
  org_id text not null references org,
  is_test_money boolean not null,
  customer_id text not null,
  card_id text,
  card_brand text,
  card_last4 text,
  card_exp_month smallint,
  card_exp_year smallint,
  card_saved_at timestamptz,
  -- When the checkout was opened that the newest card came from: what is reported again of it, or of
  -- an older one, does not bring a card back that was removed.
  card_from timestamptz,
  -- A checkout for a card whose end was not reported yet.
  setup_session_id text,
  primary key (org_id, is_test_money),
  check (num_nulls(card_id, card_brand, card_last4, card_exp_month, card_exp_year, card_saved_at) in (0, 6))
);

-- Cards that are charged no more and are still to be detached at the payment provider.
create table card_detachment (
  card_id text primary key,
  org_id text not null references org,
  is_test_money boolean not null,
  since timestamptz not null default now(),
  tried_at timestamptz
);

-- Automatic top-up: at which balance how much is bought, and how much in a month at most.
create table top_up_rule (
  org_id text primary key references org,
  is_on boolean not null,
  below bigint not null check (below > 0),
  amount bigint not null check (amount > 0 and amount % 10000 = 0),
  month_max bigint not null check (month_max >= amount),
  -- Set: it was turned off by a failed charge or by an operator, until a person turns it on.
  paused_at timestamptz,
  paused_reason text,
  check ((paused_at is null) = (paused_reason is null)),
  check (not is_on or paused_at is null)
);
create index top_up_rule_on on top_up_rule (org_id) where is_on;
create index top_up_rule_paused on top_up_rule (paused_at) where paused_at is not null;

-- The purchases that a rule made. Customer and card are kept so that a charge that is sent again is
-- the same charge.
create table top_up (
  purchase_id text primary key references purchase,
  org_id text not null references org,
  micro_usd bigint not null check (micro_usd > 0),
  customer_id text not null,
  card_id text not null,
  created_at timestamptz not null,
  checked_at timestamptz,
  failure text
);
create index top_up_by_org on top_up (org_id, created_at);
create index top_up_by_time on top_up (created_at);

-- Company data, for statements and receipts.
create table org_company (
  org_id text primary key references org,
  legal_name text not null check (length(legal_name) between 1 and 200),
  address_lines text[] not null check (array_length(address_lines, 1) between 1 and 3),
  city text not null check (length(city) between 1 and 100),
  postal_code text not null check (length(postal_code) <= 20),
  country text not null check (country ~ '^[A-Z]{2}$'),
  tax_id_type text check (length(tax_id_type) <= 20),
  tax_id text check (length(tax_id) <= 40),
  billing_email text not null check (length(billing_email) <= 254),
  purchase_order text not null check (length(purchase_order) <= 30),
  changed_at timestamptz not null default now(),
  check ((tax_id is null) = (tax_id_type is null))
);

-- One for each month of an organization, made once. What it says is in `document`, whose hash is
-- kept, so that a changed text, and books that say something else by now, are noticed.
create sequence org_statement_number;
create table org_statement (
  org_id text not null references org,
  month date not null check (extract(day from month) = 1),
  number bigint not null unique default nextval('org_statement_number'),
  opening bigint not null,
  closing bigint not null,
  document text not null check (octet_length(document) <= 1000000),
  sha256 bytea not null check (octet_length(sha256) = 32),
  closed_at timestamptz not null default clock_timestamp(),
  primary key (org_id, month)
);
alter sequence org_statement_number owned by org_statement.number;

-- How far the statements of a month are closed in the background.
create table org_statement_pass (
  month date primary key check (extract(day from month) = 1),
  -- Organizations up to this one are done, in the order of their ids.
  after_org_id text not null default '',
  -- A statement could not be made: the pass begins once more.
  has_failed boolean not null default false,
  -- Until then it belongs to the process that took it, or it waits.
  until_at timestamptz not null default '-infinity',
  -- Every organization that had movement in the month has its statement.
  ended_at timestamptz
);

-- == Alerts ==

-- Which alerts an organization has chosen.
create table alert_rules (
  org_id text primary key references org on delete cascade,
  balance_below bigint check (balance_below > 0),
  -- Whether the threshold follows what was bought last.
  balance_follows boolean not null default false,
  cap_percents smallint[] not null default '{}'
    check (array_length(cap_percents, 1) <= 5 and 1 <= all (cap_percents) and 100 >= all (cap_percents)),
  -- Since when each of these is reported; null: it is not.
  purchases_since timestamptz,
  restrictions_since timestamptz,
  -- Since when expiring keys are reported; null: they are not.
  key_expiry_since timestamptz,
  -- Since when providers that fail most calls are reported; null: they are not.
  trouble_since timestamptz
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

-- The events that were noticed.
create table alert_event (
  event_id text primary key,
  org_id text not null references org,
  kind text not null,
  facts jsonb not null,
  -- The subject of an event that happens once.
  once text unique,
  at timestamptz not null default now()
);
create index alert_event_by_org on alert_event (org_id, at desc);
create index alert_event_by_time on alert_event (at);

-- Where alerts go: addresses and webhooks.
create table alert_destination (
  destination_id text primary key,
  org_id text not null references org on delete cascade,
  channel text not null
    constraint alert_destination_channel check (channel in ('email', 'webhook')),
  address text not null,
  created_at timestamptz not null default now(),
  -- Since when every delivery has failed.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text constraint alert_destination_disabled_reason
    check (disabled_reason in ('removed', 'failing', 'gone', 'paused', 'unconfirmed', 'stopped')),
  -- Of an address that its reader had to confirm: the link, until it is used, and when it expires.
  confirm_hash bytea unique,
  confirm_until timestamptz,
  -- Which events go there; null: all.
  kinds text[],
  -- Sealed by the encryption key of the installation; none of an e-mail address.
  sealed_secret bytea,
  -- The secret of before a rotation, and until when deliveries are signed by it too.
  former_secret bytea,
  former_until timestamptz,
  check ((disabled_at is null) = (disabled_reason is null)),
  constraint alert_destination_secret
    check (channel <> 'webhook' or sealed_secret is not null or disabled_reason = 'removed')
);
create unique index one_alert_destination on alert_destination (org_id, channel, address)
  where disabled_at is null;
create index alert_destination_removed on alert_destination (disabled_at)
  where disabled_reason = 'removed';

-- An event on its way to a destination.
create table alert_delivery (
  delivery_id bigint generated always as identity primary key,
  event_id text not null references alert_event on delete cascade,
  destination_id text not null references alert_destination,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  tries integer not null default 0,
  next_at timestamptz not null default now(),
  -- The answer to the last try: a status, or the reason why there was none.
  last_answer text,
  last_at timestamptz,
  -- The link of its newest e-mail that stops the alerts to its destination.
  stop_hash bytea unique,
  unique (event_id, destination_id)
);
create index alert_delivery_due on alert_delivery (next_at) where state = 'waiting';
create index alert_delivery_by_destination on alert_delivery (destination_id);

-- Tries under way: so many at once for each destination, whichever instance makes them.
create table alert_try (
  delivery_id bigint primary key references alert_delivery on delete cascade,
  destination_id text not null,
  tries integer not null,
  until_at timestamptz not null
);
create index alert_try_by_destination on alert_try (destination_id);

-- == Jobs and searches ==

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
  -- The cost by the provider's report, whoever pays for it.
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

-- == How far listings are trusted ==

-- The findings of conformance runs about each listing.
create table listing_verdict (
  verdict_id bigint generated always as identity primary key,
  provider_id text not null,
  model_id text not null,
  upstream_id text not null,
  manifest_sha256 text not null check (manifest_sha256 ~ '^[0-9a-f]{64}$'),
  verdict text not null check (verdict in ('pass', 'warn', 'fail', 'inconclusive')),
  checked_at timestamptz not null,
  recorded_at timestamptz not null default now(),
  source text not null check (source in ('run', 'import', 'watch')),
  -- [{"id", "status", "title", "message", "ms", "evidence"?}]
  checks json not null check (json_typeof(checks) = 'array'),
  unique (provider_id, model_id, manifest_sha256, checked_at)
);
create index listing_verdict_by_listing on listing_verdict (provider_id, model_id, checked_at desc);

-- Counted up by every transaction that records verdicts: processes read them again only after that.
create table verdict_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null
);
insert into verdict_version (version) values (0);

-- Listings that break their promises on live traffic.
create table suspect_listing (
  provider_id text not null,
  model_id text not null,
  since timestamptz not null default now(),
  -- How many answers of how many broke which promise: {"answers", "substituted", …}
  breaches jsonb not null,
  primary key (provider_id, model_id)
);

-- Runs of a scheduled conformance watch: when a listing was asked last, and what an interval has cost.
create table watched_run (
  run_id bigint generated always as identity primary key,
  provider_id text not null,
  model_id text not null,
  started_at timestamptz not null default now(),
  -- The most that it may cost: what a run counts as until it has ended.
  budget bigint not null check (budget >= 0),
  spent bigint check (spent >= 0),
  -- Null: it is under way, or its process died. 'ended': by the operator, so it does not count.
  outcome text check (outcome in ('recorded', 'unrecorded', 'ended')),
  check ((spent is null) = (outcome is null))
);
create index watched_run_by_listing on watched_run (provider_id, model_id, started_at desc);
create index watched_run_by_start on watched_run (started_at);

-- == Sums for reports ==

-- Sums for the console. Finished days are summed up once per organization, so that a month is read
-- from a few thousand rows. The sums add nothing to the journal: without them every report is the
-- same. This table has the days of the journal whose partition notes every change to it.
create table usage_day (
  day date primary key,
  is_done boolean not null default false,
  -- Whether what may be shown of it across organizations was written.
  is_published boolean not null default false
);

-- An organization's day is summed up in usage_sum and listing_day_sum.
create table usage_rolled (
  org_id text not null,
  day date not null,
  -- The debits of the day's attempts, also of those that are not a request's last.
  debit bigint not null,
  -- Requests of these sums that were refused as well, as the answer about their hold was lost.
  also_refused uuid[] not null,
  primary key (org_id, day)
);

-- Whole requests, by the day of their last attempt and by what a report may ask for. The request's own
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
  cache_write_1h bigint not null default 0,
  primary key (org_id, day, request_day, model_id, key_id, provider_id, status)
);
create index usage_sum_by_key on usage_sum (org_id, key_id, day);

-- Something changed in a summed day. Rows are only added, and removed by the process that sums up
-- and sees the changes they note: a change and its note are committed together.
create table usage_stale (
  org_id text not null,
  day date not null
);
create index usage_stale_by_org on usage_stale (org_id, day);

-- How well listings served, for a month, made from finished attempts. By the time of admission, which
-- the id of an attempt carries. Attempts that neither succeeded nor
-- failed by the provider's fault are in `attempts` alone. Hours are bits, that of midnight the lowest:
-- of those with calls, and of those in which a call succeeded.
create table listing_day_sum (
  org_id text not null,
  day date not null,
  provider_id text not null,
  model_id text not null,
  attempts bigint not null,
  succeeded bigint not null,
  failed bigint not null,
  used_hours integer not null,
  up_hours integer not null,
  -- Streamed answers that arrived: their tokens, and the time from the first byte to the last.
  streamed bigint not null,
  streamed_tokens bigint not null,
  streamed_ms bigint not null,
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  -- Whole requests that ended here, those of them that failed, and money: debits, what was left of
  -- them, and of how many attempts too little was, and how much too little.
  requests bigint not null default 0,
  failed_requests bigint not null default 0,
  debit bigint not null default 0,
  margin bigint not null default 0,
  losses bigint not null default 0,
  lost bigint not null default 0,
  primary key (org_id, day, provider_id, model_id),
  check (succeeded + failed <= attempts and streamed <= succeeded),
  check (up_hours & used_hours = up_hours)
);
create index listing_day_sum_by_day on listing_day_sum (day);

-- The same by the hour, for two days.
create table listing_hour_sum (
  org_id text not null,
  hour timestamptz not null,
  provider_id text not null,
  model_id text not null,
  attempts bigint not null,
  succeeded bigint not null,
  failed bigint not null,
  streamed bigint not null,
  streamed_tokens bigint not null,
  streamed_ms bigint not null,
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  -- Whole requests that ended here, those of them that failed, and money: debits, what was left of
  -- them, and of how many attempts too little was, and how much too little.
  requests bigint not null default 0,
  failed_requests bigint not null default 0,
  debit bigint not null default 0,
  margin bigint not null default 0,
  losses bigint not null default 0,
  lost bigint not null default 0,
  primary key (org_id, hour, provider_id, model_id),
  check (succeeded + failed <= attempts and streamed <= succeeded)
);
create index listing_hour_sum_by_hour on listing_hour_sum (hour);

-- Hours that were summed up for all organizations, and when.
create table listing_hour (
  hour timestamptz primary key,
  folded_at timestamptz not null
);

-- Days that may be shown across organizations. A row is written once, after the day, and never again,
-- so that two readings of it cannot be subtracted from one another.
create table listing_public_day (
  provider_id text not null,
  model_id text not null,
  day date not null,
  succeeded bigint not null,
  failed bigint not null,
  used_hours integer not null,
  up_hours integer not null,
  -- Zero where too few organizations streamed.
  streamed bigint not null,
  streamed_tokens bigint not null,
  streamed_ms bigint not null,
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  primary key (provider_id, model_id, day)
);
create index listing_public_day_by_day on listing_public_day (day);

-- == The change log ==

-- One row for each change, inserted in the transaction of the change.
create sequence change_position;
create table change (
  position bigint primary key,
  at timestamptz not null,
  actor_kind text not null
    check (actor_kind in ('operator', 'account', 'key', 'provider_news', 'gateway')),
  actor_id text not null check (length(actor_id) <= 200),
  -- No reference: a change outlives an organization that was dropped.
  org_id text,
  action text not null check (action ~ '^[a-z-]+\.[a-z-]+$'),
  target text not null check (length(target) <= 300),
  before jsonb,
  after jsonb,
  request_id text check (length(request_id) <= 100),
  client_network text check (length(client_network) <= 64)
);
create index change_by_org on change (org_id, position);
create index change_by_time on change (at);
-- The last taken prices, with which the next catalog is compared.
create index change_of_prices on change (target, position) where action = 'price.change';
