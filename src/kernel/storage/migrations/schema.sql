-- The tables, by subject; functions.sql has the functions, the triggers and the first partitions.
--
-- Amounts are in micro-dollars, or in pico-dollars if their name contains `_pico`. A `position` is
-- a step of the books: within one organization, positions grow in the order of the commits. A month
-- is stored as its first day. Days are UTC days.

-- == Organizations, their keys and settings ==

-- A customer. All money, limits and records belong to an organization.
create table org (
  org_id text primary key,
  name text not null,
  email text not null,
  email_verified boolean not null,
  cap_micro_usd bigint check (cap_micro_usd > 0),
  keys_may_set_org_limits boolean not null default false,
  -- When the organization got its first credit, and its first bought credit.
  funded_at timestamptz,
  bought_at timestamptz,
  created_at timestamptz not null default now()
);
create index org_by_email on org (lower(btrim(email)));

-- A virtual key. Only the SHA-256 of its secret is stored.
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
  -- The key is refused from this time on; null: never.
  expires_at timestamptz,
  -- Ids of the models that the key may call; null: all.
  models text[],
  -- Caps per UTC day and per UTC week (from Monday on), in addition to the monthly cap.
  cap_day_micro_usd bigint check (cap_day_micro_usd > 0),
  cap_week_micro_usd bigint check (cap_week_micro_usd > 0),
  tags text[],
  -- The digest of the secret before the last rotation, and until when that secret works too.
  old_digest bytea unique check (octet_length(old_digest) = 32),
  old_until timestamptz,
  check ((old_digest is null) = (old_until is null))
);
create index api_key_by_org on api_key (org_id, created_at);
-- One trial key, even if several tabs finish the first sign-in at once.
create unique index one_trial_key_per_org on api_key (org_id) where origin = 'trial';
create unique index one_playground_key on api_key (org_id)
  where origin = 'playground' and disabled_at is null;

-- Limits that an organization sets for itself, or that its contract sets.
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

-- Endpoints that serve only one organization, with the limits of their pool.
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

-- The providers that an organization allows, and the time limit of its calls.
create table routing_policy (
  org_id text primary key references org,
  timeout_ms integer check (timeout_ms > 0),
  only_providers text[],
  ignore_providers text[],
  prompt_logging text check (prompt_logging = 'none'),
  updated_at timestamptz not null default now()
);

-- Provider keys of customers.
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

-- Restrictions of organizations after unusual use.
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

-- Of secrets that grant access (cookies, links, codes) only the SHA-256 is stored. Secrets that are
-- needed again are encrypted ("sealed") with a key that is not in the database.

-- A person's account, which has its own organization.
create table console_account (
  account_id text primary key,
  org_id text not null unique references org,
  email text not null,
  email_norm text not null,
  email_verified_at timestamptz,
  name text,
  created_at timestamptz not null,
  -- Set if the person was invited before the first sign-in: the account's own organization then has
  -- no trial key yet.
  trial_deferred_at timestamptz
);
create unique index one_account_per_verified_email on console_account (email_norm)
  where email_verified_at is not null;

-- Subjects of identity providers that may sign in to an account.
create table console_identity (
  issuer text not null,
  subject text not null,
  account_id text not null references console_account,
  linked_at timestamptz not null,
  primary key (issuer, subject)
);
create index console_identity_by_account on console_identity (account_id);

-- A signed-in browser, by the SHA-256 of its cookie.
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
  -- Since when the browser, while in use, is expected to get a new confirmation.
  recheck_asked_at timestamptz,
  user_agent text,
  ended_at timestamptz,
  ended_reason text check (ended_reason in ('signed-out', 'idp-ended')),
  -- The organization that the browser shows; null: the account's own.
  org_id text,
  check ((ended_at is null) = (ended_reason is null))
);
create index console_session_by_account on console_session (account_id);
create index console_session_by_identity on console_session (issuer, subject)
  where ended_at is null;
create index console_session_by_end on console_session (expires_at);

-- A sealed first key that its owner has not confirmed to have saved.
create table console_reveal (
  session_id bytea primary key references console_session on delete cascade,
  sealed_key bytea not null,
  label text not null,
  name text not null,
  expires_at timestamptz not null,
  -- When the key was first shown. It can be shown again until its owner confirms that it is saved.
  shown_at timestamptz
);

-- Encrypts the state of sign-ins under way in the browser's cookie. It is created here, so that all
-- instances have the same secret.
create table console_secret (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (octet_length(secret) = 32)
);
-- 244 random bits.
insert into console_secret (secret)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

-- The console's address of a running instance, for commands that print links to it. A row is valid
-- as long as the lease of its instance.
create table console_address (
  instance_id text primary key,
  url text not null
);

-- Tokens of log-outs by the identity provider, each of which is accepted once.
create table seen_logout_token (
  issuer text not null,
  token_id text not null,
  expires_at timestamptz not null,
  primary key (issuer, token_id)
);

-- Members of organizations and their roles. An account is always a member of its own organization.
create table org_member (
  org_id text not null references org,
  account_id text not null references console_account on delete cascade,
  role text not null check (role in ('owner', 'developer', 'billing', 'viewer')),
  joined_at timestamptz not null default now(),
  primary key (org_id, account_id)
);
create index org_member_by_account on org_member (account_id);

-- Invitations of people, by e-mail address.
create table org_invitation (
  invitation_id text primary key,
  org_id text not null references org,
  email text not null,
  email_norm text not null,
  role text not null check (role in ('owner', 'developer', 'billing', 'viewer')),
  -- SHA-256 of the token in the link. A new link replaces it.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- Number of e-mails that were sent, and the time of the last one.
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

-- The number of invitation e-mails of the whole installation in the current hour, counted since
-- 1970.
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

-- Wallets of organizations (`wallet:<org>`), and accounts of the platform: `accrual:<provider>` has
-- the debt to a provider, `unknown:<provider>` the charges after a crash. `grants`, `overrun`,
-- `margin:<provider>`, `receivable:<org>`, `rounding`, `lost` and `cash:…` are their counterparts.
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

-- A step takes its position while it has locked the wallets that it changes. The positions of a
-- month begin at `month_position`: the sequence is moved there at the beginning of the month.
create sequence ledger_position;

-- Transfers between two accounts: by an attempt, or by a single event with a reference. One
-- partition per month, by position. Rows are only inserted.
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

-- Used references, which are unique over all months.
create table transfer_ref (ref text primary key);

-- Prices of a listing at the admission of an attempt, in pico-dollars per token. Never changed.
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
  -- The prices at which the provider is owed; null: the same prices.
  purchase_pin_id text references price_pin
);

-- The price sheets of a pin, by the size of the prompt. A listing with tiers has a sheet for each
-- tier; for any other listing, the pin itself is the only sheet. An attempt refers to the pin of
-- its admission, and its tokens decide by which sheet it was settled. A pin without a sheet belongs
-- to a listing whose provider reports the cost.
create table price_sheet (
  pin_id text not null references price_pin,
  -- The sheet applies to prompts of more tokens than this (prompt, cached and written ones
  -- together); 0: to any prompt.
  above_prompt_tokens bigint not null check (above_prompt_tokens >= 0),
  sheet_pin_id text not null references price_pin,
  primary key (pin_id, above_prompt_tokens)
);

-- The fence of an instance: a row changes only if the instance starts or is declared dead. Leases
-- have their own table, so that a renewal never waits for a reserve that has locked the fence.
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
  -- Each renewal counts `beat` up, under the token of its process. A lower beat than the
  -- acknowledged one proves that commits were lost.
  token uuid,
  beat bigint not null default 0
) with (fillfactor = 50);

-- Attempts in flight. A closing deletes the row and writes the finished attempt, in one
-- transaction.
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
  -- True if this is not a hold: the row blocks the id for a reserve that may commit late, after its
  -- answer was lost.
  annulled boolean not null default false,
  opened_position bigint not null,
  created_at timestamptz not null default now(),
  constraint hold_is_sound check (ordinal > 0 and reserve >= 0 and (not annulled or reserve = 0)
    and resumable = (provider_job_id is not null))
) with (
  -- A row exists only as long as its request, so there are few rows and many dead ones.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 100000, autovacuum_vacuum_cost_delay = 0
);

-- Sums of the use and cost of several attempts of one request.
create type attempt_sums as (
  attempts bigint, prompt bigint, cached_prompt bigint, cache_write bigint, completion bigint,
  internal_reasoning bigint, cost_pico numeric, debit bigint, duration_ms bigint,
  cache_write_1h bigint
);

-- The journal: finished attempts, with one partition per day, which is part of the id. After a row
-- was written, only a late correction changes it, and the end of another attempt of its request.
--
-- The row of a request is the last of its finished attempts, by ordinal and id: it is `final`, and
-- has the sums of the other attempts in `earlier`. Both together are the figures of the request.
-- Most requests have one attempt, which is written as final without `earlier`: such a request needs
-- no further row, index or statement. While another attempt of it is open, a request is in flight.
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
  -- The debt to the provider, if it differs from the cost; null: the cost.
  owed_pico numeric(38, 0),
  -- Values of the answer's headers that no other column has; null: the header was not sent.
  remaining_rpm bigint,
  remaining_tpm bigint,
  queue_ms integer,
  retry_after integer,
  -- Names separated by commas, as in the header.
  dropped_params text,
  -- One constraint, because a batch parses the text of every constraint each time.
  constraint attempt_is_sound check (
    state in ('settled', 'void', 'unknown_after_crash')
    and debit between 0 and reserve and overrun >= 0 and (cost_pico is null or cost_pico >= 0)
    and (state <> 'void' or debit = 0)
    and (state <> 'unknown_after_crash' or debit = reserve or corrected_at is not null)
    and (corrected_at is null) = (corrected_position is null)
    and (corrected_at is null or state = 'unknown_after_crash'))
) partition by range (attempt_id);
create index attempt_by_org_request on attempt (org_id, request_id);
-- Settlement reads by the time of the closing, while the journal is ordered by admission. These
-- indexes find the blocks to read, and cost a batch nearly nothing; the expression keeps them out
-- of its plans.
create index attempt_by_closing on attempt using brin ((closed_at at time zone 'utc'))
  with (autosummarize = on);
create index attempt_by_correction on attempt (corrected_at) where corrected_at is not null;
-- For the log of failed requests, which skips any number of successful ones. Few attempts are in
-- this index, so it costs a batch nearly nothing.
create index attempt_by_org_failed on attempt (org_id, request_id)
  where outcome is distinct from 'completed';

-- All attempts: the finished ones, and holds as open ones.
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

-- Spend per UTC month of admission. Holds count against the cap of the current month, whenever they
-- were admitted.
create table spend (
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null default 0 check (settled >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  primary key (scope, id, month)
) with (fillfactor = 50);

-- The settled spend of a key, by the UTC day of admission. Existing rows are exact. Keys without a
-- daily or weekly cap have no rows, and no cap needs the rows of earlier weeks.
create table spend_day (
  key_id text not null,
  day date not null,
  settled bigint not null default 0 check (settled >= 0),
  primary key (key_id, day)
) with (fillfactor = 50);

-- Every monthly cap that an organization or a key has ever had, in the order of the books.
create table cap_change (
  position bigint primary key,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  org_id text not null,
  cap_micro_usd bigint,
  at timestamptz not null default now()
);

-- Every daily or weekly cap that a key has ever had, in the order of the books.
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

-- Requests refused before their first attempt: they cost nothing, and can be looked up by id.
create table refused_request (
  request_id uuid primary key,
  org_id text not null,
  key_id text not null,
  model_id text,
  route text not null,
  stream boolean not null,
  error_class text not null,
  created_at timestamptz not null,
  -- The limit that refused, its figures, and dropped parameters. Amounts are decimal dollars as
  -- text.
  reason jsonb
);
create index refused_request_by_org on refused_request (org_id, request_id) include (key_id);
create index refused_request_by_key on refused_request (org_id, key_id, request_id);

-- The number of refused requests of a key in a minute. The first ones of a minute have a row in
-- refused_request; the others are only counted here.
create table refused_minute (
  org_id text not null,
  minute timestamptz not null,
  key_id text not null,
  -- Number of requests that were sent with their record, and of those without a row in
  -- refused_request. Records beyond the limit of rows count in both.
  recorded bigint not null,
  unlisted bigint not null,
  primary key (org_id, minute, key_id),
  check (recorded >= 0 and unlisted >= 0)
) with (fillfactor = 70);
create index refused_minute_by_minute on refused_minute (minute);

-- == Retired days, and checkpoints of audits ==

-- Days whose attempts were exported and taken out of the journal, with their sums.
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
-- The page of a wallet adds up retired days.
create index retired_spend_by_id on retired_spend (scope, id, day);

-- The settled spend of keys by the day of admission, for days that were retired while a daily or
-- weekly cap still needed them.
create table retired_spend_day (
  retired date not null references retired_day,
  key_id text not null,
  day date not null,
  settled bigint not null,
  primary key (retired, key_id, day)
);

-- Audited and signed balances at a position of the books, from which the next audit may begin.
create table audit_checkpoint (
  day date primary key,
  -- The balances include the steps up to this position.
  position bigint not null,
  -- Attempts that ended after the position have this id or a higher one, unless they were
  -- corrected.
  from_attempt bigint not null,
  -- The signed text. It contains the digests of the rows of the next two tables and of the
  -- checkpoint before.
  document text not null,
  signature bytea not null,
  made_at timestamptz not null default now()
);

-- Every account that has ever moved, at the position: sums of transfers, without holds.
create table audit_checkpoint_account (
  day date not null,
  account_id text not null,
  debits bigint not null,
  credits bigint not null,
  primary key (day, account_id)
);

-- The spend between the checkpoint before and this one, by month of admission.
create table audit_checkpoint_spend (
  day date not null,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null,
  primary key (day, scope, id, month)
);
create index audit_checkpoint_spend_by_month on audit_checkpoint_spend (month);

-- The result of the last audit of the books, for monitoring.
create table audit_result (
  only_row boolean primary key default true check (only_row),
  ended_at timestamptz not null,
  violations bigint not null check (violations >= 0)
);

-- == Books that were rolled back ==

-- The lives of the books: one for each time they were reopened after a restore. The first has no
-- row.
create table ledger_life (
  life integer primary key check (life > 1),
  restored_to timestamptz not null,
  -- An attempt whose id is of this time, and that is not in the journal, was lost.
  lost_from timestamptz not null,
  lost_until timestamptz not null,
  is_nothing_lost boolean not null,
  open_attempts text not null check (open_attempts in ('void', 'charge', 'kept')),
  reason text not null,
  reopened_at timestamptz not null default clock_timestamp(),
  check (lost_from <= lost_until)
);

-- An instance has noticed that the books were rolled back. No instance takes traffic until they are
-- reopened.
create table books_alarm (
  alarm_id bigint generated always as identity primary key,
  noticed_at timestamptz not null default clock_timestamp(),
  instance_id text not null,
  finding text not null,
  -- The time of the newest earlier commit that is still there.
  restored_to timestamptz not null,
  ended_in_life integer references ledger_life
);
create unique index one_open_alarm on books_alarm ((true)) where ended_in_life is null;

-- A provider's claims for attempts that the books have lost. They are owed to the provider, and
-- charged to no customer.
create table lost_cost (
  ref text primary key,
  life integer not null references ledger_life,
  provider_id text not null,
  model_id text not null,
  upstream_model_id text not null,
  -- The id of the attempt if the claim names it, else an id of its time.
  attempt_id bigint not null,
  ended_at timestamptz not null,
  -- Number of attempts or requests in the claim.
  claims bigint not null check (claims >= 0),
  cost_pico numeric(38, 0) not null check (cost_pico >= 0),
  amount bigint not null check (amount = div(cost_pico, 1000000)),
  recorded_at timestamptz not null default clock_timestamp()
);
create index lost_cost_by_end on lost_cost (provider_id, ended_at);

-- == Settlement with providers ==

-- No attempt is closed before this instant any more, so that providers can be settled with up to
-- it.
create table settlement_horizon (
  only_row boolean primary key default true check (only_row),
  through timestamptz not null
);
insert into settlement_horizon (through) values ('-infinity');

-- The periods of a provider form a chain: each names the end of the period before, as only one may,
-- and begins there or later. So they cannot overlap, whichever process writes them. The cost of a
-- period is the debt to the provider, including costs that the books have lost.
create table provider_period (
  provider_id text not null,
  start_at timestamptz not null,
  end_at timestamptz not null,
  after_end_at timestamptz,
  mode text not null check (mode in ('prepaid', 'arrears')),
  every text not null check (every in ('half_daily', 'daily', 'weekly', 'monthly')),
  -- Number of closings in the period; the lines below split up this and the following figures.
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

-- The part of a period for one model and one day of admission. The days are compared with retired
-- days.
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

-- Every attempt that ended before this instant is in a period of the provider, so closing a period
-- does not search there again.
create table provider_progress (
  provider_id text primary key,
  through timestamptz not null
);

-- Paid periods.
create table provider_payment (
  provider_id text not null,
  start_at timestamptz not null,
  ref text not null unique,
  paid_at timestamptz not null default now(),
  primary key (provider_id, start_at),
  foreign key (provider_id, start_at) references provider_period
);

-- The comparison of a provider's statement with a period, once per file.
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

-- The last number of each series of receipts. An issuer has one series, and another for test money.
create table receipt_series (
  series text primary key,
  last bigint not null check (last > 0)
);

-- Purchases. The transaction of the grant assigns the receipt: the next number of its series, and
-- the buyer and seller as they are then.
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
  -- Shown to people, such as `Visa 4242`; null: not known yet.
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

-- A refund or a dispute. If it arrives before the grant of its purchase, it waits. `taken` and
-- `given_back` are the amounts that its arrival and its reversal have moved; null before that.
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

-- Processed events. They only save work: without them the result is the same.
create table payment_event (
  event_id text primary key,
  kind text not null,
  done_at timestamptz not null default now()
);
create index payment_event_by_time on payment_event (done_at);

-- Periodic work that one process at a time does, and the time of its next run.
create table billing_schedule (
  name text primary key,
  next_at timestamptz not null
);

-- The payment provider's customer for an organization, with its saved card. Test money and real
-- money have separate customers, because they belong to different accounts there.
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
  -- When the checkout of the newest card was opened. Later reports of this or an older checkout do
  -- not restore a removed card.
  card_from timestamptz,
  -- A checkout for a card that has not ended yet.
  setup_session_id text,
  primary key (org_id, is_test_money),
  check (num_nulls(card_id, card_brand, card_last4, card_exp_month, card_exp_year, card_saved_at) in (0, 6))
);

-- Cards that are no longer charged, and that must still be detached at the payment provider.
create table card_detachment (
  card_id text primary key,
  org_id text not null references org,
  is_test_money boolean not null,
  since timestamptz not null default now(),
  tried_at timestamptz
);

-- Rules of automatic top-up: if the balance is below `below`, `amount` is bought, at most
-- `month_max` in a month.
create table top_up_rule (
  org_id text primary key references org,
  is_on boolean not null,
  below bigint not null check (below > 0),
  amount bigint not null check (amount > 0 and amount % 10000 = 0),
  month_max bigint not null check (month_max >= amount),
  -- Set if a failed charge or an operator has turned it off, until a person turns it on again.
  paused_at timestamptz,
  paused_reason text,
  check ((paused_at is null) = (paused_reason is null)),
  check (not is_on or paused_at is null)
);
create index top_up_rule_on on top_up_rule (org_id) where is_on;
create index top_up_rule_paused on top_up_rule (paused_at) where paused_at is not null;

-- Purchases that a rule has started. They store customer and card, so that a repeated charge is the
-- same charge.
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

-- The statement of an organization for a month, written once. Its content is `document`. The hash
-- reveals a changed document, and a comparison with it reveals changed books.
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

-- The progress of closing the statements of a month in the background.
create table org_statement_pass (
  month date primary key check (extract(day from month) = 1),
  -- The statements of organizations up to this id are closed.
  after_org_id text not null default '',
  -- True if a statement could not be closed: the pass is then repeated.
  has_failed boolean not null default false,
  -- Until then the pass belongs to the process that took it, or waits.
  until_at timestamptz not null default '-infinity',
  -- Set once every organization with a transfer in the month has its statement.
  ended_at timestamptz
);

-- == Alerts ==

-- The alerts that an organization has chosen.
create table alert_rules (
  org_id text primary key references org on delete cascade,
  balance_below bigint check (balance_below > 0),
  -- True if the threshold follows the last purchase.
  balance_follows boolean not null default false,
  cap_percents smallint[] not null default '{}'
    check (array_length(cap_percents, 1) <= 5 and 1 <= all (cap_percents) and 100 >= all (cap_percents)),
  -- Since when purchases, and restrictions, are reported; null: they are not.
  purchases_since timestamptz,
  restrictions_since timestamptz,
  -- Since when expiring keys are reported; null: they are not.
  key_expiry_since timestamptz,
  -- Since when providers that fail most calls are reported; null: they are not.
  trouble_since timestamptz
);

-- Thresholds that are crossed at present. A row is deleted once the value is well on the other side
-- again, so that one crossing is one event, however often it is checked.
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

-- Events that alerts report.
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

-- Destinations of alerts: e-mail addresses and webhooks.
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
  -- Hash of the token in the link that confirms the address, until it is used, and its expiry.
  confirm_hash bytea unique,
  confirm_until timestamptz,
  -- The kinds of events that are sent there; null: all.
  kinds text[],
  -- The signing secret of a webhook, sealed with the installation's encryption key.
  sealed_secret bytea,
  -- The secret before the last rotation, and until when deliveries are signed with it too.
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

-- The delivery of an event to a destination.
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
  -- Hash of the token in the newest e-mail's link that stops the alerts to this destination.
  stop_hash bytea unique,
  unique (event_id, destination_id)
);
create index alert_delivery_due on alert_delivery (next_at) where state = 'waiting';
create index alert_delivery_by_destination on alert_delivery (destination_id);

-- Running tries. Their number per destination is bounded over all instances.
create table alert_try (
  delivery_id bigint primary key references alert_delivery on delete cascade,
  destination_id text not null,
  tries integer not null,
  until_at timestamptz not null
);
create index alert_try_by_destination on alert_try (destination_id);

-- == Jobs and searches ==

-- Video jobs of providers, which outlive their requests. No foreign key to the attempt, which may
-- be retired.
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
  -- The cost that the provider reported, even if the customer's own provider key pays it.
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

-- Searches for the best model, with their results. Never a prompt or an answer.
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

-- == Trust in listings ==

-- Verdicts of conformance runs about listings.
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

-- Counted up by every transaction that records verdicts. Processes read verdicts again only if it
-- has changed.
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
  -- Number of answers, and of those that broke each promise: {"answers", "substituted", …}
  breaches jsonb not null,
  primary key (provider_id, model_id)
);

-- Runs of a scheduled conformance watch. They show when a listing was last checked, and what an
-- interval has cost.
create table watched_run (
  run_id bigint generated always as identity primary key,
  provider_id text not null,
  model_id text not null,
  started_at timestamptz not null default now(),
  -- The maximum cost of the run, which counts until it has ended.
  budget bigint not null check (budget >= 0),
  spent bigint check (spent >= 0),
  -- Null: the run is under way, or its process died. 'ended': the operator stopped it, so it does
  -- not count.
  outcome text check (outcome in ('recorded', 'unrecorded', 'ended')),
  check ((spent is null) = (outcome is null))
);
create index watched_run_by_listing on watched_run (provider_id, model_id, started_at desc);
create index watched_run_by_start on watched_run (started_at);

-- == Sums for reports ==

-- Finished days are summed up once per organization, so that a report on a month reads a few
-- thousand rows. The sums only save time: without them every report is the same. This table has the
-- days whose partition of the journal notes every change (usage_stale).
create table usage_day (
  day date primary key,
  is_done boolean not null default false,
  -- True if listing_public_day has the figures of this day.
  is_published boolean not null default false
);

-- Days of organizations that are summed up in usage_sum and listing_day_sum.
create table usage_rolled (
  org_id text not null,
  day date not null,
  -- Debits of all attempts of the day, including those that are not the last of their request.
  debit bigint not null,
  -- Requests in these sums that were also recorded as refused, because the answer to their hold was
  -- lost.
  also_refused uuid[] not null,
  primary key (org_id, day)
);

-- Sums of whole requests, by the day of their last attempt and by the columns of reports.
-- request_day is the day in the request id, which another clock may have made.
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
  -- Histogram of times to first byte: the buckets (first_byte_span) and their counts.
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  cache_write_1h bigint not null default 0,
  primary key (org_id, day, request_day, model_id, key_id, provider_id, status)
);
create index usage_sum_by_key on usage_sum (org_id, key_id, day);

-- Summed days that have changed since. A row is committed together with the change. The process
-- that sums the day up again deletes the rows whose changes it sees.
create table usage_stale (
  org_id text not null,
  day date not null
);
create index usage_stale_by_org on usage_stale (org_id, day);

-- Figures of listings by the day of admission, kept for about a month. Attempts that neither
-- succeeded nor failed by the provider's fault count only in `attempts`. used_hours and up_hours
-- have a bit for each hour, from midnight as the lowest: hours with calls, and hours in which a
-- call succeeded.
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
  -- Streamed answers that succeeded, their tokens, and their time from the first byte to the last.
  streamed bigint not null,
  streamed_tokens bigint not null,
  streamed_ms bigint not null,
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  -- Requests whose last attempt was here, and those of them that failed; debits and margin; the
  -- number of attempts with a loss, and the sum of the losses.
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

-- The figures of listing_day_sum by hour, kept for three days.
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
  -- As in listing_day_sum.
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

-- Hours that are summed up for all organizations, and when that happened.
create table listing_hour (
  hour timestamptz primary key,
  folded_at timestamptz not null
);

-- Public figures over all organizations. A row is written once, after the day, and never changed,
-- so that the difference of two reads reveals nothing about one organization.
create table listing_public_day (
  provider_id text not null,
  model_id text not null,
  day date not null,
  succeeded bigint not null,
  failed bigint not null,
  used_hours integer not null,
  up_hours integer not null,
  -- Zero if too few organizations streamed.
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
  -- Not a foreign key, because a change outlives its organization.
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
-- Finds the last prices in use, with which the next catalog is compared.
create index change_of_prices on change (target, position) where action = 'price.change';
