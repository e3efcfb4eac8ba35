-- program_min: 11
-- How far the statements of a month are closed in the background.

create table org_statement_pass (
  month date primary key check (extract(day from month) = 1),
  -- Organizations up to this one are done, in the order of their ids.
  after_org_id text not null default '',
  -- A statement could not be made: the pass begins once more.
  has_failed boolean not null default false,
  -- Until then it belongs to the process that took it, or it waits.
  until_at timestamptz not null default '-infinity',
  -- Every organization that had movement in the month has its statement.
  ended_at timestamptz
);
