-- program_min: 11
-- Why the gateway refused a request: which limit, in which figures, and what was dropped from it. A
-- program of before writes none. Amounts are texts of dollars; nothing of the body is in it.

alter table refused_request add column reason jsonb;
