/**
 * How many requests of a key were refused in a minute. The first of them have a row of their own in
 * `refused_request`; what is beyond those is only counted here.
 */
export const refusedMinutesSql: string = `
create table refused_minute (
  org_id text not null,
  minute timestamptz not null,
  key_id text not null,
  -- Requests that came with their record, and requests without a row in refused_request.
  recorded bigint not null,
  unlisted bigint not null,
  primary key (org_id, minute, key_id),
  check (recorded >= 0 and unlisted >= 0)
) with (fillfactor = 70);
create index refused_minute_by_minute on refused_minute (minute);
`;
