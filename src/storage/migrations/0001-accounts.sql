-- Organizations, their keys and rules, and the people and browsers behind them.

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
  contract jsonb,
  created_at timestamptz not null default now()
);
create index org_by_email on org (lower(btrim(email)));

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
  disabled_at timestamptz
);
create index api_key_by_org on api_key (org_id, created_at);
-- One, when several tabs finish the first sign-in at once.
create unique index one_trial_key_per_org on api_key (org_id) where origin = 'trial';
create unique index one_playground_key on api_key (org_id)
  where origin = 'playground' and disabled_at is null;

-- What an organization or its contract sets.
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

-- People and their browsers. A secret that opens something (cookie, link, code) is kept as its
-- SHA-256; what is needed in the clear again is sealed under a key that is not in the database.
create table console_account (
  account_id text primary key,
  org_id text not null unique references org,
  email text not null,
  email_norm text not null,
  email_verified_at timestamptz,
  name text,
  created_at timestamptz not null
);
create unique index one_account_per_verified_email on console_account (email_norm)
  where email_verified_at is not null;

create table console_identity (
  issuer text not null,
  subject text not null,
  account_id text not null references console_account,
  linked_at timestamptz not null,
  primary key (issuer, subject)
);
create index console_identity_by_account on console_identity (account_id);

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
  sealed_refresh bytea,
  user_agent text,
  ended_at timestamptz,
  ended_reason text check (ended_reason in ('signed-out', 'idp-ended')),
  check ((ended_at is null) = (ended_reason is null)),
  check (ended_at is null or sealed_refresh is null)
);
create index console_session_by_account on console_session (account_id);
create index console_session_by_identity on console_session (issuer, subject)
  where ended_at is null;
create index console_session_by_end on console_session (expires_at);

create table console_sign_in (
  browser_hash bytea primary key check (octet_length(browser_hash) = 32),
  state text not null,
  nonce text not null,
  code_verifier text not null,
  return_path text,
  -- Set: a check whether the session at the identity provider is still alive.
  session_id bytea,
  expires_at timestamptz not null
);
create index console_sign_in_by_end on console_sign_in (expires_at);

create table console_reveal (
  session_id bytea primary key references console_session on delete cascade,
  sealed_key bytea not null,
  label text not null,
  name text not null,
  expires_at timestamptz not null
);

create table seen_logout_token (
  issuer text not null,
  token_id text not null,
  expires_at timestamptz not null,
  primary key (issuer, token_id)
);

-- The bundled issuer: links that make a browser its owner's, such browsers, and its own records.
create table local_claim (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  email text,
  expires_at timestamptz not null
);
create table local_browser (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  email text not null,
  expires_at timestamptz not null
);
create table local_issuer_record (
  kind text not null,
  id_hash bytea not null check (octet_length(id_hash) = 32),
  payload jsonb not null,
  uid text,
  grant_id text,
  consumed_at timestamptz,
  expires_at timestamptz not null,
  primary key (kind, id_hash)
);
create index local_issuer_record_by_uid on local_issuer_record (uid) where uid is not null;
create index local_issuer_record_by_grant on local_issuer_record (grant_id)
  where grant_id is not null;
create index local_issuer_record_by_end on local_issuer_record (expires_at);
