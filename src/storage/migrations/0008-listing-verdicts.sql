-- What conformance runs found of each listing, and which listings break their promises on live traffic.

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

create table suspect_listing (
  provider_id text not null,
  model_id text not null,
  since timestamptz not null default now(),
  -- How many answers of how many broke which promise: {"answers", "substituted", …}
  breaches jsonb not null,
  primary key (provider_id, model_id)
);

-- Records the verdicts of one run. The same run may be recorded again; a listing that has passed is
-- suspect no more; of each listing the newest hundred verdicts are kept.
create function record_verdicts(
  p_provider text[], p_model text[], p_upstream text[], p_manifest text[], p_verdict text[],
  p_checked_at timestamptz[], p_source text[], p_checks text[]
) returns void language plpgsql as $$
begin
  update verdict_version set version = version + 1;
  insert into listing_verdict
    (provider_id, model_id, upstream_id, manifest_sha256, verdict, checked_at, source, checks)
  select provider_id, model_id, upstream_id, manifest_sha256, verdict,
    -- A report from another machine may be ahead of this one's clock.
    least(checked_at, now()), source, checks::json
  from unnest(p_provider, p_model, p_upstream, p_manifest, p_verdict, p_checked_at, p_source, p_checks)
    as new (provider_id, model_id, upstream_id, manifest_sha256, verdict, checked_at, source, checks)
  on conflict do nothing;
  delete from suspect_listing s
  using unnest(p_provider, p_model, p_verdict, p_checked_at)
    as new (provider_id, model_id, verdict, checked_at)
  where s.provider_id = new.provider_id and s.model_id = new.model_id
    and new.verdict in ('pass', 'warn') and new.checked_at > s.since;
  delete from listing_verdict old
  where (old.provider_id, old.model_id) in (select * from unnest(p_provider, p_model))
    and old.verdict_id not in (
      select kept.verdict_id from listing_verdict kept
      where kept.provider_id = old.provider_id and kept.model_id = old.model_id
      order by kept.checked_at desc, kept.verdict_id desc limit 100
    );
end $$;
