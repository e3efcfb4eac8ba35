/**
 * People and their browsers. What opens something (cookies, links, codes) is kept as its SHA-256,
 * what must come back in the clear is sealed under a key that is not in the database.
 */
export const identitySql: string = `
-- However many tabs finish the first sign-in at once.
create unique index one_trial_key_per_org on api_key (org_id) where origin = 'trial';
create index org_by_email on org (lower(btrim(email)));

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
  -- When the identity provider last said that its session lives, and when it was last asked.
  idp_checked_at timestamptz not null,
  idp_tried_at timestamptz not null,
  -- Since when the browser, in use, has been expected to ask it.
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
  -- Set: a question whether the session at the identity provider still lives.
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
`;
