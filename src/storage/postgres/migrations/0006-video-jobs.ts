/** Jobs of providers that outlive a request, and the step that ends one and its attempt together. */
export const videoJobsSql: string = `
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
  created_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  expires_at timestamptz,
  error_code text,
  debit bigint,
  deadline_at timestamptz not null,
  polled_at timestamptz,
  next_poll_at timestamptz not null,
  lease_until timestamptz,
  poll_failures integer not null default 0,
  missing_polls integer not null default 0,
  missing_at timestamptz,
  check ((state in ('completed', 'failed')) = (completed_at is not null)),
  check ((state = 'failed') = (error_code is not null)),
  check ((debit is null) = (completed_at is null))
);
create index video_job_due on video_job (next_poll_at) where completed_at is null;
create index video_job_by_org on video_job (org_id, created_at);
`;
