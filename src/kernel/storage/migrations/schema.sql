-- The tables, by subject; functions.sql has the functions, the triggers and the first partitions.
--
-- Amounts of money are in micro-dollars, or in pico-dollars if the column's name contains `_pico`.
-- A ledger `position` is the sequence number of a write to the ledger, such as a batch of holds, a
-- credit or a changed cap; within one organization, positions grow in the order of the commits. A
-- month is stored as its first day. Days are UTC days.

-- == Organizations, their keys and settings ==

-- A customer. Keys, the wallet, limits and records of requests belong to an organization.
create table org (
  org_id text primary key,
  name text not null,
  email text not null,
  email_verified boolean not null,
  cap_micro_usd bigint check (cap_micro_usd > 0),
  keys_may_set_org_limits boolean not null default false,
  -- The times of the first credit of any kind, and of the first credit that is not trial credit.
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
  -- SHA-256 of the secret before the last rotation; that secret is accepted until old_until.
  old_digest bytea unique check (octet_length(old_digest) = 32),
  old_until timestamptz,
  check ((old_digest is null) = (old_until is null))
);
create index api_key_by_org on api_key (org_id, created_at);
-- An organization gets one trial key, even if several browser tabs finish its first sign-in at
-- once.
create unique index one_trial_key_per_org on api_key (org_id) where origin = 'trial';
create unique index one_playground_key on api_key (org_id)
  where origin = 'playground' and disabled_at is null;

-- Rate limits of an organization, or of its calls by one key or to one model. The organization
-- (`self`) or its contract has set them.
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

-- Provider endpoints that serve only one organization, with their own rate limits.
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

-- An organization's settings for routing: the timeout of its calls, the only providers that it
-- allows, the providers that it excludes, and whether a provider must not log prompts.
create table routing_policy (
  org_id text primary key references org,
  timeout_ms integer check (timeout_ms > 0),
  only_providers text[],
  ignore_providers text[],
  prompt_logging text check (prompt_logging = 'none'),
  updated_at timestamptz not null default now()
);

-- Customers' own keys at providers, used for calls by one virtual key or (key_id is null) by all
-- keys of the organization.
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

-- Restrictions on an organization's calls of one family, such as chat or images, after unusual use.
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

-- Secrets that grant access (cookies, links, codes) are stored only as their SHA-256. Columns named
-- sealed_… have secrets that are encrypted with a key that is not in the database.

-- A person's account, which has its own organization.
create table console_account (
  account_id text primary key,
  org_id text not null unique references org,
  email text not null,
  email_norm text not null,
  email_verified_at timestamptz,
  name text,
  created_at timestamptz not null,
  -- Set if an invitation was open at the first sign-in: the account's own organization then has no
  -- trial key yet. Null again once the person has asked for that key.
  trial_deferred_at timestamptz
);
create unique index one_account_per_verified_email on console_account (email_norm)
  where email_verified_at is not null;

-- Identities (a subject at an identity provider) that can sign in to an account.
create table console_identity (
  issuer text not null,
  subject text not null,
  account_id text not null references console_account,
  linked_at timestamptz not null,
  primary key (issuer, subject)
);
create index console_identity_by_account on console_identity (account_id);

-- The session of a browser that signed in; its id is the SHA-256 of the cookie.
create table console_session (
  session_id bytea primary key check (octet_length(session_id) = 32),
  account_id text not null references console_account,
  issuer text not null,
  subject text not null,
  idp_sid text,
  started_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > started_at),
  last_seen_at timestamptz not null,
  -- When the identity provider last confirmed the sign-in, and when the browser was last sent there
  -- for a confirmation.
  idp_checked_at timestamptz not null,
  idp_tried_at timestamptz not null,
  -- The time of the session's first use after a new confirmation became due; null: none is due.
  recheck_asked_at timestamptz,
  user_agent text,
  ended_at timestamptz,
  ended_reason text check (ended_reason in ('signed-out', 'idp-ended')),
  -- The organization that the person has switched to. Null: the account's own organization, or
  -- while its trial key is deferred, the organization that the person joined last.
  org_id text,
  check ((ended_at is null) = (ended_reason is null))
);
create index console_session_by_account on console_session (account_id);
create index console_session_by_identity on console_session (issuer, subject)
  where ended_at is null;
create index console_session_by_end on console_session (expires_at);

-- The sealed trial key of a new account, until the person confirms that it is saved.
create table console_reveal (
  session_id bytea primary key references console_session on delete cascade,
  sealed_key bytea not null,
  label text not null,
  name text not null,
  expires_at timestamptz not null,
  -- When the key was first shown. It can be shown again until the person confirms that it is saved.
  shown_at timestamptz
);

-- The secret that encrypts the state of an unfinished sign-in in a cookie of the browser. It is
-- created with the schema, so that all instances have the same secret.
create table console_secret (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (octet_length(secret) = 32)
);
-- The secret is the hash of two random UUIDs, which have 122 random bits each.
insert into console_secret (secret)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

-- The address of the console of each instance, for commands that print links to the console. A row
-- is valid while its instance has a lease.
create table console_address (
  instance_id text primary key,
  url text not null
);

-- Logout tokens that an identity provider has sent. Each token is accepted once.
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
  -- SHA-256 of the token in the newest link of the invitation.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- Number of e-mails, and the time of the last one. The number restarts after 24 hours without
  -- one.
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

-- The number of e-mails with invitations or with confirmation links of alert addresses that the
-- whole installation has sent in `hour`, the last hour with such an e-mail, in hours since 1970.
create table invitation_hour (
  is_only boolean primary key default true check (is_only),
  hour bigint not null default 0,
  mails bigint not null default 0
);
insert into invitation_hour default values;

-- One-time links that sign a browser in, for installations without an identity provider. If `email`
-- is set, only that address can use the link.
create table local_claim (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  email text,
  expires_at timestamptz not null
);

-- == The ledger ==

-- Accounts of the ledger: a wallet for each organization (`wallet:<org>`), and accounts of the
-- platform, such as `accrual:<provider>`, the debt to a provider that is not yet in a settlement
-- period. src/ledger/design.md lists them all.
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

-- Numbers the writes to the ledger. A write takes its number while it has locked the wallets that
-- it changes. Each month has its own range of numbers: at the beginning of a month the sequence is
-- moved to the first number of that month's range (`month_position`).
create sequence ledger_position;

-- Transfers of money between two accounts. Each transfer either belongs to an attempt or has a
-- unique reference (`ref`). Each month's range of positions is a partition. Rows are only inserted.
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

-- The references (`ref`) of all transfers. The primary key makes them unique over the partitions of
-- `transfer`.
create table transfer_ref (ref text primary key);

-- Prices of a listing at the admission of attempts, in pico-dollars per token. Rows never change.
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
  -- The prices that the platform owes the provider; null: the same prices.
  purchase_pin_id text references price_pin
);

-- Selects the prices of an attempt by the size of its prompt. An attempt stores the pin_id of its
-- listing at its admission; sheet_pin_id names the prices (in price_pin) that settle it. A listing
-- with price tiers has a row for each tier; any other listing has one row, in which both ids are
-- the same. A pin_id without rows belongs to a listing whose provider reports the cost.
create table price_sheet (
  pin_id text not null references price_pin,
  -- The prices apply to prompts of more tokens than this, including tokens read from and written to
  -- the cache; 0: to any prompt.
  above_prompt_tokens bigint not null check (above_prompt_tokens >= 0),
  sheet_pin_id text not null references price_pin,
  primary key (pin_id, above_prompt_tokens)
);

-- Instances of the gateway. `epoch` grows with each start of an instance, and if it is declared
-- dead; holds with an older epoch are refused. Leases have their own table, so that a renewal never
-- waits for a transaction that inserts holds and has locked this row.
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
  -- `token` identifies the process that runs as this instance. Each of its renewals increases
  -- `beat` by one: a lower `beat` than the process knows proves that commits were lost.
  token uuid,
  beat bigint not null default 0
) with (fillfactor = 50);

-- Attempts in flight, with the money that is reserved for each. The transaction that closes an
-- attempt deletes its row here and inserts it into `attempt`.
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
  -- True if the row reserves nothing and only occupies the attempt's id: the answer to the
  -- insertion of a hold was lost, and if that transaction commits late, it fails because of this
  -- row.
  annulled boolean not null default false,
  opened_position bigint not null,
  created_at timestamptz not null default now(),
  constraint hold_is_sound check (ordinal > 0 and reserve >= 0 and (not annulled or reserve = 0)
    and resumable = (provider_job_id is not null))
) with (
  -- A row exists only while its attempt is in flight, so the table has few live and many dead rows,
  -- and must be vacuumed often.
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

-- The journal of finished attempts, with one partition per day; the id contains the day. A row
-- changes only by a late correction of a charge after a crash, and in `final` and `earlier`, if
-- another attempt of its request ends or is retired.
--
-- The last finished attempt of a request, by ordinal and id, is `final`, and its `earlier` has the
-- sums of the other finished attempts; its own columns plus `earlier` are the figures of the
-- request. Most requests have one attempt, which is inserted as final without `earlier`, so such a
-- request needs no further row, index or statement. A request is in flight while it has a hold.
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
  -- The model that the provider reported; `substituted` is true if the listing does not allow it.
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
  -- Values of headers of the gateway's answer; null: the header was not sent.
  remaining_rpm bigint,
  remaining_tpm bigint,
  queue_ms integer,
  retry_after integer,
  -- Names of the request parameters that were dropped, separated by commas.
  dropped_params text,
  -- All rules are in one constraint, because each batch parses the text of every constraint.
  constraint attempt_is_sound check (
    state in ('settled', 'void', 'unknown_after_crash')
    and debit between 0 and reserve and overrun >= 0 and (cost_pico is null or cost_pico >= 0)
    and (state <> 'void' or debit = 0)
    and (state <> 'unknown_after_crash' or debit = reserve or corrected_at is not null)
    and (corrected_at is null) = (corrected_position is null)
    and (corrected_at is null or state = 'unknown_after_crash'))
) partition by range (attempt_id);
create index attempt_by_org_request on attempt (org_id, request_id);
-- The next two indexes are for settlement with providers, which reads attempts by the time of their
-- closing or correction, while the table is ordered by admission. They hardly slow down a batch;
-- the first one is on an expression so that the planner never uses it for a statement of a batch.
create index attempt_by_closing on attempt using brin ((closed_at at time zone 'utc'))
  with (autosummarize = on);
create index attempt_by_correction on attempt (corrected_at) where corrected_at is not null;
-- For reading only the failed requests of an organization. Few attempts are in this index, so it
-- hardly slows down a batch.
create index attempt_by_org_failed on attempt (org_id, request_id)
  where outcome is distinct from 'completed';

-- All attempts: the finished ones, and those in flight (from `hold`) with the state `open`.
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

-- Settled and reserved amounts of an organization or a key, per UTC month in which the attempts
-- were admitted. A monthly cap limits the settled amount of the current month plus all reserved
-- amounts, even those of earlier months.
create table spend (
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null default 0 check (settled >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  primary key (scope, id, month)
) with (fillfactor = 50);

-- The settled spend of a key, by the UTC day on which the attempts were admitted. Rows are added
-- only for keys with a daily or weekly cap, and are deleted once they are older than last week.
create table spend_day (
  key_id text not null,
  day date not null,
  settled bigint not null default 0 check (settled >= 0),
  primary key (key_id, day)
) with (fillfactor = 50);

-- Every change of the monthly cap of an organization or a key; a null cap means that it was
-- removed. `position` orders the changes among the other ledger writes of the organization.
create table cap_change (
  position bigint primary key,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  org_id text not null,
  cap_micro_usd bigint,
  at timestamptz not null default now()
);

-- Every change of a daily or weekly cap of a key, like cap_change.
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
  -- The limit that refused the request, the figures of that limit, and the names of dropped request
  -- parameters. Amounts are decimal dollars as text.
  reason jsonb
);
create index refused_request_by_org on refused_request (org_id, request_id) include (key_id);
create index refused_request_by_key on refused_request (org_id, key_id, request_id);

-- Numbers of refused requests of a key in a minute. The first requests of the minute also have a
-- row in refused_request; the others do not.
create table refused_minute (
  org_id text not null,
  minute timestamptz not null,
  key_id text not null,
  -- `recorded`: requests for which a gateway sent a row. `unlisted`: requests without a row in
  -- refused_request. If a row was sent but exceeded the maximum per minute, its request counts in
  -- both numbers.
  recorded bigint not null,
  unlisted bigint not null,
  primary key (org_id, minute, key_id),
  check (recorded >= 0 and unlisted >= 0)
) with (fillfactor = 70);
create index refused_minute_by_minute on refused_minute (minute);

-- == Retired days, and checkpoints of audits ==

-- Days whose attempts were exported to a file and removed from `attempt`, with the sums of these
-- attempts.
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

-- The settled spend of organizations and keys on each retired day, by the month in which the
-- attempts were admitted.
create table retired_spend (
  day date not null references retired_day,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null,
  primary key (day, scope, id, month)
);
-- For the wallet page of the console, which lists the spend of retired days too.
create index retired_spend_by_id on retired_spend (scope, id, day);

-- The settled spend of keys on retired days, by the day on which the attempts were admitted. It has
-- only days that were retired while a daily or weekly cap could still need their spend.
create table retired_spend_day (
  retired date not null references retired_day,
  key_id text not null,
  day date not null,
  settled bigint not null,
  primary key (retired, key_id, day)
);

-- Audited and signed balances of all accounts at a ledger position. The next audit may begin there.
create table audit_checkpoint (
  day date primary key,
  -- The last ledger write that the balances include.
  position bigint not null,
  -- All attempts with lower ids were closed at this position or before; since then, they can only
  -- be corrected.
  from_attempt bigint not null,
  -- The signed text. It contains digests of this checkpoint's rows in audit_checkpoint_account and
  -- audit_checkpoint_spend, and of the previous checkpoint.
  document text not null,
  signature bytea not null,
  made_at timestamptz not null default now()
);

-- The sums of an account's transfers up to the checkpoint's position, without holds. Accounts
-- without transfers have no row.
create table audit_checkpoint_account (
  day date not null,
  account_id text not null,
  debits bigint not null,
  credits bigint not null,
  primary key (day, account_id)
);

-- The settled spend since the previous checkpoint, by the month in which the attempts were
-- admitted.
create table audit_checkpoint_spend (
  day date not null,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null,
  primary key (day, scope, id, month)
);
create index audit_checkpoint_spend_by_month on audit_checkpoint_spend (month);

-- The result of the last audit of the ledger, for monitoring.
create table audit_result (
  only_row boolean primary key default true check (only_row),
  ended_at timestamptz not null,
  violations bigint not null check (violations >= 0)
);

-- == The ledger after a restore ==

-- One row for each time that the ledger was reopened after a restore from a backup. `life` counts
-- these times, beginning at 2; life 1, before any restore, has no row.
create table ledger_life (
  life integer primary key check (life > 1),
  restored_to timestamptz not null,
  -- An attempt was lost in the restore if its id is from this time span and `journal` does not have
  -- it.
  lost_from timestamptz not null,
  lost_until timestamptz not null,
  is_nothing_lost boolean not null,
  open_attempts text not null check (open_attempts in ('void', 'charge', 'kept')),
  reason text not null,
  reopened_at timestamptz not null default clock_timestamp(),
  check (lost_from <= lost_until)
);

-- Alarms of instances that have noticed lost commits, as after a restore. While an alarm is open
-- (ended_in_life is null), no instance takes traffic; reopening the ledger ends it.
create table books_alarm (
  alarm_id bigint generated always as identity primary key,
  noticed_at timestamptz not null default clock_timestamp(),
  instance_id text not null,
  finding text not null,
  -- The time of the newest commit that was not lost.
  restored_to timestamptz not null,
  ended_in_life integer references ledger_life
);
create unique index one_open_alarm on books_alarm ((true)) where ended_in_life is null;

-- Claims of providers for attempts that a restore has removed from the ledger. The platform owes
-- them to the provider and charges no customer.
create table lost_cost (
  ref text primary key,
  life integer not null references ledger_life,
  provider_id text not null,
  model_id text not null,
  upstream_model_id text not null,
  -- The attempt that the claim names; else an attempt id that is computed from the claim's time.
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

-- No further attempt can be closed with a time before `through`, so what providers are owed up to
-- this instant is final.
create table settlement_horizon (
  only_row boolean primary key default true check (only_row),
  through timestamptz not null
);
insert into settlement_horizon (through) values ('-infinity');

-- Settlement periods of providers. `after_end_at` is the end of the provider's previous period; no
-- other period may name the same one, and the period begins at or after it. So the periods of a
-- provider cannot overlap, whichever process inserts them. The cost of a period is the debt to the
-- provider, including the costs of attempts that a restore has removed.
create table provider_period (
  provider_id text not null,
  start_at timestamptz not null,
  end_at timestamptz not null,
  after_end_at timestamptz,
  mode text not null check (mode in ('prepaid', 'arrears')),
  every text not null check (every in ('half_daily', 'daily', 'weekly', 'monthly')),
  -- Number of attempts that were closed in the period. provider_period_line splits this number and
  -- the following ones by model and day.
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

-- The part of a settlement period for one model and the attempts admitted on one day. The audit
-- compares the sums of a day with those in retired_day.
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

-- Every attempt of the provider that was closed before `through` is in one of its settlement
-- periods, so the next period is computed only from later attempts.
create table provider_progress (
  provider_id text primary key,
  through timestamptz not null
);

-- Settlement periods that were paid to the provider, with the reference of the payment.
create table provider_payment (
  provider_id text not null,
  start_at timestamptz not null,
  ref text not null unique,
  paid_at timestamptz not null default now(),
  primary key (provider_id, start_at),
  foreign key (provider_id, start_at) references provider_period
);

-- The result of comparing a provider's statement with a settlement period, one row per file.
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

-- == Purchases of credit ==

-- The last number of each series of receipts. A seller has one series for real money, and another
-- for test money.
create table receipt_series (
  series text primary key,
  last bigint not null check (last > 0)
);

-- Purchases of credit. The transaction that credits the wallet also assigns the receipt: the next
-- number of its series, and the data of buyer and seller at that time.
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
  -- The payment method as customers see it, such as `Visa 4242`; null: not known yet.
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

-- A refund or a dispute of a purchase. It moves no money before the purchase is credited. `taken`
-- is the amount that it has taken from the organization, and `given_back` the amount that its
-- reversal has returned; null until then.
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

-- Events of the payment provider that were processed. They are skipped if they arrive again, which
-- only saves work: processing an event twice has the same result.
create table payment_event (
  event_id text primary key,
  kind text not null,
  done_at timestamptz not null default now()
);
create index payment_event_by_time on payment_event (done_at);

-- Periodic work that only one process does at a time, with the time of the next run. The row
-- `recovery` has the time to which the ledger was restored, until the payments since then are
-- recovered; no automatic purchase starts meanwhile.
create table billing_schedule (
  name text primary key,
  next_at timestamptz not null
);

-- The customer id of an organization at the payment provider, and its saved card. Test money and
-- real money have separate customer ids, because they use different accounts at the payment
-- provider.
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
  -- When the checkout was opened that saved the newest card. Later reports of this checkout or an
  -- older one save no card, so a removed card stays removed.
  card_from timestamptz,
  -- The unfinished checkout that is to save a card; null: there is none.
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
  -- Set if a failed charge or an operator has turned the rule off, until a person turns it on
  -- again.
  paused_at timestamptz,
  paused_reason text,
  check ((paused_at is null) = (paused_reason is null)),
  check (not is_on or paused_at is null)
);
create index top_up_rule_on on top_up_rule (org_id) where is_on;
create index top_up_rule_paused on top_up_rule (paused_at) where paused_at is not null;

-- Purchases that an automatic top-up has started. The customer and the card are stored, so that a
-- retry sends the same charge to the payment provider.
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

-- Company data of an organization, for its statements and receipts.
create table org_company (
  org_id text primary key references org,
  legal_name text not null check (length(legal_name) between 1 and 200),
  address_lines text[] not null check (array_length(address_lines, 1) between 1 and 3),
  city text not null check (length(city) between 1 and 100),
  postal_code text not null check (length(postal_code) <= 20),
  country text not null check (country ~ '^[A-Z]{2}$'),
  tax_id_type text check (length(tax_id_type) <= 20),
  tax_id text check (length(tax_id) <= 40),
  purchase_order text not null check (length(purchase_order) <= 30),
  changed_at timestamptz not null default now(),
  check ((tax_id is null) = (tax_id_type is null))
);

-- The statement of an organization for a month, written once. `document` is its whole content, and
-- `sha256` reveals a change of the document. If a statement that is computed again has another
-- hash, the ledger was changed.
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

-- The progress of a background pass that writes all organizations' statements of a month.
create table org_statement_pass (
  month date primary key check (extract(day from month) = 1),
  -- The pass has handled the organizations up to this id.
  after_org_id text not null default '',
  -- True if the pass could not write a statement: it then begins again after its end.
  has_failed boolean not null default false,
  -- Before this instant no process takes the pass: another one works on it, or a retry is not due.
  until_at timestamptz not null default '-infinity',
  -- Set once every organization with a credit or usage in the month has its statement.
  ended_at timestamptz
);

-- == Alerts ==

-- The alerts that an organization has turned on, with their thresholds.
create table alert_rules (
  org_id text primary key references org on delete cascade,
  balance_below bigint check (balance_below > 0),
  -- True if each purchase sets balance_below to a fifth of its amount, at least 5 dollars.
  balance_follows boolean not null default false,
  cap_percents smallint[] not null default '{}'
    check (array_length(cap_percents, 1) <= 5 and 1 <= all (cap_percents) and 100 >= all (cap_percents)),
  -- The times since which purchases and restrictions are reported; null: they are not.
  purchases_since timestamptz,
  restrictions_since timestamptz,
  -- Since when expiring keys are reported; null: they are not.
  key_expiry_since timestamptz,
  -- Since when providers at which most calls fail are reported; null: they are not.
  trouble_since timestamptz
);

-- Alert thresholds that are crossed now. A row is deleted once the balance or the spend is clearly
-- on the other side again, so that a value near its threshold causes one event, not many.
create table alert_crossing (
  org_id text not null references org,
  kind text not null check (kind in ('balance.low', 'org_cap.reached', 'key_cap.reached')),
  subject text not null,
  threshold bigint not null,
  -- The first day of the cap's day, week or month; for a balance, which has no period, 2000-01-01.
  period date not null,
  since timestamptz not null default now(),
  primary key (org_id, kind, subject, threshold, period)
);

-- Events that are sent to the alert destinations of their organization.
create table alert_event (
  event_id text primary key,
  org_id text not null references org,
  kind text not null,
  facts jsonb not null,
  -- Names an event that can happen only once, so that it is not stored again; null: it can recur.
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
  -- The time since which every delivery has failed; null: the last one succeeded.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text constraint alert_destination_disabled_reason
    check (disabled_reason in ('removed', 'failing', 'gone', 'paused', 'unconfirmed', 'stopped')),
  -- Hash of the token in the link that confirms the address, until the link is used; and when the
  -- link expires.
  confirm_hash bytea unique,
  confirm_until timestamptz,
  -- The kinds of events that are sent to this destination; null: all.
  kinds text[],
  -- The signing secret of a webhook, sealed with the installation's encryption key.
  sealed_secret bytea,
  -- The sealed secret before the last rotation; deliveries are also signed with it until
  -- former_until.
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
  -- The answer to the last try: a status, or the reason why there was no answer.
  last_answer text,
  last_at timestamptz,
  -- Hash of the token in the link of this delivery's newest e-mail that stops the alerts to the
  -- destination.
  stop_hash bytea unique,
  unique (event_id, destination_id)
);
create index alert_delivery_due on alert_delivery (next_at) where state = 'waiting';
create index alert_delivery_by_destination on alert_delivery (destination_id);

-- Deliveries that a process is trying now. Their number per destination is limited over all
-- instances.
create table alert_try (
  delivery_id bigint primary key references alert_delivery on delete cascade,
  destination_id text not null,
  tries integer not null,
  until_at timestamptz not null
);
create index alert_try_by_destination on alert_try (destination_id);

-- == Jobs and searches ==

-- Video jobs at providers, which run on after the request that started them. attempt_id is not a
-- foreign key, because the attempt may be retired before the job is deleted.
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

-- Searches for the best model for a customer's prompts, with their results. Prompts and answers are
-- not stored.
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

-- The verdicts of conformance runs, one for each listing that a run has checked.
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
  -- The checks of the run: [{"id", "status", "title", "message", "ms", "evidence"?}]
  checks json not null check (json_typeof(checks) = 'array'),
  unique (provider_id, model_id, manifest_sha256, checked_at)
);
create index listing_verdict_by_listing on listing_verdict (provider_id, model_id, checked_at desc);

-- Every transaction that records verdicts increases `version`. Processes read the verdicts again
-- only if it has changed.
create table verdict_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null
);
insert into verdict_version (version) values (0);

-- Listings of which too many answers to customers broke a promise of the listing, such as its model
-- or the reporting of token counts.
create table suspect_listing (
  provider_id text not null,
  model_id text not null,
  since timestamptz not null default now(),
  -- The number of answers, and for each promise the number that broke it: {"answers",
  -- "substituted", …}
  breaches jsonb not null,
  primary key (provider_id, model_id)
);

-- Scheduled conformance runs, each of one listing. They show when a listing was last checked, and
-- what the runs of an interval have cost.
create table watched_run (
  run_id bigint generated always as identity primary key,
  provider_id text not null,
  model_id text not null,
  started_at timestamptz not null default now(),
  -- The maximum cost of the run. It is taken as the cost until `spent` is set.
  budget bigint not null check (budget >= 0),
  spent bigint check (spent >= 0),
  -- Null: the run is under way, or its process died. 'ended': the operator stopped the run, so its
  -- listing is still due for a check.
  outcome text check (outcome in ('recorded', 'unrecorded', 'ended')),
  check ((spent is null) = (outcome is null))
);
create index watched_run_by_listing on watched_run (provider_id, model_id, started_at desc);
create index watched_run_by_start on watched_run (started_at);

-- == Sums for reports ==

-- Past days are summed up per organization, so that a report on a month reads a few thousand rows.
-- The sums only save time: without them every report has the same figures. usage_day has the days
-- whose partition of `attempt` has a trigger that records later changes in usage_stale.
create table usage_day (
  day date primary key,
  is_done boolean not null default false,
  -- True if listing_public_day has the figures of this day.
  is_published boolean not null default false
);

-- One row for each organization and day of which usage_sum and listing_day_sum have the sums.
create table usage_rolled (
  org_id text not null,
  day date not null,
  -- The sum of the debits of all attempts of the day, even those that are not the last of their
  -- request.
  debit bigint not null,
  -- Requests in the sums that are also in refused_request, because the answer to the insertion of
  -- their hold was lost. Reports do not include them as refused.
  also_refused uuid[] not null,
  primary key (org_id, day)
);

-- Sums over requests, each with all its attempts, by the day of the last attempt and the columns by
-- which reports group. request_day is the day in the request id; it may differ from `day`.
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

-- Days whose sums are outdated because attempts or refusals were written later. The transaction of
-- such a write inserts the row. The process that sums up the day again deletes the rows of the
-- writes that its snapshot sees.
create table usage_stale (
  org_id text not null,
  day date not null
);
create index usage_stale_by_org on usage_stale (org_id, day);

-- Figures of listings by the day in the attempts' ids, kept for about a month. `failed` has only
-- failures that are the provider's fault; other attempts without success are only in `attempts`.
-- used_hours and up_hours have one bit for each UTC hour, the lowest for the first hour: hours in
-- which an attempt succeeded or failed, and hours in which one succeeded.
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
  -- Number of streamed answers that succeeded, and the sums of their output tokens and of their
  -- times from the first byte to the last.
  streamed bigint not null,
  streamed_tokens bigint not null,
  streamed_ms bigint not null,
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  -- Requests whose last attempt used the listing, and those of them that failed; the sums of the
  -- attempts' debits and margins; the number of attempts with a negative margin, and the sum of
  -- these losses.
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

-- The figures of listing_day_sum by hour, kept for at least three days.
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

-- One row for each hour whose sums are in listing_hour_sum for every organization. `folded_at` is
-- the time at which the hour was last summed up.
create table listing_hour (
  hour timestamptz primary key,
  folded_at timestamptz not null
);

-- Public figures of listings over all organizations. A row is inserted once, after the day, and
-- never changes, so that the difference of two reads reveals nothing about one organization.
create table listing_public_day (
  provider_id text not null,
  model_id text not null,
  day date not null,
  succeeded bigint not null,
  failed bigint not null,
  used_hours integer not null,
  up_hours integer not null,
  -- This and the next two columns are zero if too few organizations used streaming.
  streamed bigint not null,
  streamed_tokens bigint not null,
  streamed_ms bigint not null,
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  primary key (provider_id, model_id, day)
);
create index listing_public_day_by_day on listing_public_day (day);

-- == The change log ==

-- The log of changes of settings, keys, accounts and prices: one row for each change, inserted in
-- the same transaction.
create sequence change_position;
create table change (
  position bigint primary key,
  at timestamptz not null,
  actor_kind text not null
    check (actor_kind in ('operator', 'account', 'key', 'provider_news', 'gateway')),
  actor_id text not null check (length(actor_id) <= 200),
  -- Not a foreign key, because the row outlives the organization.
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
-- For finding the last recorded prices of a listing, with which the next catalog is compared.
create index change_of_prices on change (target, position) where action = 'price.change';
