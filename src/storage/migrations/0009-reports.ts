/**
 * What the console reads of the journal. Days that are over are summed up once per organization, so
 * that a month is read from a few thousand rows. Sums only stand beside the journal: without them
 * every report is the same.
 */
const rollupTables = `
-- Days of the journal whose table tells of every change to it.
create table usage_day (
  day date primary key,
  is_done boolean not null default false
);

-- An organization's attempts of a day are summed up in usage_sum.
create table usage_rolled (
  org_id text not null,
  day date not null,
  debit bigint not null,
  primary key (org_id, day)
);

-- Whole requests, by the day of their attempts and by what a report may ask for. The request's own
-- day is the one its id carries, which another clock may have made.
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
  -- How many first bytes came in which span of milliseconds.
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  primary key (org_id, day, request_day, model_id, key_id, provider_id, status)
);
create index usage_sum_by_key on usage_sum (org_id, key_id, day);

-- Requests that are in no sum, because a day does not hold them whole: they are few, and read from
-- the journal.
create table usage_apart (
  org_id text not null,
  request_id uuid not null,
  day date not null,
  primary key (org_id, request_id, day)
);
create index usage_apart_by_day on usage_apart (org_id, day);

-- Something changed in a day that is told of. Rows are only added, and taken away by whoever sums
-- up with what they tell of in sight: a change and its note are committed together.
create table usage_stale (
  org_id text not null,
  day date not null,
  note_id bigint generated always as identity
);
create index usage_stale_by_org on usage_stale (org_id, day);

create function note_usage_change() returns trigger language plpgsql as $$
begin
  insert into usage_stale (org_id, day) values (new.org_id, tg_argv[0]::date);
  return null;
end $$;
`;

/** Spans grow with the number, so that the middle of one is at most 3.2 percent off; below 32 exact. */
const firstByteSpan = `
create function first_byte_span(p_ms integer) returns smallint language sql immutable as $$
  select case when p_ms is null then null when p_ms < 32 then greatest(p_ms, 0)
    else (floor(ln(least(p_ms, 16777215)) / ln(2) + 1e-9)::integer - 4) * 16
      + (least(p_ms, 16777215) >> (floor(ln(least(p_ms, 16777215)) / ln(2) + 1e-9)::integer - 4))
    end::smallint
$$;

create function attempt_day(p_attempt bigint) returns date language sql immutable as $$
  select (timestamp '2025-01-01' + ((p_attempt >> 22) * interval '1 millisecond'))::date
$$;

-- The milliseconds in a request's id.
create function request_ms(p_request uuid) returns bigint language sql immutable as $$
  select ('x' || left(replace(p_request::text, '-', ''), 12))::bit(48)::bigint
$$;

create function request_day(p_request uuid) returns date language sql immutable as $$
  select (timestamp '1970-01-01' + (request_ms(p_request) * interval '1 millisecond'))::date
$$;
`;

const indexes = `
create index refused_request_by_org on refused_request (org_id, request_id) include (key_id);
create index refused_request_by_key on refused_request (org_id, key_id, request_id);
-- A wallet's page adds up days that were taken out of the journal.
create index retired_spend_by_id on retired_spend (scope, id, day);

create unique index one_playground_key on api_key (org_id)
  where origin = 'playground' and disabled_at is null;
`;

export const reportsSql: string = [rollupTables, firstByteSpan, indexes].join("\n");
