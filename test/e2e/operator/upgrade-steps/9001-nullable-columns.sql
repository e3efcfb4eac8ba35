-- A step as a later release has it, on every table that a reserve writes or reads.
-- program_min: 11

alter table attempt add column upgrade_note text;
alter table hold add column upgrade_note text;
alter table account add column upgrade_count bigint not null default 0;
