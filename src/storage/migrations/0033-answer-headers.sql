-- program_min: 11
-- What an answer's headers said and nothing else in the row says: what was left of the limits, how long
-- the request was paced, when to come back, and which parameters were not sent to the provider.
-- Written with the end of the attempt, in the row that is written anyway; null: the header was not sent.
-- The functions that write them are in 0035.

alter table attempt add column remaining_rpm bigint, add column remaining_tpm bigint,
  add column queue_ms integer, add column retry_after integer,
  -- With commas between the names, as in the header.
  add column dropped_params text;

create or replace view journal as
select attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id, upstream_model_id,
  price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve, month, state,
  resumable, provider_job_id, outcome, basis, prompt, cached_prompt, cache_write, completion,
  internal_reasoning, cost_pico, debit, overrun, upstream_status, error_class, served_model,
  substituted, final, started_at, first_byte_ms, duration_ms, opened_position, closed_position,
  corrected_position, created_at, closed_at, corrected_at, cache_write_1h, owed_pico,
  remaining_rpm, remaining_tpm, queue_ms, retry_after, dropped_params
from attempt
union all
select attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id, upstream_model_id,
  price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve, month, 'open',
  resumable, provider_job_id, null, null, null::bigint, null::bigint, null::bigint, null::bigint,
  null::bigint, null::numeric(38, 0), 0::bigint, 0::bigint, null::smallint, null, null,
  null::boolean, false, null::timestamptz, null::integer, null::integer, opened_position,
  null::bigint, null::bigint, created_at, null::timestamptz, null::timestamptz, null::bigint,
  null::numeric(38, 0), null::bigint, null::bigint, null::integer, null::integer, null
from hold where not annulled;
