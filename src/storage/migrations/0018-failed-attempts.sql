-- program_min: 11
-- concurrently
-- The log of requests that failed reads those alone, however many succeeded between them. Few attempts
-- are in it, so that it costs a batch nearly nothing.

create index concurrently attempt_by_org_failed on attempt (org_id, request_id)
  where outcome is distinct from 'completed';
