-- program_min: 11
-- When the first key was shown for the first time: until its owner says that it is saved, it can be
-- shown again to the same session, and only the first time is a line of the change log.
alter table console_reveal add column shown_at timestamptz;

-- Where a running instance has its console: a command beside it prints links that lead there. A line
-- counts as long as the lease of its instance does.
create table console_address (
  instance_id text primary key,
  url text not null
);
