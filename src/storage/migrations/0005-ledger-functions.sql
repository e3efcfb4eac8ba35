-- The ledger's other verbs: partitions, settlement, recovery, adoption, credit.

-- The first id of an instant: 41 bits of milliseconds since 2025, then 22 bits of other things.
create function attempt_id_at(p_at timestamptz) returns bigint language sql immutable as $$
  select (floor(extract(epoch from p_at) * 1000)::bigint - 1735689600000) << 22
$$;

-- A table of its own first: to attach one does not stop the batches that run meanwhile.
create function ensure_attempt_partition(p_day date) returns void language plpgsql as $$
declare
  v_name constant text := 'attempt_' || to_char(p_day, 'YYYYMMDD');
begin
  -- The lock before the check: a session remembers that it once saw no such table.
  perform pg_advisory_xact_lock(hashtext('tokenmarket partitions'));
  if to_regclass(v_name) is not null then return; end if;
  execute format('create table %I (like attempt including all)', v_name);
  execute format('alter table attempt attach partition %I for values from (%s) to (%s)', v_name,
    attempt_id_at(p_day::timestamp at time zone 'utc'),
    attempt_id_at((p_day + 1)::timestamp at time zone 'utc'));
end $$;

create function ensure_attempt_partitions(p_days_ahead integer) returns void
language plpgsql as $$
declare
  v_today constant date := clock_timestamp() at time zone 'utc';
begin
  for i in -1 .. p_days_ahead loop
    perform ensure_attempt_partition(v_today + i);
  end loop;
end $$;

create function advance_settlement_horizon(p_through timestamptz) returns timestamptz
language plpgsql as $$
declare
  v_through timestamptz;
begin
  perform pg_advisory_xact_lock(hashtext('tokenmarket settlement'));
  if p_through > clock_timestamp() then
    raise exception 'the settlement horizon cannot be in the future' using errcode = 'TM400';
  end if;
  update settlement_horizon set through = greatest(through, p_through)
  returning through into v_through;
  return v_through;
end $$;

-- Closes up to p_limit open attempts whose instance has started again or was declared dead, at
-- their reserve. Resumable attempts (provider jobs) are adopted elsewhere.
create function recover_attempts(p_limit integer, out seen integer, out closed integer)
language plpgsql as $$
declare
  v_ids bigint[];
  v_size integer[];
  v_codes integer[];
begin
  select array_agg(t.attempt_id) into v_ids from (
    select a.attempt_id from attempt a join instance i on i.instance_id = a.instance_id
    where a.state = 'open' and a.epoch < i.epoch and not a.resumable
    order by a.attempt_id limit p_limit
  ) t;
  seen := coalesce(cardinality(v_ids), 0);
  closed := 0;
  if seen = 0 then return; end if;
  v_size := array[seen];
  select r.codes into v_codes from close_batch(v_ids,
    array_fill('unknown_after_crash'::text, v_size),
    array_fill('unknown_after_crash'::text, v_size),
    array_fill(null::bigint, v_size), array_fill(null::bigint, v_size),
    array_fill(null::bigint, v_size), array_fill(null::bigint, v_size),
    array_fill(null::bigint, v_size), array_fill(0::numeric, v_size),
    array_fill(null::smallint, v_size), array_fill(null::text, v_size),
    array_fill(null::bigint, v_size), array_fill(null::integer, v_size),
    array_fill(null::integer, v_size), array_fill(true, v_size),
    array_fill(null::text, v_size), array_fill(null::boolean, v_size)) r;
  select count(*) into closed from unnest(v_codes) as t(code) where t.code = 1;
end $$;

-- After a lost answer: takes the attempt's id with a void row, or voids the row that is there. A
-- reserve that commits later finds its id taken and fails as a whole.
create function annul_attempt(
  p_attempt bigint, p_request uuid, p_ordinal smallint, p_org text, p_key text, p_model text,
  p_provider text, p_upstream text, p_pin text, p_route text, p_stream boolean, p_tokens bigint,
  p_reserve bigint
) returns void language plpgsql as $$
declare
  v_position constant bigint := nextval('ledger_position');
begin
  perform enter_settlement_gate();
  insert into attempt (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
    upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve,
    month, state, outcome, basis, error_class, final, started_at, duration_ms, opened_position,
    closed_position, closed_at)
  values (p_attempt, p_request, p_ordinal, p_org, p_key, p_model, p_provider, p_upstream, p_pin,
    p_route, p_stream, '', 0, p_tokens, p_reserve,
    date_trunc('month', clock_timestamp() at time zone 'utc'), 'void', 'failed', 'none',
    'gateway_error', true, now(), 0, v_position, v_position, closing_time())
  on conflict (attempt_id) do nothing;
  if found then return; end if;
  perform close_batch(array[p_attempt], array['failed'], array['none'], array[null::bigint],
    array[null::bigint], array[null::bigint], array[null::bigint], array[null::bigint],
    array[0::numeric], array[null::smallint], array['gateway_error'], array[null::bigint],
    array[null::integer], array[0], array[true], array[null::text], array[null::boolean]);
end $$;

-- Provider jobs outlive the instance that started them: their attempts are marked before the client
-- hears of the job, and another instance takes them over when their own is dead.
create function attach_job(p_attempt bigint, p_job text) returns boolean
language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
begin
  update attempt set resumable = true, provider_job_id = p_job
  where attempt_id = p_attempt and closed_at is null;
  return found;
end $$;

create function adopt_attempts(p_instance text, p_epoch bigint, p_limit integer)
returns table (attempt_id bigint, request_id uuid, org_id text, key_id text, model_id text,
  provider_id text, upstream_model_id text, provider_job_id text, reserve bigint)
language plpgsql as $$
#variable_conflict use_column
begin
  perform 1 from instance where instance_id = p_instance and epoch = p_epoch for share;
  if not found then return; end if;
  return query
    update attempt a set instance_id = p_instance, epoch = p_epoch
    from (
      select o.attempt_id from attempt o join instance i on i.instance_id = o.instance_id
      where o.state = 'open' and o.resumable and o.epoch < i.epoch
      order by o.attempt_id limit p_limit for update of o skip locked
    ) t
    where a.attempt_id = t.attempt_id
    returning a.attempt_id, a.request_id, a.org_id, a.key_id, a.model_id, a.provider_id,
      a.upstream_model_id, a.provider_job_id, a.reserve;
end $$;

-- Credits a wallet once per reference; answers whether this call did it, and the balance.
create function grant_credit(p_org text, p_amount bigint, p_ref text,
  p_is_trial boolean, out created boolean, out balance bigint) language plpgsql as $$
declare
  v_wallet constant text := 'wallet:' || p_org;
  v_id bigint;
begin
  perform lock_wallets(array[p_org]);
  if not exists (select from account where account_id = v_wallet) then
    raise exception 'no organization %', p_org using errcode = 'TM404';
  end if;
  insert into transfer (position, kind, debit_account, credit_account, amount, ref)
  values (nextval('ledger_position'), 'grant', 'grants', v_wallet, p_amount, p_ref)
  on conflict (ref) do nothing returning transfer_id into v_id;
  created := v_id is not null;
  if created then
    update account set credits = credits + p_amount where account_id = v_wallet;
    insert into account as h (account_id, debits) values ('grants', p_amount)
    on conflict (account_id) do update set debits = h.debits + excluded.debits;
    update org set funded_at = coalesce(funded_at, now()),
      bought_at = case when p_is_trial then bought_at else coalesce(bought_at, now()) end
    where org_id = p_org;
  elsif not exists (select from transfer where ref = p_ref and kind = 'grant'
      and credit_account = v_wallet and amount = p_amount) then
    raise exception 'reference % belongs to another grant', p_ref using errcode = 'TM409';
  end if;
  select credits - debits - owed into balance from account where account_id = v_wallet;
end $$;

-- Moves money between accounts of the platform: all of these transfers, or none.
create function move_between_platform_accounts(p_moves jsonb) returns void language sql as $$
  with moved as (
    insert into transfer (position, kind, debit_account, credit_account, amount, ref)
    select nextval('ledger_position'), m.kind, m.debit, m.credit, m.amount, m.ref
    from jsonb_to_recordset(p_moves)
      as m(kind text, debit text, credit text, amount bigint, ref text)
    returning debit_account, credit_account, amount
  )
  insert into account as h (account_id, debits, credits)
  select t.account_id, sum(t.debits), sum(t.credits) from (
    select credit_account as account_id, 0::bigint as debits, amount as credits from moved
    union all
    select debit_account, amount, 0 from moved
  ) t
  group by t.account_id order by t.account_id
  on conflict (account_id) do update
    set debits = h.debits + excluded.debits, credits = h.credits + excluded.credits
$$;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% rows are never changed or deleted', tg_table_name;
end $$;
create trigger transfer_is_insert_only before update or delete on transfer
  for each row execute function refuse_change();
create trigger transfer_is_not_truncated before truncate on transfer
  for each statement execute function refuse_change();

-- Closed at most once, ever; what was charged without knowing may be corrected once.
create trigger closed_attempt_is_final before update on attempt
  for each row when (old.state <> 'open' and not (old.state = 'unknown_after_crash'
    and old.corrected_at is null and new.corrected_at is not null and new.state = old.state
    and new.reserve = old.reserve and new.org_id = old.org_id and new.key_id = old.key_id
    and new.month = old.month and new.closed_at = old.closed_at))
  execute function refuse_change();
create trigger attempt_is_kept before truncate on attempt
  for each statement execute function refuse_change();

create trigger cap_change_is_insert_only before update or delete on cap_change
  for each row execute function refuse_change();
create trigger price_pin_is_immutable before update or delete on price_pin
  for each row execute function refuse_change();

create trigger provider_period_is_insert_only before update or delete on provider_period
  for each row execute function refuse_change();
create trigger provider_period_is_not_truncated before truncate on provider_period
  for each statement execute function refuse_change();
create trigger provider_period_line_is_insert_only before update or delete on provider_period_line
  for each row execute function refuse_change();
create trigger provider_period_line_is_not_truncated before truncate on provider_period_line
  for each statement execute function refuse_change();
create trigger provider_payment_is_insert_only before update or delete on provider_payment
  for each row execute function refuse_change();
create trigger provider_payment_is_not_truncated before truncate on provider_payment
  for each statement execute function refuse_change();
create trigger provider_statement_is_insert_only before update or delete on provider_statement
  for each row execute function refuse_change();
create trigger provider_statement_is_not_truncated before truncate on provider_statement
  for each statement execute function refuse_change();

-- Caps are recorded in the order of the books: under the wallet's lock.
create function record_cap_change() returns trigger language plpgsql as $$
begin
  perform lock_wallets(array[new.org_id]);
  insert into cap_change (position, scope, id, org_id, cap_micro_usd)
  values (nextval('ledger_position'), tg_argv[0], to_jsonb(new) ->> tg_argv[1], new.org_id,
    new.cap_micro_usd);
  return null;
end $$;

create trigger org_cap_is_recorded after update on org
  for each row when (new.cap_micro_usd is distinct from old.cap_micro_usd)
  execute function record_cap_change('org', 'org_id');
create trigger new_org_cap_is_recorded after insert on org
  for each row when (new.cap_micro_usd is not null)
  execute function record_cap_change('org', 'org_id');
create trigger key_cap_is_recorded after update on api_key
  for each row when (new.cap_micro_usd is distinct from old.cap_micro_usd)
  execute function record_cap_change('key', 'key_id');
create trigger new_key_cap_is_recorded after insert on api_key
  for each row when (new.cap_micro_usd is not null)
  execute function record_cap_change('key', 'key_id');
