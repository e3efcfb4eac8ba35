-- program_min: 11

create table upgrade_table (org_id text primary key references org, noted_at timestamptz not null default now());

create function upgrade_function(amount bigint) returns bigint language sql immutable as $$
  select amount + 1
$$;
