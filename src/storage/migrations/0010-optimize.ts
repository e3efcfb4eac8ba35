/** Searches for the best model: what was found, and never a prompt or an answer. */
export const optimizeSql: string = `
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
`;
