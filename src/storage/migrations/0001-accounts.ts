/** Organizations, keys and the limits they set for themselves. */
export const accountsSql: string = `
create table org (
  org_id text primary key,
  name text not null,
  email text not null,
  email_verified boolean not null,
  cap_micro_usd bigint check (cap_micro_usd > 0),
  funded_at timestamptz,
  contract jsonb,
  created_at timestamptz not null default now()
);

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
`;
