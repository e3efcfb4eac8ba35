-- Functions of the features: video jobs, purchases, sums for reports, account notices.

-- The job and its attempt's mark are written together or not at all. The fence is the same as that
-- of a hold: an attempt of an epoch that was declared dead is recovery's, which may already have
-- seen it without its mark.
create function accept_job(
  p_job jsonb, p_deadline_ms double precision, p_first_poll_ms double precision
) returns boolean language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
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
  -- Two equal calls at once both succeed.
  if not exists (select from video_job
      where job_id = v_job.job_id and attempt_id = v_job.attempt_id) then
    raise exception 'video job % belongs to another attempt', v_job.job_id using errcode = 'TM409';
  end if;
  return true;
end $$;

-- Ends a job and closes its attempt, once. Locks in the ledger's order, and the job behind the
-- wallet: any other lock of a job is the last one of its transaction.
create function finish_job(
  p_job text, p_state text, p_error_code text, p_expires_at timestamptz, p_reported_cost numeric,
  p_attempt bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cost numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  p_served_model text[], p_substituted boolean[]
) returns setof video_job language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
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
      p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted);
    update video_job set state = p_state, error_code = p_error_code, expires_at = p_expires_at,
      reported_cost_pico = p_reported_cost, debit = v_closed.debited[1],
      progress = case p_state when 'completed' then 100 else progress end,
      completed_at = clock_timestamp(), polled_at = clock_timestamp(), polls = polls + 1,
      lease_until = null
    where job_id = p_job returning * into v_job;
  end if;
  return next v_job;
end $$;

create function refuse_change_of_ended_job() returns trigger language plpgsql as $$
begin
  raise exception 'video job % has ended and does not change', old.job_id;
end $$;
create trigger ended_job_is_final before update on video_job
  for each row when (old.completed_at is not null)
  execute function refuse_change_of_ended_job();

-- What is taken back is owed by the organization (receivable:<org>), and a wallet that owes pays
-- whatever becomes free in it at once, by a new credit or by a released hold. So a wallet that
-- still owes has nothing free, which the row itself checks.
create function pay_what_is_owed() returns trigger language plpgsql as $$
declare
  v_position constant bigint := nextval('ledger_position');
  v_receivable constant text := 'receivable:' || new.org_id;
  v_amount constant bigint := least(new.owed, new.credits - new.debits - new.reserved);
begin
  insert into transfer (position, kind, debit_account, credit_account, amount, ref)
  values (v_position, 'collect', new.account_id, v_receivable, v_amount, 'collect:' || v_position);
  insert into account as h (account_id, credits) values (v_receivable, v_amount)
  on conflict (account_id) do update set credits = h.credits + excluded.credits;
  new.debits := new.debits + v_amount;
  new.owed := new.owed - v_amount;
  return new;
end $$;

create trigger wallet_pays_what_it_owes before update on account
  for each row when (new.owed > 0 and new.credits - new.debits - new.reserved > 0)
  execute function pay_what_is_owed();

-- Lock order as everywhere: the wallet, then the accounts of the platform.
create function lock_purchase(p_purchase text) returns purchase language plpgsql as $$
declare
  v_purchase purchase;
begin
  select * into v_purchase from purchase where purchase_id = p_purchase;
  if not found then
    raise exception 'no purchase %', p_purchase using errcode = 'TM404';
  end if;
  perform lock_wallets(array[v_purchase.org_id]);
  -- Again: what is read behind the lock does not change before the commit.
  select * into v_purchase from purchase where purchase_id = p_purchase for update;
  return v_purchase;
end $$;

create function cash_of(p_purchase purchase) returns text language sql immutable as $$
  select case when p_purchase.is_test_money then 'cash:test' else 'cash:stripe' end
$$;

-- Money in: to the wallet, which first pays what it owes.
create function credit_purchase(p_purchase purchase, p_kind text, p_amount bigint, p_ref text)
returns void language plpgsql as $$
declare
  v_wallet constant text := 'wallet:' || p_purchase.org_id;
begin
  insert into transfer (position, kind, debit_account, credit_account, amount, ref)
  values (nextval('ledger_position'), p_kind, cash_of(p_purchase), v_wallet, p_amount, p_ref);
  update account set credits = credits + p_amount where account_id = v_wallet;
  insert into account as h (account_id, debits) values (cash_of(p_purchase), p_amount)
  on conflict (account_id) do update set debits = h.debits + excluded.debits;
end $$;

-- Money out: the organization owes it, and its wallet pays what it can.
create function charge_purchase(p_purchase purchase, p_kind text, p_amount bigint, p_ref text)
returns void language plpgsql as $$
declare
  v_receivable constant text := 'receivable:' || p_purchase.org_id;
begin
  insert into transfer (position, kind, debit_account, credit_account, amount, ref)
  values (nextval('ledger_position'), p_kind, v_receivable, cash_of(p_purchase), p_amount, p_ref);
  insert into account as h (account_id, debits) values (v_receivable, p_amount)
  on conflict (account_id) do update set debits = h.debits + excluded.debits;
  update account set owed = owed + p_amount where account_id = 'wallet:' || p_purchase.org_id;
  insert into account as h (account_id, credits) values (cash_of(p_purchase), p_amount)
  on conflict (account_id) do update set credits = h.credits + excluded.credits;
end $$;

-- All claims of a purchase together take what they claim, but never more than it gave. Each arrival
-- and each end of a claim moves the difference, so that their order does not matter.
create function apply_claims(p_purchase purchase) returns void language plpgsql as $$
declare
  v_claim purchase_claim;
  v_taken bigint;
  v_due bigint;
begin
  for v_claim in
    select * from purchase_claim where purchase_id = p_purchase.purchase_id
      and (case when is_reversed then taken is not null and given_back is null
        else taken is null end)
    order by created_at, claim_id
  loop
    select coalesce(sum(c.taken), 0) - coalesce(sum(c.given_back), 0),
      least(p_purchase.micro_usd, coalesce(sum(c.micro_usd) filter (where not c.is_reversed
        and (c.taken is not null or c.claim_id = v_claim.claim_id)), 0))
    into v_taken, v_due
    from purchase_claim c where c.purchase_id = p_purchase.purchase_id;
    if v_claim.is_reversed then
      update purchase_claim set given_back = v_taken - v_due where claim_id = v_claim.claim_id;
    else
      update purchase_claim set taken = v_due - v_taken where claim_id = v_claim.claim_id;
    end if;
    if v_due > v_taken then
      perform charge_purchase(p_purchase,
        case v_claim.kind when 'refund' then 'purchase_refund' else 'dispute' end,
        v_due - v_taken, v_claim.kind || ':' || v_claim.claim_id);
    elsif v_due < v_taken then
      perform credit_purchase(p_purchase,
        case v_claim.kind when 'refund' then 'refund_reversal' else 'dispute_won' end,
        v_taken - v_due, case v_claim.kind when 'refund' then 'refund-reversal:'
          else 'dispute-won:' end || v_claim.claim_id);
    end if;
  end loop;
end $$;

-- Credits a purchase once; true: this call did it.
create function grant_purchase(p_purchase text, p_payment text, p_receipt text)
returns boolean language plpgsql as $$
declare
  v_purchase purchase;
begin
  v_purchase := lock_purchase(p_purchase);
  if v_purchase.granted_at is not null then
    update purchase set receipt_url = coalesce(receipt_url, p_receipt)
    where purchase_id = p_purchase and receipt_url is null and p_receipt is not null;
    return false;
  end if;
  perform credit_purchase(v_purchase, 'purchase', v_purchase.micro_usd, 'purchase:' || p_purchase);
  update org set funded_at = coalesce(funded_at, now()), bought_at = coalesce(bought_at, now())
  where org_id = v_purchase.org_id;
  update purchase set state = 'granted', granted_at = now(), checked_at = null,
    payment_id = coalesce(p_payment, payment_id), receipt_url = coalesce(p_receipt, receipt_url)
  where purchase_id = p_purchase;
  perform apply_claims(v_purchase);
  return true;
end $$;

-- A refund or dispute, or an update of it; an end that was reported once stays. True: it is new.
create function claim_purchase(p_purchase text, p_claim text, p_kind text, p_amount bigint,
  p_is_reversed boolean, p_is_over boolean) returns boolean language plpgsql as $$
declare
  v_purchase purchase;
  v_is_new boolean;
begin
  v_purchase := lock_purchase(p_purchase);
  v_is_new := not exists (select from purchase_claim where claim_id = p_claim);
  insert into purchase_claim as c (claim_id, purchase_id, kind, micro_usd, is_reversed, is_over)
  values (p_claim, p_purchase, p_kind, p_amount, p_is_reversed, p_is_reversed or p_is_over)
  on conflict (claim_id) do update set is_reversed = c.is_reversed or excluded.is_reversed,
    is_over = c.is_over or excluded.is_over
  where c.purchase_id = excluded.purchase_id and c.kind = excluded.kind;
  if v_purchase.granted_at is not null then perform apply_claims(v_purchase); end if;
  return v_is_new;
end $$;

create function note_usage_change() returns trigger language plpgsql as $$
begin
  insert into usage_stale (org_id, day) values (new.org_id, tg_argv[0]::date);
  return null;
end $$;

-- Spans grow with the number, so that the middle of one is at most 3.2 percent off; below 32 exact.
create function first_byte_span(p_ms integer) returns smallint language sql immutable as $$
  select case when p_ms is null then null when p_ms < 32 then greatest(p_ms, 0)
    else (floor(ln(least(p_ms, 16777215)) / ln(2) + 1e-9)::integer - 4) * 16
      + (least(p_ms, 16777215) >> (floor(ln(least(p_ms, 16777215)) / ln(2) + 1e-9)::integer - 4))
    end::smallint
$$;

create function attempt_day(p_attempt bigint) returns date language sql immutable as $$
  select (timestamp '2025-01-01' + ((p_attempt >> 22) * interval '1 millisecond'))::date
$$;

-- The milliseconds in a request's id.
create function request_ms(p_request uuid) returns bigint language sql immutable as $$
  select ('x' || left(replace(p_request::text, '-', ''), 12))::bit(48)::bigint
$$;

create function request_day(p_request uuid) returns date language sql immutable as $$
  select (timestamp '1970-01-01' + (request_ms(p_request) * interval '1 millisecond'))::date
$$;

-- Notifies which organization's keys, limits, policy or connections changed, with the commit of
-- each change: of a process, a command or an operator. src/accounts/account-notices.ts listens.
create function notify_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('tokenmarket_account',
    case tg_op when 'DELETE' then old.org_id else new.org_id end);
  return null;
end $$;

create trigger org_change_is_notified after update or delete on org
  for each row execute function notify_account_change();
create trigger api_key_change_is_notified after update or delete on api_key
  for each row execute function notify_account_change();
create trigger limit_override_change_is_notified after update or delete on limit_override
  for each row execute function notify_account_change();
create trigger dedicated_endpoint_change_is_notified after update or delete on dedicated_endpoint
  for each row execute function notify_account_change();
create trigger routing_policy_change_is_notified after update or delete on routing_policy
  for each row execute function notify_account_change();
create trigger connection_change_is_notified after update or delete on connection
  for each row execute function notify_account_change();

-- These may also be set for the first time; restrictions take effect, and end, as fast.
create trigger new_limit_override_is_notified after insert on limit_override
  for each row execute function notify_account_change();
create trigger new_dedicated_endpoint_is_notified after insert on dedicated_endpoint
  for each row execute function notify_account_change();
create trigger new_routing_policy_is_notified after insert on routing_policy
  for each row execute function notify_account_change();
create trigger new_connection_is_notified after insert on connection
  for each row execute function notify_account_change();
create trigger usage_hold_change_is_notified after insert or update or delete on usage_hold
  for each row execute function notify_account_change();
