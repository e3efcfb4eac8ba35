import { byIndex, closeParameters } from "./0003-closing-functions.ts";

/** Jobs of providers that outlive a request. Their attempts may be retired: no key refers to them. */
const videoJobTable = `
create table video_job (
  job_id text primary key,
  org_id text not null references org,
  key_id text not null references api_key,
  request_id uuid not null,
  attempt_id bigint not null unique,
  model_id text not null,
  provider_id text not null,
  deployment_id text not null,
  connection_id text,
  provider_job_id text not null,
  reserve bigint not null check (reserve >= 0),
  seconds integer not null check (seconds > 0),
  options jsonb not null,
  state text not null check (state in ('queued', 'in_progress', 'completed', 'failed')),
  progress smallint not null check (progress between 0 and 100),
  started_at timestamptz not null,
  created_at timestamptz not null,
  completed_at timestamptz,
  expires_at timestamptz,
  error_code text,
  -- What the provider says that it cost, whoever bears it.
  reported_cost_pico numeric,
  debit bigint,
  deadline_at timestamptz not null,
  polled_at timestamptz,
  next_poll_at timestamptz not null,
  lease_until timestamptz,
  polls integer not null,
  poll_failures integer not null,
  missing_polls integer not null,
  missing_at timestamptz,
  check ((state in ('completed', 'failed')) = (completed_at is not null)),
  check ((state = 'failed') = (error_code is not null)),
  check ((debit is null) = (completed_at is null)),
  check (state <> 'completed' or progress = 100),
  check (state = 'completed' or progress < 100)
);
create index video_job_due on video_job (next_poll_at) where completed_at is null;
create index video_job_by_org on video_job (org_id, created_at);

create function refuse_change_of_ended_job() returns trigger language plpgsql as $$
begin
  raise exception 'video job % has ended and does not change', old.job_id;
end $$;
create trigger ended_job_is_final before update on video_job
  for each row when (old.completed_at is not null)
  execute function refuse_change_of_ended_job();
`;

/**
 * The job and its attempt's mark come together or not at all. The fence is the same as that of a
 * hold: an attempt of a life that was declared dead is recovery's, which may already have seen it
 * without its mark.
 */
const acceptJob = `
create function accept_job(p_job jsonb, p_deadline_ms double precision,
  p_first_poll_ms double precision) returns boolean language plpgsql ${byIndex} as $$
declare
  v_job video_job := jsonb_populate_record(null::video_job, p_job);
begin
  if exists (select from video_job
      where job_id = v_job.job_id and attempt_id = v_job.attempt_id) then
    return true;
  end if;
  perform 1 from attempt a join instance i on i.instance_id = a.instance_id
  where a.attempt_id = v_job.attempt_id and a.epoch = i.epoch
    and a.org_id = v_job.org_id and a.key_id = v_job.key_id
  for share of i;
  if not found then return false; end if;
  if not attach_job(v_job.attempt_id, v_job.provider_job_id) then return false; end if;
  v_job.created_at := clock_timestamp();
  v_job.deadline_at := v_job.created_at + p_deadline_ms * interval '1 millisecond';
  v_job.next_poll_at := v_job.created_at + p_first_poll_ms * interval '1 millisecond';
  v_job.polls := 0;
  v_job.poll_failures := 0;
  v_job.missing_polls := 0;
  insert into video_job select v_job.* on conflict (job_id) do nothing;
  -- Somebody who asks twice at once is answered twice.
  if not exists (select from video_job
      where job_id = v_job.job_id and attempt_id = v_job.attempt_id) then
    raise exception 'video job % belongs to another attempt', v_job.job_id using errcode = 'TM409';
  end if;
  return true;
end $$;
`;

/**
 * Ends a job and closes its attempt, once. Locks in the ledger's order, and the job behind the
 * wallet: whoever else locks a job locks nothing after it.
 */
const finishJob = `
create function finish_job(
  p_job text, p_state text, p_error_code text, p_expires_at timestamptz, p_reported_cost numeric,
  ${closeParameters}
) returns setof video_job language plpgsql ${byIndex} as $$
declare
  v_job video_job;
  v_closed record;
begin
  perform enter_settlement_gate();
  perform lock_wallets(array(select org_id from video_job where job_id = p_job));
  select * into v_job from video_job where job_id = p_job for update;
  if not found then return; end if;
  if v_job.completed_at is null then
    if p_attempt is distinct from array[v_job.attempt_id] then
      raise exception 'video job % ends with its own attempt', p_job using errcode = 'TM409';
    end if;
    v_closed := close_batch(p_attempt, p_outcome, p_basis, p_prompt, p_cached_prompt,
      p_cache_write, p_completion, p_internal_reasoning, p_cost, p_status, p_error, p_started_ms,
      p_first_byte_ms, p_duration_ms, p_final);
    update video_job set state = p_state, error_code = p_error_code, expires_at = p_expires_at,
      reported_cost_pico = p_reported_cost, debit = v_closed.debited[1],
      progress = case p_state when 'completed' then 100 else progress end,
      completed_at = clock_timestamp(), polled_at = clock_timestamp(), polls = polls + 1,
      lease_until = null
    where job_id = p_job returning * into v_job;
  end if;
  return next v_job;
end $$;
`;

export const videoJobsSql: string = [videoJobTable, acceptJob, finishJob].join("\n");
