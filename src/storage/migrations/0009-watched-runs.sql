-- Runs of a scheduled conformance watch: when a listing was asked last, and what an interval has cost.

create table watched_run (
  run_id bigint generated always as identity primary key,
  provider_id text not null,
  model_id text not null,
  started_at timestamptz not null default now(),
  -- The most that it may cost: what a run counts as until it has ended.
  budget bigint not null check (budget >= 0),
  spent bigint check (spent >= 0),
  -- Null: it is under way, or its process died. 'ended': by the operator, so it does not count as a run.
  outcome text check (outcome in ('recorded', 'unrecorded', 'ended')),
  check ((spent is null) = (outcome is null))
);
create index watched_run_by_listing on watched_run (provider_id, model_id, started_at desc);
create index watched_run_by_start on watched_run (started_at);
