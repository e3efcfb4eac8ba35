-- What an open report on the transfers is in the way of.
-- program_min: 11

alter table transfer add column upgrade_note text;
