-- program_min: 11
-- The end of the last audit of the books, for who watches them: one row, the newest.

create table audit_result (
  only_row boolean primary key default true check (only_row),
  ended_at timestamptz not null,
  violations bigint not null check (violations >= 0)
);
