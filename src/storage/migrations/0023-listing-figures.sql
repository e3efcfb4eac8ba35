-- program_min: 11
-- How well listings served, in sums made from closed attempts: of days for a month, of hours for two
-- days. A program one step older neither reads nor writes them; what it sums up anew is noticed here
-- by the mark that it does not set.

alter table usage_rolled add column has_listings boolean not null default false;
alter table usage_day add column is_published boolean not null default false;

-- By the time of admission, which the id of an attempt carries. Attempts that neither succeeded nor
-- failed by the provider's fault are in `attempts` alone. Hours are bits, that of midnight the lowest:
-- of those with calls, and of those in which a call succeeded.
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
  -- Of streamed answers that arrived: their tokens, and the time from the first byte to the last.
  streamed bigint not null,
  streamed_tokens bigint not null,
  streamed_ms bigint not null,
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  primary key (org_id, day, provider_id, model_id),
  check (succeeded + failed <= attempts and streamed <= succeeded),
  check (up_hours & used_hours = up_hours)
);
create index listing_day_sum_by_day on listing_day_sum (day);

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
  primary key (org_id, hour, provider_id, model_id),
  check (succeeded + failed <= attempts and streamed <= succeeded)
);
create index listing_hour_sum_by_hour on listing_hour_sum (hour);

-- Hours that were summed up for all organizations, and when.
create table listing_hour (
  hour timestamptz primary key,
  folded_at timestamptz not null
);

-- Days that may be shown across organizations. A row is written once, after the day, and never again,
-- so that two readings of it cannot be subtracted from one another.
create table listing_public_day (
  provider_id text not null,
  model_id text not null,
  day date not null,
  succeeded bigint not null,
  failed bigint not null,
  used_hours integer not null,
  up_hours integer not null,
  -- Zero where too few organizations streamed.
  streamed bigint not null,
  streamed_tokens bigint not null,
  streamed_ms bigint not null,
  first_byte_spans smallint[] not null,
  first_byte_counts integer[] not null,
  primary key (provider_id, model_id, day)
);
create index listing_public_day_by_day on listing_public_day (day);
