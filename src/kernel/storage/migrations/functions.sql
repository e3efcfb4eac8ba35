-- The functions and triggers, by subject, and the first partitions. The tables are in schema.sql.

-- == Ids and days ==

-- The lowest attempt id of an instant: 41 bits for the milliseconds since 2025, then 22 bits for
-- the number of the instance and a sequence number.
create function attempt_id_at(p_at timestamptz) returns bigint language sql immutable as $$
  select (floor(extract(epoch from p_at) * 1000)::bigint - 1735689600000) << 22
$$;

create function attempt_day(p_attempt bigint) returns date language sql immutable as $$
  select (timestamp '2025-01-01' + ((p_attempt >> 22) * interval '1 millisecond'))::date
$$;

-- The milliseconds since 1970 in a request id.
create function request_ms(p_request uuid) returns bigint language sql immutable as $$
  select ('x' || left(replace(p_request::text, '-', ''), 12))::bit(48)::bigint
$$;

create function request_day(p_request uuid) returns date language sql immutable as $$
  select (timestamp '1970-01-01' + (request_ms(p_request) * interval '1 millisecond'))::date
$$;

-- The first ledger position of a month. Each month has 10^12 positions, beginning in January 2025.
create function month_position(p_month date) returns bigint language sql immutable as $$
  select ((extract(year from p_month)::bigint - 2025) * 12 + extract(month from p_month)::bigint - 1)
    * 1000000000000
$$;

-- The histogram bucket of a time to first byte. Below 32 ms each millisecond has its own bucket;
-- above, no time is more than 3.2 percent away from the middle of its bucket.
create function first_byte_span(p_ms integer) returns smallint language sql immutable as $$
  select case when p_ms is null then null when p_ms < 32 then greatest(p_ms, 0)
    else (floor(ln(least(p_ms, 16777215)) / ln(2) + 1e-9)::integer - 4) * 16
      + (least(p_ms, 16777215) >> (floor(ln(least(p_ms, 16777215)) / ln(2) + 1e-9)::integer - 4))
    end::smallint
$$;

-- The margin of a settled attempt in micro-dollars, from amounts in pico-dollars. Negative if the
-- provider is owed more than the customer's price; 0 if `owed` is null, that is, equal to the cost.
create function margin_of(cost numeric, owed numeric) returns bigint language sql immutable as $$
  select case when owed is null then 0 else div(cost, 1000000) - div(owed, 1000000) end::bigint
$$;

-- == Rows that never change ==

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% rows are never changed or deleted', tg_table_name;
end $$;

-- Refuses every update and delete in tables whose rows are only inserted.
do $$
declare
  v_table text;
begin
  foreach v_table in array array[
    'transfer', 'transfer_ref', 'price_sheet', 'period_cap_change', 'audit_checkpoint',
    'audit_checkpoint_account', 'audit_checkpoint_spend', 'ledger_life', 'lost_cost',
    'provider_period', 'provider_period_line', 'provider_payment', 'provider_statement',
    'org_statement'
  ] loop
    execute format('create trigger %I before update or delete on %I
      for each row execute function refuse_change()', v_table || '_is_insert_only', v_table);
    execute format('create trigger %I before truncate on %I
      for each statement execute function refuse_change()', v_table || '_is_kept', v_table);
  end loop;
end $$;
create trigger cap_change_is_insert_only before update or delete on cap_change
  for each row execute function refuse_change();
create trigger price_pin_is_insert_only before update or delete on price_pin
  for each row execute function refuse_change();
create trigger hold_is_kept before truncate on hold
  for each statement execute function refuse_change();
create trigger attempt_is_kept before truncate on attempt
  for each statement execute function refuse_change();
-- Refuses changes of a finished attempt, except in `final` and `earlier`. These may change even on
-- a day that is frozen for its export, because another attempt of the request may end on a later
-- day. The trigger below also allows one correction of an attempt that was charged after a crash.
create function keep_finished_attempt() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    old.final := new.final;
    old.earlier := new.earlier;
    if old is not distinct from new then return new; end if;
  end if;
  raise exception '% rows are never changed or deleted', tg_table_name;
end $$;
create trigger finished_attempt_is_final before update on attempt
  for each row when (not (old.state = 'unknown_after_crash'
    and old.corrected_at is null and new.corrected_at is not null and new.state = old.state
    and new.reserve = old.reserve and new.org_id = old.org_id and new.key_id = old.key_id
    and new.month = old.month and new.closed_at = old.closed_at))
  execute function keep_finished_attempt();

-- == Locks ==

-- Locks the wallets of organizations. A wallet's lock also protects the reserved amounts, attempts,
-- spend and caps of its organization. To avoid deadlocks, every transaction locks in this order:
-- the settlement gate, the row of `instance`, rows of `org` by id, rows of `api_key`, wallets by
-- id, accounts of the platform by id. A change of a cap locks its row of `org` or `api_key` first,
-- and then the wallet, by a trigger; so every transaction that changes such a row and a wallet must
-- lock the row first.
create function lock_wallets(p_orgs text[]) returns void language sql as $$
  select 1 from account
  where account_id in (select distinct 'wallet:' || org from unnest(p_orgs) as t(org))
  order by account_id for update
$$;

-- Locks the settlement gate, an advisory lock, in shared mode. A transaction that closes attempts
-- does so before it reads the time of the closing; advance_settlement_horizon locks the gate
-- exclusively. So no attempt is closed with a time before the settlement horizon.
create function enter_settlement_gate() returns void language sql as $$
  select pg_advisory_xact_lock_shared(hashtext('tokenmarket settlement'))
$$;

create function closing_time() returns timestamptz language sql volatile as $$
  select greatest(clock_timestamp(), through) from settlement_horizon
$$;

-- Moves the settlement horizon to p_through, if that is later. Returns the horizon, which never
-- moves back.
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

-- == Partitions by day and by month ==

-- Creates the partition of a day as a table of its own and then attaches it, because creating it as
-- a partition at once would block running batches.
create function ensure_attempt_partition(p_day date) returns void language plpgsql as $$
declare
  v_name constant text := 'attempt_' || to_char(p_day, 'YYYYMMDD');
begin
  -- The lock comes first, because a session that finds no such table caches that result.
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

-- Inserts the reference of a new transfer into transfer_ref, whose primary key makes references
-- unique over all partitions.
create function refuse_used_ref() returns trigger language plpgsql as $$
begin
  insert into transfer_ref (ref) values (new.ref);
  return new;
end $$;
create trigger transfer_ref_is_new before insert on transfer
  for each row when (new.ref is not null) execute function refuse_used_ref();

create function ensure_transfer_partition(p_month date) returns void language plpgsql as $$
declare
  v_name constant text := 'transfer_' || to_char(p_month, 'YYYYMM');
begin
  perform pg_advisory_xact_lock(hashtext('tokenmarket partitions'));
  if to_regclass(v_name) is not null then return; end if;
  execute format('create table %I (like transfer including defaults including constraints,
    primary key (transfer_id), unique (ref))', v_name);
  execute format('create unique index on %I (attempt_id, kind) where attempt_id is not null', v_name);
  execute format('create index on %I (credit_account, transfer_id) where attempt_id is null', v_name);
  execute format('create index on %I (debit_account, transfer_id) where attempt_id is null', v_name);
  execute format('create index on %I using brin (position) with (autosummarize = on)', v_name);
  execute format('create trigger transfer_is_kept before truncate on %I
    for each statement execute function refuse_change()', v_name);
  execute format('alter table transfer attach partition %I for values from (%s) to (%s)', v_name,
    month_position(p_month), month_position((p_month + interval '1 month')::date));
end $$;

-- Creates the partitions of this month and the next p_months_ahead months. The sequence of
-- positions moves to this month only if an earlier call has created the month's partition, so that
-- every batch finds the partition of its positions.
create function ensure_transfer_partitions(p_months_ahead integer) returns void
language plpgsql as $$
declare
  v_month constant date := date_trunc('month', clock_timestamp() at time zone 'utc');
begin
  perform pg_advisory_xact_lock(hashtext('tokenmarket partitions'));
  -- The sequence is set only here and only forward, under the lock.
  if to_regclass('transfer_' || to_char(v_month, 'YYYYMM')) is not null
      and (select last_value from ledger_position) < month_position(v_month) then
    perform setval('ledger_position', month_position(v_month), false);
  end if;
  for i in 0 .. p_months_ahead loop
    perform ensure_transfer_partition((v_month + i * interval '1 month')::date);
  end loop;
end $$;

-- == The ledger ==

-- The functions below set planner options, because a batch touches few rows of large tables, which
-- grow faster than their statistics. The planner must never read such a table as a whole. Nor may
-- it plan each batch anew: with a partition per day, planning costs more than running the plan.

-- Marks the last finished attempt of each of these requests as `final`, and stores the sums of the
-- request's other finished attempts in its `earlier`. Call it after a change of an attempt whose
-- request may have others, in the same transaction and with the wallet locked. It reads all
-- finished attempts of the requests, so the order in which they end does not matter.
--
-- p_first and p_last are the lowest and highest known attempt id of these requests. Only attempts
-- less than two days away from them are found, so that no other partition is opened; the audit
-- reports a request with an attempt farther away. The statements are planned in each call, for
-- these days only: a cached plan would cover every day, and a batch would wait for a new one
-- whenever the statistics of any day change.
create function join_attempts(p_org text[], p_request uuid[], p_first bigint, p_last bigint)
returns void language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_custom_plan as $$
declare
  v_first constant bigint := p_first - (172800000::bigint << 22);
  v_last constant bigint := p_last + (172800000::bigint << 22);
  v_ids bigint[];
  v_final boolean[];
  v_earlier attempt_sums[];
begin
  with line as (
    select a.attempt_id, a.final, a.earlier, row_number() over attempts = 1 as is_last,
      (count(*) over others, sum(a.prompt) over others, sum(a.cached_prompt) over others,
        sum(a.cache_write) over others, sum(a.completion) over others,
        sum(a.internal_reasoning) over others, sum(a.cost_pico) over others,
        sum(a.debit) over others, sum(a.duration_ms) over others,
        sum(a.cache_write_1h) over others)::attempt_sums as others
    from (select distinct org, request from unnest(p_org, p_request) as u(org, request)) t
    -- Because of `offset 0`, the plan looks up one request at a time, whatever the statistics of a
    -- new day suggest.
    cross join lateral (
      select * from attempt o where o.org_id = t.org and o.request_id = t.request
        and o.attempt_id between v_first and v_last offset 0
    ) a
    window attempts as (partition by a.org_id, a.request_id
        order by a.ordinal desc, a.attempt_id desc),
      others as (attempts rows between 1 following and unbounded following)
  ), due as (
    select *, case when is_last and (others).attempts > 0 then others end as sums from line
  )
  select array_agg(attempt_id), array_agg(is_last), array_agg(sums)
  into v_ids, v_final, v_earlier
  from due where (final, earlier) is distinct from (is_last, sums);
  if v_ids is null then return; end if;
  update attempt set final = v_final[array_position(v_ids, attempt_id)],
    earlier = v_earlier[array_position(v_ids, attempt_id)]
  where attempt_id = any (v_ids) and attempt_id between v_first and v_last;
end $$;

-- Writes one batch in one transaction: first closings of attempts, then new holds. p_final of a
-- closing is true if no other attempt of its request has begun or will begin. A closing needs a
-- call of join_attempts only if p_final is false or the attempt is not the first of its request.
--
-- Returns each closing's index in p_closed with a code: 1 closed now, with the debit and the excess
-- over the reserve; 0 not open, which close_batch examines. If an attempt has two closings, the
-- first one wins.
--
-- Returns only the refused holds, each as an index in p_attempt with a code and figures (a, b, c):
-- 1 low balance (available, held); 2 organization's cap and 3 key's cap (cap, settled, in flight),
-- with the cap's period and the instant at which it resets; 4 no such key of this organization; 9
-- p_epoch is not the current epoch of the instance. What an organization owes after a refund or a
-- dispute is not available. If several caps of a key refuse a hold, the one that resets last is
-- returned, since waiting for another would not help.
create function ledger_batch(
  p_instance text, p_epoch bigint,
  p_closed bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cache_write_1h bigint[], p_cost numeric[],
  p_owed numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  p_served_model text[], p_substituted boolean[],
  p_remaining_rpm bigint[], p_remaining_tpm bigint[], p_queue_ms integer[], p_retry_after integer[],
  p_dropped_params text[],
  p_attempt bigint[], p_request uuid[], p_ordinal smallint[], p_org text[], p_key text[],
  p_model text[], p_provider text[], p_upstream text[], p_pin text[], p_route text[],
  p_stream boolean[], p_tokens bigint[], p_reserve bigint[],
  out closed_row integer[], out closed_code integer[], out debited bigint[], out over bigint[],
  out refused_row integer[], out refused_code integer[], out a bigint[], out b bigint[],
  out c bigint[], out reset_ms bigint, out period text[], out period_reset_ms bigint[]
) language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  -- An empty batch runs all statements of an ordinary one, to plan them before a customer waits.
  v_closes constant boolean := cardinality(p_closed) > 0 or cardinality(p_attempt) = 0;
  v_holds boolean := cardinality(p_attempt) > 0 or cardinality(p_closed) = 0;
  v_position bigint;
  v_now timestamptz;
  v_admitted timestamptz;
  v_month date;
  v_week date;
  v_day date;
  v_is_daily boolean;
  v_tight text[];
  v_refused boolean[];
  v_org_taken bigint[];
  v_key_taken bigint[];
  v_first bigint;
  v_last bigint;
  -- Organizations and requests of closed attempts whose request has, or may have, other attempts.
  -- They are passed to join_attempts.
  v_orgs text[];
  v_requests uuid[];
  v record;
begin
  if v_closes then
    perform enter_settlement_gate();
  end if;
  if cardinality(p_attempt) > 0 then
    perform 1 from instance where instance_id = p_instance and epoch = p_epoch for share;
    if not found then
      select array_agg(i), array_agg(9), array_agg(0), array_agg(0), array_agg(0), 0,
        array_agg('month'::text), array_agg(0)
      into refused_row, refused_code, a, b, c, reset_ms, period, period_reset_ms
      from generate_subscripts(p_attempt, 1) as i;
      v_holds := false;
    end if;
  end if;
  perform 1 from (
    select 'wallet:' || org_id as id from hold where attempt_id = any (p_closed)
    union
    select 'wallet:' || org from unnest(p_org) as t(org) where v_holds
    order by id
  ) t cross join lateral (select from account w where w.account_id = t.id for update) as locked;

  if v_closes then
    v_position := nextval('ledger_position');
    v_now := closing_time();
    -- The closings are read by subscript and not joined: a join that was planned while `hold` was
    -- empty reads all closings once for each hold. If two closings name one attempt, array_position
    -- returns the first. Of the columns of `released`, those that later parts use come first,
    -- because reading a column also reads the columns before it.
    with gone as (
      delete from hold h where h.attempt_id = any (p_closed) and not h.annulled
      returning h.*, array_position(p_closed, h.attempt_id) as n
    ), priced as (
      select *, div(p_cost[n], 1000000) as micro,
        case p_basis[n] when 'unknown_after_crash' then 'unknown_after_crash'
          when 'none' then 'void' else 'settled' end as state
      from gone
    ), released as (
      select n, attempt_id, org_id, key_id, provider_id, month, reserve, state,
        case state when 'settled' then least(micro, reserve)
          when 'void' then 0 else reserve end::bigint as debit,
        case state when 'settled' then greatest(micro - reserve, 0) else 0 end::bigint as overrun,
        case state when 'settled' then margin_of(p_cost[n], p_owed[n]) else 0 end as margin,
        request_id, ordinal, p_final[n] as final, created_at, model_id, upstream_model_id,
        price_pin_id, route, stream, instance_id, epoch, estimated_tokens, resumable,
        provider_job_id, opened_position
      from priced
    ), finished as (
      insert into attempt (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
        upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens,
        reserve, month, state, resumable, provider_job_id, outcome, basis, prompt, cached_prompt,
        cache_write, completion, internal_reasoning, cost_pico, debit, overrun, upstream_status,
        error_class, served_model, substituted, final, started_at, first_byte_ms, duration_ms,
        opened_position, closed_position, created_at, closed_at, cache_write_1h, owed_pico,
        remaining_rpm, remaining_tpm, queue_ms, retry_after, dropped_params)
      select attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
        upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens,
        reserve, month, state, resumable, provider_job_id, p_outcome[n], p_basis[n], p_prompt[n],
        p_cached_prompt[n], p_cache_write[n], p_completion[n], p_internal_reasoning[n],
        case state when 'settled' then p_cost[n] end, debit, overrun, p_status[n], p_error[n],
        p_served_model[n], p_substituted[n], true, to_timestamp(p_started_ms[n] / 1000.0),
        p_first_byte_ms[n], p_duration_ms[n], opened_position, v_position, created_at, v_now,
        p_cache_write_1h[n], case state when 'settled' then p_owed[n] end,
        p_remaining_rpm[n], p_remaining_tpm[n], p_queue_ms[n], p_retry_after[n],
        p_dropped_params[n]
      from released
    ), spent as (
      -- The holds created these rows. An update would join them, and its plan may read the whole
      -- table in each batch; an upsert finds each row by its key.
      insert into spend as s (scope, id, month, reserved, settled)
      select case grouping(org_id) when 0 then 'org' else 'key' end, coalesce(org_id, key_id),
        month, sum(reserve), sum(debit)
      from released group by grouping sets ((org_id, month), (key_id, month))
      on conflict (scope, id, month) do update
        set reserved = s.reserved - excluded.reserved, settled = s.settled + excluded.settled
    ), spent_day as (
      -- Only keys with a daily or weekly cap have rows in spend_day.
      update spend_day s set settled = s.settled + t.debit
      from (
        select key_id, (created_at at time zone 'utc')::date as day, sum(debit)::bigint as debit
        from released where debit > 0 group by 1, 2
      ) t
      where s.key_id = t.key_id and s.day = t.day
    ), moved as (
      insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount)
      select v_position, attempt_id, 'settle', 'wallet:' || org_id,
        case r.state when 'settled' then 'accrual:' else 'unknown:' end || provider_id, debit
      from released r where debit > 0
      union all
      select v_position, attempt_id, 'overrun', 'overrun', 'accrual:' || provider_id, overrun
      from released where overrun > 0
      union all
      select v_position, attempt_id, 'margin',
        case when margin > 0 then 'accrual:' else 'margin:' end || provider_id,
        case when margin > 0 then 'margin:' else 'accrual:' end || provider_id, abs(margin)
      from released where margin <> 0
      returning kind, debit_account, credit_account, amount
    ), balances as (
      -- The wallets exist; their `excluded.reserved` is the amount that is released.
      insert into account as h (account_id, debits, credits, reserved)
      select t.account_id, sum(t.debits), sum(t.credits), sum(t.reserved) from (
        select credit_account as account_id, 0::bigint as debits, amount as credits,
          0::bigint as reserved
        from moved
        union all
        select debit_account, amount, 0, 0 from moved where kind <> 'settle'
        union all
        select 'wallet:' || org_id, sum(debit), 0, sum(reserve) from released group by org_id
      ) t
      group by t.account_id order by t.account_id
      on conflict (account_id) do update
        set debits = h.debits + excluded.debits, credits = h.credits + excluded.credits,
          reserved = h.reserved - excluded.reserved
    )
    select array_agg(r.n), array_agg(1), array_agg(r.debit), array_agg(r.overrun),
      array_agg(r.org_id) filter (where r.ordinal > 1 or not r.final),
      array_agg(r.request_id) filter (where r.ordinal > 1 or not r.final)
    into closed_row, closed_code, debited, over, v_orgs, v_requests from released r;
    if v_requests is not null or cardinality(p_closed) = 0 then
      select min(t.id), max(t.id) into v_first, v_last from unnest(p_closed) as t(id);
      perform join_attempts(v_orgs, v_requests, v_first, v_last);
    end if;

    if coalesce(cardinality(closed_row), 0) < cardinality(p_closed) then
      select closed_row || array_agg(i), closed_code || array_agg(0),
        debited || array_agg(0::bigint), over || array_agg(0::bigint)
      into closed_row, closed_code, debited, over
      from generate_subscripts(p_closed, 1) as i where i <> all (coalesce(closed_row, '{}'));
    end if;
  end if;

  if not v_holds then return; end if;
  -- Without a partition for its day, an attempt could not be closed, so it must not be sent.
  select min(t.id), max(t.id) into v_first, v_last from unnest(p_attempt) as t(id);
  if v_first is not null
      and (to_regclass('attempt_' || to_char(attempt_day(v_first), 'YYYYMMDD')) is null
        or to_regclass('attempt_' || to_char(attempt_day(v_last), 'YYYYMMDD')) is null) then
    raise exception 'no partition for the day of attempt % or %', v_first, v_last
      using errcode = '23514';
  end if;
  v_position := nextval('ledger_position');
  -- Read after the locks, so that a batch that waited over midnight belongs to the new day.
  v_admitted := clock_timestamp();
  v_month := date_trunc('month', v_admitted at time zone 'utc');
  v_week := date_trunc('week', v_admitted at time zone 'utc');
  v_day := v_admitted at time zone 'utc';

  -- Checks whole organizations first: if all new holds of an organization together are within its
  -- balance, its cap and the caps of its keys, each hold is, in any order. An organization without
  -- a wallet never passes this check. Because of `offset 0`, the plan looks up one row at a time,
  -- however small the tables were when it was made.
  with key_line as (
    select l.org, l.amount,
      k.cap_day_micro_usd is not null or k.cap_week_micro_usd is not null as is_daily,
      k.key_id is not null
      and (k.cap_micro_usd is null or s.settled + s.reserved + l.amount <= k.cap_micro_usd)
      and (k.cap_week_micro_usd is null
        or d.of_week + s.reserved + l.amount <= k.cap_week_micro_usd)
      and (k.cap_day_micro_usd is null
        or d.of_day + s.reserved + l.amount <= k.cap_day_micro_usd) as fits
    from (
      select t.org, t.key, sum(t.amount) as amount
      from unnest(p_org, p_key, p_reserve) as t(org, key, amount) group by 1, 2
    ) as l
    left join lateral (select * from api_key where key_id = l.key offset 0) k on k.org_id = l.org
    left join lateral (
      select coalesce(sum(settled) filter (where month = v_month), 0) as settled,
        coalesce(sum(reserved), 0) as reserved
      from spend where (k.cap_micro_usd is not null or k.cap_day_micro_usd is not null
        or k.cap_week_micro_usd is not null) and scope = 'key' and id = l.key
    ) s on true
    left join lateral (
      select coalesce(sum(settled) filter (where day = v_day), 0) as of_day,
        coalesce(sum(settled), 0) as of_week
      from spend_day where (k.cap_day_micro_usd is not null or k.cap_week_micro_usd is not null)
        and key_id = l.key and day between v_week and v_week + 6
    ) d on true
  ), org_line as (
    select org, sum(amount) as amount, bool_and(fits) as fits, bool_or(is_daily) as is_daily
    from key_line group by org
  )
  select array_agg(l.org) filter (where (l.fits and o.org_id is not null
      and l.amount <= w.credits - w.debits - w.owed - w.reserved
      and (o.cap_micro_usd is null
        or coalesce(s.settled, 0) + w.reserved + l.amount <= o.cap_micro_usd)) is not true),
    bool_or(l.is_daily)
  into v_tight, v_is_daily
  from org_line l
  left join lateral (select * from org where org_id = l.org offset 0) o on true
  left join lateral (
    select * from account where account_id = 'wallet:' || l.org offset 0
  ) w on true
  left join lateral (
    select settled from spend where o.cap_micro_usd is not null
      and scope = 'org' and id = l.org and month = v_month offset 0
  ) s on true;

  -- The holds of the organizations that fail this check are checked one by one, as they arrived.
  if v_tight is not null then
    reset_ms := extract(epoch from (v_month + interval '1 month') at time zone 'utc') * 1000;
    v_refused := array_fill(false, array[cardinality(p_attempt)]);
    v_org_taken := array_fill(0::bigint, array[cardinality(p_attempt)]);
    v_key_taken := v_org_taken;
    for v in
      select t.n, t.amount, dense_rank() over (order by t.org) as org_at,
        dense_rank() over (order by t.key) as key_at,
        k.key_id is not null and w.account_id is not null as known,
        w.credits - w.debits - w.owed as settled, w.reserved as held,
        o.cap_micro_usd as org_cap, coalesce(so.settled, 0) as org_spent,
        k.cap_micro_usd as key_cap, sk.settled as key_spent, sk.reserved as key_held,
        k.cap_week_micro_usd as week_cap, k.cap_day_micro_usd as day_cap, dk.of_week, dk.of_day,
        0 as code, 0::bigint as a, 0::bigint as b, 0::bigint as c, 'month' as period
      from unnest(p_org, p_key, p_reserve) with ordinality as t(org, key, amount, n)
      left join org o on o.org_id = t.org
      left join account w on w.account_id = 'wallet:' || t.org
      left join api_key k on k.key_id = t.key and k.org_id = o.org_id
      left join lateral (
        select settled from spend where scope = 'org' and id = t.org and month = v_month offset 0
      ) so on true
      left join lateral (
        select coalesce(sum(s.settled) filter (where s.month = v_month), 0) as settled,
          coalesce(sum(s.reserved), 0) as reserved
        from spend s where s.scope = 'key' and s.id = t.key
      ) sk on true
      left join lateral (
        select coalesce(sum(s.settled) filter (where s.day = v_day), 0) as of_day,
          coalesce(sum(s.settled), 0) as of_week
        from spend_day s where s.key_id = t.key and s.day between v_week and v_week + 6
      ) dk on true
      where t.org = any (v_tight) order by t.n
    loop
      if not v.known then
        v.code := 4;
      -- Of several caps of the key, the refusal names the one that resets last: the weekly cap
      -- before the monthly one if the week ends in the next month.
      elsif v.key_spent + v.key_held + v_key_taken[v.key_at] + v.amount > v.key_cap
          and (v_week + 7 > v_month + interval '1 month'
            and v.of_week + v.key_held + v_key_taken[v.key_at] + v.amount > v.week_cap)
            is not true then
        v.code := 3; v.a := v.key_cap; v.b := v.key_spent;
        v.c := v.key_held + v_key_taken[v.key_at];
      elsif v.of_week + v.key_held + v_key_taken[v.key_at] + v.amount > v.week_cap then
        v.code := 3; v.a := v.week_cap; v.b := v.of_week;
        v.c := v.key_held + v_key_taken[v.key_at]; v.period := 'week';
      elsif v.of_day + v.key_held + v_key_taken[v.key_at] + v.amount > v.day_cap then
        v.code := 3; v.a := v.day_cap; v.b := v.of_day;
        v.c := v.key_held + v_key_taken[v.key_at]; v.period := 'day';
      elsif v.org_spent + v.held + v_org_taken[v.org_at] + v.amount > v.org_cap then
        v.code := 2; v.a := v.org_cap; v.b := v.org_spent; v.c := v.held + v_org_taken[v.org_at];
      elsif v.amount > v.settled - v.held - v_org_taken[v.org_at] then
        v.code := 1; v.b := v.held + v_org_taken[v.org_at]; v.a := v.settled - v.b;
      else
        v_org_taken[v.org_at] := v_org_taken[v.org_at] + v.amount;
        v_key_taken[v.key_at] := v_key_taken[v.key_at] + v.amount;
        continue;
      end if;
      v_refused[v.n] := true;
      refused_row := refused_row || v.n::integer;
      refused_code := refused_code || v.code;
      a := a || v.a; b := b || v.b; c := c || v.c;
      period := period || v.period;
      period_reset_ms := period_reset_ms || (case v.period
        when 'day' then extract(epoch from (v_day + 1)::timestamp at time zone 'utc') * 1000
        when 'week' then extract(epoch from (v_week + 7)::timestamp at time zone 'utc') * 1000
        else reset_ms end)::bigint;
    end loop;
  end if;

  -- Creates this day's rows of keys with a daily or weekly cap. The closings of these holds will
  -- add their debits there.
  if v_is_daily then
    insert into spend_day (key_id, day)
    select k.key_id, v_day from api_key k
    where k.key_id = any (p_key) and k.org_id = any (p_org)
      and (k.cap_day_micro_usd is not null or k.cap_week_micro_usd is not null)
    order by k.key_id
    on conflict do nothing;
  end if;

  with taken as (
    insert into hold (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
      upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens,
      reserve, month, opened_position, created_at)
    select u.attempt, u.request, u.ordinal, u.org, u.key, u.model, u.provider, u.upstream, u.pin,
      u.route, u.stream, p_instance, p_epoch, u.tokens, u.amount, v_month, v_position,
      v_admitted
    from unnest(p_attempt, p_request, p_ordinal, p_org, p_key, p_model, p_provider, p_upstream,
      p_pin, p_route, p_stream, p_tokens, p_reserve, v_refused)
      as u(attempt, request, ordinal, org, key, model, provider, upstream, pin, route, stream,
        tokens, amount, refused)
    where u.refused is not true
    returning org_id, key_id, reserve
  ), wallet as (
    insert into account as w (account_id, reserved)
    select 'wallet:' || org_id, sum(reserve) from taken group by org_id
    on conflict (account_id) do update set reserved = w.reserved + excluded.reserved
  )
  insert into spend as s (scope, id, month, reserved)
  select case grouping(org_id) when 0 then 'org' else 'key' end, coalesce(org_id, key_id),
    v_month, sum(reserve)
  from taken group by grouping sets ((org_id), (key_id))
  on conflict (scope, id, month) do update set reserved = s.reserved + excluded.reserved;
end $$;

-- Closes attempts, without new holds. Returns each closing's index in p_closed with a code, and the
-- attempt's debit and excess over the reserve: 1 closed now, 2 was closed before, 3 no such
-- attempt, 4 corrected now. If an attempt was charged its reserve after a crash and its observed
-- end is reported later, the attempt is corrected once, and the difference is refunded.
create function close_batch(
  p_closed bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cache_write_1h bigint[], p_cost numeric[],
  p_owed numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  p_served_model text[], p_substituted boolean[],
  p_remaining_rpm bigint[], p_remaining_tpm bigint[], p_queue_ms integer[], p_retry_after integer[],
  p_dropped_params text[],
  out closed_row integer[], out closed_code integer[], out debited bigint[], out over bigint[]
) language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_position bigint;
  v_now timestamptz;
  -- Organizations and requests of all known attempts.
  v_orgs text[];
  v_requests uuid[];
  v_undecided integer[];
  v_corrected integer[];
  -- These ids bound the days of the attempts, so that the plans open no other partition.
  v_first constant bigint := (select min(id) from unnest(p_closed) as t(id));
  v_last constant bigint := (select max(id) from unnest(p_closed) as t(id));
begin
  perform enter_settlement_gate();
  -- Because of `offset 0`, the plan looks up one attempt at a time, even if it was made while the
  -- day had no attempts.
  select array_agg(known.org_id), array_agg(known.request_id) into v_orgs, v_requests
  from unnest(p_closed) as t(id) cross join lateral (
    select org_id, request_id from hold where attempt_id = t.id
    union all
    select org_id, request_id from attempt
    where attempt_id = t.id and attempt_id between v_first and v_last
    offset 0
  ) known;
  -- Locks all wallets in one order: those of open attempts, and of attempts that may be corrected.
  perform lock_wallets(v_orgs);
  select l.closed_row, l.closed_code, l.debited, l.over
  into closed_row, closed_code, debited, over
  from ledger_batch('', 0, p_closed, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
    p_completion, p_internal_reasoning, p_cache_write_1h, p_cost, p_owed, p_status, p_error,
    p_started_ms, p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted,
    p_remaining_rpm, p_remaining_tpm, p_queue_ms, p_retry_after, p_dropped_params,
    '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}') l;
  v_undecided := array(select t.n from unnest(closed_row, closed_code) as t(n, code)
    where t.code = 0);
  if cardinality(v_undecided) = 0 then
    perform join_attempts(v_orgs, v_requests, v_first, v_last);
    return;
  end if;

  v_position := nextval('ledger_position');
  v_now := closing_time();
  with asked as (
    select distinct on (t.id) t.*, div(t.cost, 1000000) as micro,
      case when t.basis = 'unknown_after_crash' then 'unknown_after_crash'
        when t.basis = 'none' then 'void' else 'settled' end as state
    from unnest(p_closed, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
      p_completion, p_internal_reasoning, p_cache_write_1h, p_cost, p_owed, p_status, p_error,
      p_started_ms, p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted,
      p_remaining_rpm, p_remaining_tpm, p_queue_ms, p_retry_after, p_dropped_params)
      with ordinality as t(id, outcome, basis, prompt, cached_prompt, cache_write, completion,
        internal_reasoning, cache_write_1h, cost, owed, status, error, started_ms, first_byte_ms,
        duration_ms, final, served_model, substituted,
        remaining_rpm, remaining_tpm, queue_ms, retry_after, dropped_params, n)
    where t.n = any (v_undecided)
    order by t.id, t.n
  ), corrected as (
    update attempt a set
      outcome = q.outcome, basis = q.basis, prompt = q.prompt,
      cached_prompt = q.cached_prompt, cache_write = q.cache_write, completion = q.completion,
      internal_reasoning = q.internal_reasoning, cache_write_1h = q.cache_write_1h,
      owed_pico = case q.state when 'settled' then q.owed end, upstream_status = q.status,
      error_class = q.error, started_at = to_timestamp(q.started_ms / 1000.0),
      first_byte_ms = q.first_byte_ms, duration_ms = q.duration_ms,
      served_model = q.served_model, substituted = q.substituted,
      remaining_rpm = q.remaining_rpm, remaining_tpm = q.remaining_tpm, queue_ms = q.queue_ms,
      retry_after = q.retry_after, dropped_params = q.dropped_params,
      cost_pico = case q.state when 'settled' then q.cost else 0 end,
      debit = case q.state when 'settled' then least(q.micro, a.reserve) else 0 end,
      overrun = case q.state when 'settled' then greatest(q.micro - a.reserve, 0) else 0 end,
      corrected_at = v_now, corrected_position = v_position
    from asked q where a.attempt_id = q.id and a.state = 'unknown_after_crash'
      and a.corrected_at is null and q.state <> 'unknown_after_crash'
      and a.attempt_id between v_first and v_last
    returning q.n, a.attempt_id, a.org_id, a.key_id, a.month, a.provider_id, a.reserve,
      a.debit, a.overrun, margin_of(a.cost_pico, a.owed_pico) as margin, a.created_at
  ), wallet as (
    update account w set credits = w.credits + t.refund
    from (
      select org_id, sum(c.reserve - c.debit)::bigint as refund from corrected c group by org_id
    ) t
    where w.account_id = 'wallet:' || t.org_id
  ), spent as (
    update spend s set settled = s.settled - t.refund
    from (
      select case grouping(org_id) when 0 then 'org' else 'key' end as scope,
        coalesce(org_id, key_id) as id, month, sum(c.reserve - c.debit)::bigint as refund
      from corrected c group by grouping sets ((org_id, month), (key_id, month))
    ) t
    where s.scope = t.scope and s.id = t.id and s.month = t.month
  ), spent_day as (
    update spend_day s set settled = s.settled - t.refund
    from (
      select key_id, (created_at at time zone 'utc')::date as day,
        sum(c.reserve - c.debit)::bigint as refund
      from corrected c group by 1, 2
    ) t
    where s.key_id = t.key_id and s.day = t.day
  ), moved as (
    insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount)
    select v_position, attempt_id, 'refund', 'unknown:' || provider_id, 'wallet:' || org_id,
      c.reserve - c.debit
    from corrected c where c.reserve > c.debit
    union all
    select v_position, attempt_id, 'correct', 'unknown:' || provider_id,
      'accrual:' || provider_id, c.debit
    from corrected c where c.debit > 0
    union all
    select v_position, attempt_id, 'overrun', 'overrun', 'accrual:' || provider_id, c.overrun
    from corrected c where c.overrun > 0
    union all
    select v_position, attempt_id, 'margin',
      case when c.margin > 0 then 'accrual:' else 'margin:' end || provider_id,
      case when c.margin > 0 then 'margin:' else 'accrual:' end || provider_id, abs(c.margin)
    from corrected c where c.margin <> 0
    returning debit_account, credit_account, amount
  ), platform as (
    insert into account as h (account_id, debits, credits)
    select t.account_id, sum(t.debits), sum(t.credits) from (
      select credit_account as account_id, 0::bigint as debits, amount as credits from moved
      union all
      select debit_account, amount, 0 from moved
    ) t
    where t.account_id not like 'wallet:%'
    group by t.account_id order by t.account_id
    on conflict (account_id) do update
      set debits = h.debits + excluded.debits, credits = h.credits + excluded.credits
  )
  select array_agg(c.n) into v_corrected from corrected c;
  perform join_attempts(v_orgs, v_requests, v_first, v_last);

  select array_agg(t.n order by t.n),
    array_agg(case when t.code = 1 then 1 when x.attempt_id is null then 3
      when t.n = any (v_corrected) then 4 else 2 end order by t.n),
    array_agg(coalesce(x.debit, 0) order by t.n), array_agg(coalesce(x.overrun, 0) order by t.n)
  into closed_row, closed_code, debited, over
  from unnest(closed_row, closed_code) as t(n, code)
  left join attempt x on x.attempt_id = p_closed[t.n] and x.attempt_id between v_first and v_last;
end $$;

-- Closes attempts whose token counts are unknown. Returns the number of those that were still open.
create function close_unobserved(
  p_closed bigint[], p_outcome text, p_basis text, p_error text, p_duration_ms integer
) returns integer language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_size constant integer[] := array[cardinality(p_closed)];
  v_codes integer[];
begin
  select l.closed_code into v_codes from close_batch(p_closed,
    array_fill(p_outcome, v_size), array_fill(p_basis, v_size),
    array_fill(null::bigint, v_size), array_fill(null::bigint, v_size),
    array_fill(null::bigint, v_size), array_fill(null::bigint, v_size),
    array_fill(null::bigint, v_size), array_fill(null::bigint, v_size),
    array_fill(0::numeric, v_size), array_fill(null::numeric, v_size),
    array_fill(null::smallint, v_size), array_fill(p_error, v_size),
    array_fill(null::bigint, v_size), array_fill(null::integer, v_size),
    array_fill(p_duration_ms, v_size), array_fill(true, v_size),
    array_fill(null::text, v_size), array_fill(null::boolean, v_size),
    '{}', '{}', '{}', '{}', '{}') l;
  return (select count(*) from unnest(v_codes) as t(code) where t.code = 1);
end $$;

-- Closes up to p_limit attempts whose instance has started again or was declared dead, and charges
-- their reserves. Attempts with a provider job are left to adopt_attempts.
create function recover_attempts(p_limit integer, out seen integer, out closed integer)
language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_ids bigint[];
begin
  select array_agg(t.attempt_id) into v_ids from (
    select h.attempt_id from hold h join instance i on i.instance_id = h.instance_id
    where h.epoch < i.epoch and not h.resumable and not h.annulled
    order by h.attempt_id limit p_limit
  ) t;
  seen := coalesce(cardinality(v_ids), 0);
  closed := 0;
  if seen > 0 then
    closed := close_unobserved(v_ids, 'unknown_after_crash', 'unknown_after_crash', null, null);
  end if;
end $$;

-- Call it if the answer of the transaction that inserts an attempt's hold was lost. If that
-- transaction has committed, voids the hold. Otherwise occupies the attempt's id with an `annulled`
-- row, so that the whole transaction fails if it comes later.
create function annul_attempt(
  p_attempt bigint, p_request uuid, p_ordinal smallint, p_org text, p_key text, p_model text,
  p_provider text, p_upstream text, p_pin text, p_route text, p_stream boolean, p_tokens bigint,
  p_reserve bigint
) returns void language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_position constant bigint := nextval('ledger_position');
  v_month constant date := date_trunc('month', clock_timestamp() at time zone 'utc');
begin
  perform enter_settlement_gate();
  -- A transaction that is inserting the hold either has this lock or waits for it.
  perform lock_wallets(array[p_org]);
  if not exists (select from attempt where attempt_id = p_attempt) then
    insert into hold (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
      upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens,
      reserve, month, annulled, opened_position)
    values (p_attempt, p_request, p_ordinal, p_org, p_key, p_model, p_provider, p_upstream, p_pin,
      p_route, p_stream, '', 0, p_tokens, 0, v_month, true, v_position)
    on conflict (attempt_id) do nothing;
    if found then
      insert into attempt (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
        upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens,
        reserve, month, state, outcome, basis, error_class, final, started_at, duration_ms,
        opened_position, closed_position, closed_at)
      values (p_attempt, p_request, p_ordinal, p_org, p_key, p_model, p_provider, p_upstream,
        p_pin, p_route, p_stream, '', 0, p_tokens, p_reserve, v_month, 'void', 'failed', 'none',
        'gateway_error', true, now(), 0, v_position, v_position, closing_time());
      perform join_attempts(array[p_org], array[p_request], p_attempt, p_attempt);
      return;
    end if;
  end if;
  -- The reserve had committed. If another instance has charged the hold since, that is refunded.
  perform close_unobserved(array[p_attempt], 'failed', 'none', 'gateway_error', 0);
end $$;

-- Deletes `annulled` rows after an hour, when no transaction of a lost connection can commit any
-- more.
create function drop_old_annulments() returns void language sql as $$
  delete from hold where annulled and created_at < now() - interval '1 hour'
$$;

-- Marks an attempt in flight as having a provider job, before the client learns of the job. If the
-- instance of a marked attempt dies, another instance takes the attempt over (adopt_attempts).
-- Returns false if the attempt has no hold.
create function attach_job(p_attempt bigint, p_job text) returns boolean
language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
begin
  update hold set resumable = true, provider_job_id = p_job
  where attempt_id = p_attempt and not annulled;
  return found;
end $$;

create function adopt_attempts(p_instance text, p_epoch bigint, p_limit integer)
returns table (attempt_id bigint, request_id uuid, org_id text, key_id text, model_id text,
  provider_id text, upstream_model_id text, provider_job_id text, reserve bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  perform 1 from instance where instance_id = p_instance and epoch = p_epoch for share;
  if not found then return; end if;
  return query
    update hold h set instance_id = p_instance, epoch = p_epoch
    from (
      select o.attempt_id from hold o join instance i on i.instance_id = o.instance_id
      where o.resumable and o.epoch < i.epoch
      order by o.attempt_id limit p_limit for update of o skip locked
    ) t
    where h.attempt_id = t.attempt_id
    returning h.attempt_id, h.request_id, h.org_id, h.key_id, h.model_id, h.provider_id,
      h.upstream_model_id, h.provider_job_id, h.reserve;
end $$;

-- == Money that no attempt moves ==

-- Sets the threshold of the low-balance alert to a fifth of a purchase, at least 5 dollars, unless
-- a person has set another amount.
create function follow_credit(p_org text, p_amount bigint) returns void language sql as $$
  update alert_rules set balance_below = greatest(5000000, p_amount / 5)
  where org_id = p_org and balance_follows
$$;

-- Credits a wallet once per reference. Returns whether this call did it, and the balance. A used
-- reference is detected by the unique violation, because a partitioned table has no index over all
-- partitions for `on conflict`. The id of a purchase that was credited is a used reference too.
create function grant_credit(p_org text, p_amount bigint, p_ref text,
  p_is_trial boolean, out created boolean, out balance bigint) language plpgsql as $$
declare
  v_wallet constant text := 'wallet:' || p_org;
begin
  perform 1 from org where org_id = p_org for no key update;
  perform lock_wallets(array[p_org]);
  if not exists (select from account where account_id = v_wallet) then
    raise exception 'no organization %', p_org using errcode = 'TM404';
  end if;
  begin
    insert into transfer (position, kind, debit_account, credit_account, amount, ref)
    values (nextval('ledger_position'), 'grant', 'grants', v_wallet, p_amount, p_ref);
    created := true;
  exception when unique_violation then
    created := false;
  end;
  if created then
    if exists (select from purchase where purchase_id = p_ref and granted_at is not null) then
      raise exception 'purchase % was credited already', p_ref using errcode = 'TM409';
    end if;
    update account set credits = credits + p_amount where account_id = v_wallet;
    insert into account as h (account_id, debits) values ('grants', p_amount)
    on conflict (account_id) do update set debits = h.debits + excluded.debits;
    if not p_is_trial and p_amount / 5 > 5000000 then perform follow_credit(p_org, p_amount); end if;
    update org set funded_at = coalesce(funded_at, now()),
      bought_at = case when p_is_trial then bought_at else coalesce(bought_at, now()) end
    where org_id = p_org;
  elsif not exists (select from transfer where ref = p_ref and kind = 'grant'
      and credit_account = v_wallet and amount = p_amount) then
    raise exception 'reference % belongs to another grant', p_ref using errcode = 'TM409';
  end if;
  select credits - debits - owed into balance from account where account_id = v_wallet;
end $$;

-- Makes all of these transfers between accounts of the platform, or none.
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

-- Pays from a wallet what its organization owes because of refunds and disputes (`owed`, and the
-- account receivable:<org>), as soon as a credit or a released hold makes money free. So a wallet
-- that still owes has no free money, which a constraint of `account` checks.
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

-- == Caps ==

-- Records a change of a monthly cap while the wallet is locked, so that the position tells its
-- order among the other ledger writes of the organization.
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
create trigger new_key_cap_is_recorded after insert on api_key
  for each row when (new.cap_micro_usd is not null)
  execute function record_cap_change('key', 'key_id');

-- Computes the rows of spend_day of these keys for this week from the finished attempts, and leaves
-- the wallets of their organizations locked. It reads `attempt` before it locks the wallets, so
-- that no batch waits for that, and again afterwards, but only the attempts that ended in between.
-- Within one organization, positions grow in the order of the commits, so the first read has seen
-- every attempt up to the highest position that it found.
create function count_days_of_keys(p_orgs text[], p_keys text[]) returns void
language plpgsql set enable_seqscan = off as $$
declare
  -- The Sunday before this week is read too: if the clock is set back, that day is today again.
  v_from constant date := date_trunc('week', clock_timestamp() at time zone 'utc')::date - 1;
  -- The ids begin another day earlier, because instances make them by their own clocks.
  v_first constant bigint := attempt_id_at((v_from - 1)::timestamp at time zone 'utc');
  v_begin constant timestamptz := v_from::timestamp at time zone 'utc';
  -- A lower bound: no transaction with changes that commits after the first read below began
  -- earlier, because each such transaction is running now or begins later.
  v_since constant timestamptz := (
    select least(now(), min(xact_start)) from pg_stat_activity
    where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid());
  v_through jsonb;
  v_days jsonb;
begin
  with seen as materialized (
    select org_id, key_id, (created_at at time zone 'utc')::date as day, debit,
      greatest(closed_position, corrected_position) as position
    from attempt
    where org_id = any (p_orgs) and key_id = any (p_keys) and attempt_id >= v_first
      and created_at >= v_begin
  )
  select (select jsonb_object_agg(t.org_id, t.position) from (
      select org_id, max(position) as position from seen group by org_id) t),
    (select jsonb_agg(t) from (
      select key_id, day, sum(debit)::bigint as settled from (
        select key_id, day, debit from seen
        union all
        select key_id, day, settled from retired_spend_day
        where key_id = any (p_keys) and retired >= v_from - 1 and day >= v_from
      ) x group by key_id, day) t)
  into v_through, v_days;

  perform lock_wallets(p_orgs);
  delete from spend_day where key_id = any (p_keys) and day >= v_from;
  insert into spend_day (key_id, day, settled)
  select key_id, day, sum(settled)::bigint from (
    select t.key_id, t.day, t.settled
    from jsonb_to_recordset(v_days) as t(key_id text, day date, settled bigint)
    union all
    select key_id, (created_at at time zone 'utc')::date, debit
    from attempt
    where (closed_at at time zone 'utc') >= (v_since at time zone 'utc')
      and attempt_id >= v_first and created_at >= v_begin
      and org_id = any (p_orgs) and key_id = any (p_keys)
      and closed_position > coalesce((v_through ->> org_id)::bigint, 0)
    union all
    -- The first read counted these attempts at their reserve. They were corrected since, so the
    -- difference is added.
    select key_id, (created_at at time zone 'utc')::date, debit - reserve
    from attempt
    where corrected_at >= v_since and attempt_id >= v_first and created_at >= v_begin
      and org_id = any (p_orgs) and key_id = any (p_keys)
      and closed_position <= coalesce((v_through ->> org_id)::bigint, 0)
      and corrected_position > coalesce((v_through ->> org_id)::bigint, 0)
    union all
    -- Creates a row for each day with attempts in flight, to which their closings will add their
    -- debits.
    select key_id, (created_at at time zone 'utc')::date, 0
    from hold where org_id = any (p_orgs) and key_id = any (p_keys) and created_at >= v_begin
  ) x group by key_id, day;
end $$;

-- Records the changes of caps by a statement on api_key, with the wallets locked. Before that,
-- computes this week's spend of each key that gets its first daily or weekly cap. Row triggers would
-- run first and lock the wallets during that, so this records the monthly caps too.
create function record_key_caps() returns trigger language plpgsql as $$
declare
  v_orgs text[];
  v_keys text[];
begin
  select array_agg(distinct n.org_id), array_agg(n.key_id) filter (
    where o.cap_day_micro_usd is null and o.cap_week_micro_usd is null
      and (n.cap_day_micro_usd is not null or n.cap_week_micro_usd is not null))
  into v_orgs, v_keys
  from new_key n join old_key o using (key_id)
  where (n.cap_micro_usd, n.cap_day_micro_usd, n.cap_week_micro_usd)
    is distinct from (o.cap_micro_usd, o.cap_day_micro_usd, o.cap_week_micro_usd);
  if v_orgs is null then return null; end if;
  if v_keys is not null then
    perform count_days_of_keys(v_orgs, v_keys);
  end if;
  perform lock_wallets(v_orgs);
  insert into cap_change (position, scope, id, org_id, cap_micro_usd)
  select nextval('ledger_position'), 'key', n.key_id, n.org_id, n.cap_micro_usd
  from new_key n join old_key o using (key_id)
  where n.cap_micro_usd is distinct from o.cap_micro_usd;
  insert into period_cap_change (position, period, key_id, org_id, cap_micro_usd)
  select nextval('ledger_position'), c.period, n.key_id, n.org_id, c.cap
  from new_key n join old_key o using (key_id) cross join lateral (values
    ('day', n.cap_day_micro_usd, o.cap_day_micro_usd),
    ('week', n.cap_week_micro_usd, o.cap_week_micro_usd)) as c(period, cap, was)
  where c.cap is distinct from c.was;
  return null;
end $$;
create trigger key_caps_are_recorded after update on api_key
  referencing old table as old_key new table as new_key
  for each statement execute function record_key_caps();

-- Records the daily and weekly caps of a new key, which has spent nothing yet.
create function record_new_period_caps() returns trigger language plpgsql as $$
begin
  perform lock_wallets(array[new.org_id]);
  insert into period_cap_change (position, period, key_id, org_id, cap_micro_usd)
  select nextval('ledger_position'), c.period, new.key_id, new.org_id, c.cap
  from (values ('day', new.cap_day_micro_usd), ('week', new.cap_week_micro_usd)) as c(period, cap)
  where c.cap is not null;
  return null;
end $$;
create trigger new_period_caps_are_recorded after insert on api_key
  for each row when (new.cap_day_micro_usd is not null or new.cap_week_micro_usd is not null)
  execute function record_new_period_caps();

-- == The ledger after a restore ==

-- False if the database has lost this attempt, whose commit was acknowledged. True if the attempt
-- has a hold, is finished or is of a retired day; also if p_attempt is null or its day has no
-- partition, because that proves no loss. It is one statement, so that an attempt that moves from
-- `hold` to `attempt` meanwhile is not missed.
create function is_attempt_kept(p_attempt bigint) returns boolean language sql stable as $$
  select p_attempt is null
    or exists (select from hold where attempt_id = p_attempt)
    or exists (select from attempt where attempt_id = p_attempt)
    or exists (select from retired_day where day = attempt_day(p_attempt))
    or to_regclass('attempt_' || to_char(attempt_day(p_attempt), 'YYYYMMDD')) is null
$$;

-- Returns the time of the newest commit in the ledger that is not later than p_known. Commits after
-- p_known are ignored: they may have been made after the restore.
create function newest_commit(p_known timestamptz) returns timestamptz language sql stable as $$
  select coalesce(greatest(
    (select max(lease_until - interval '10 seconds') from instance_lease
      where lease_until - interval '10 seconds' <= p_known),
    (select max(created_at) from hold where created_at <= p_known),
    (select created_at from attempt
      where attempt_id < attempt_id_at(p_known) and created_at <= p_known
      order by attempt_id desc limit 1),
    (select at from transfer where at <= p_known order by transfer_id desc limit 1)
  ), p_known)
$$;

-- Renews the lease of an instance, unless a commit that this instance saw is gone. `verdict` is:
-- - held: renewed; the returned `beat` is the next call's p_beat.
-- - taken_over: another process now runs as this instance, or others have declared it dead.
-- - went_back: commits are lost. Unless p_goes_on is true, an alarm stops all instances.
-- - stopped: such an alarm was raised before (not checked if p_goes_on is true).
--
-- p_known is the database's time at the last acknowledged renewal, p_attempt the last attempt with
-- an acknowledged commit, p_life the value of ledger_life.life when the instance joined.
create function renew_membership(p_instance text, p_epoch bigint, p_token uuid, p_beat bigint,
  p_known timestamptz, p_attempt bigint, p_life integer, p_lease_ms integer, p_goes_on boolean,
  out verdict text, out finding text, out beat bigint, out now timestamptz)
language plpgsql set enable_seqscan = off as $$
declare
  v record;
  v_life integer;
begin
  now := clock_timestamp();
  select i.epoch, l.token, l.beat into v
  from instance i left join instance_lease l using (instance_id)
  where i.instance_id = p_instance;
  select coalesce(max(life), 1) into v_life from ledger_life;
  finding := case
    -- The ledger was reopened since the instance joined: commits before that are not checked.
    when p_life < v_life then null
    when p_life > v_life then format('life %s of the books is gone', p_life)
    when not is_attempt_kept(p_attempt) then format('attempt %s is gone', p_attempt)
    -- An instance that joins may delete the row of one that has been silent for a day.
    when p_known < now - interval '23 hours' then null
    when v.epoch is null then 'the instance is gone'
    when v.epoch < p_epoch then format('epoch %s became %s', p_epoch, v.epoch)
    when v.epoch = p_epoch and v.token is distinct from p_token then 'another one has its epoch'
    when v.epoch = p_epoch and v.beat < p_beat then format('renewal %s is gone', p_beat)
  end;
  if finding is not null then
    verdict := 'went_back';
    if not p_goes_on then
      insert into books_alarm (instance_id, finding, restored_to)
      values (p_instance, finding, newest_commit(p_known))
      on conflict do nothing;
    end if;
    return;
  end if;
  if not p_goes_on then
    select concat(a.instance_id, ': ', a.finding) into finding
    from books_alarm a where a.ended_in_life is null;
    if found then
      verdict := 'stopped';
      return;
    end if;
  end if;
  -- The row of the instance is only read, so a renewal never waits for a reserve that has locked
  -- it.
  update instance_lease l
  set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond', beat = l.beat + 1
  from instance i
  where i.instance_id = l.instance_id and l.instance_id = p_instance and i.epoch = p_epoch
    and l.token = p_token
  returning l.beat into renew_membership.beat;
  verdict := case when found then 'held' else 'taken_over' end;
end $$;

-- Repeats changes that a restore has undone and that restricted access: disabled keys and
-- connections, replaced secrets, lower caps, restrictions of calls, and rules of automatic top-up
-- that were turned off or lowered. Never widens access. Skips targets that do not exist. Returns the
-- number of changes of each kind.
create function close_access_again(p_changes jsonb, out keys_disabled bigint,
  out caps_lowered bigint, out connections_disabled bigint, out holds_placed bigint,
  out top_ups_turned_off bigint) language plpgsql as $$
declare
  v record;
  v_more bigint;
begin
  perform 1 from org where org_id in (
    select coalesce(k.org_id, c.id) from jsonb_to_recordset(p_changes) as c(id text)
    left join api_key k on k.key_id = c.id)
  order by org_id for no key update;
  update api_key k set disabled_at = clock_timestamp()
  from jsonb_to_recordset(p_changes) as c(kind text, id text)
  where c.kind = 'key' and k.key_id = c.id and k.disabled_at is null;
  get diagnostics keys_disabled = row_count;
  -- If the restore has undone a rotation, the database has only the secret from before it. The key
  -- expires when the rotation ended that secret, or now if that time has passed.
  update api_key k set expires_at = r.ends_at
  from (
    select c.id, min(greatest(c.until_at, clock_timestamp())) as ends_at
    from jsonb_to_recordset(p_changes) as c(kind text, id text, at timestamptz, until_at timestamptz)
    where c.kind = 'key_secret'
      and c.at >= (select lost_from from ledger_life order by life desc limit 1)
      and not exists (select from change t
        where t.action = 'key.rotate' and t.target = c.id and t.at = c.at)
    group by c.id
  ) r
  where k.key_id = r.id and k.disabled_at is null
    and (k.expires_at is null or k.expires_at > r.ends_at);
  get diagnostics v_more = row_count;
  keys_disabled := keys_disabled + v_more;
  update connection n set disabled_at = clock_timestamp()
  from jsonb_to_recordset(p_changes) as c(kind text, id text)
  where c.kind = 'connection' and n.connection_id = c.id and n.disabled_at is null;
  get diagnostics connections_disabled = row_count;
  caps_lowered := 0;
  for v in select * from (values ('key_cap', 'api_key', 'key_id', 'cap_micro_usd'),
      ('key_day_cap', 'api_key', 'key_id', 'cap_day_micro_usd'),
      ('key_week_cap', 'api_key', 'key_id', 'cap_week_micro_usd'),
      ('org_cap', 'org', 'org_id', 'cap_micro_usd')) as t(kind, tab, id, cap) loop
    execute format('update %1$I t set %3$I = c.cap
      from jsonb_to_recordset($1) as c(kind text, id text, cap bigint)
      where c.kind = $2 and t.%2$I = c.id and c.cap > 0 and (t.%3$I is null or c.cap < t.%3$I)',
      v.tab, v.id, v.cap) using p_changes, v.kind;
    get diagnostics v_more = row_count;
    caps_lowered := caps_lowered + v_more;
  end loop;
  insert into usage_hold (org_id, family, state, reason, until_at)
  select c.id, c.family, c.state, c.reason, c.until_at
  from jsonb_to_recordset(p_changes)
    as c(kind text, id text, family text, state text, reason text, until_at timestamptz)
  join org o on o.org_id = c.id
  where c.kind = 'hold' and (c.until_at is null or c.until_at > clock_timestamp())
    and not exists (select from usage_hold h where h.org_id = c.id and h.family = c.family
      and h.state = c.state and h.lifted_at is null
      and (h.until_at is null or h.until_at >= c.until_at));
  get diagnostics holds_placed = row_count;
  update top_up_rule r set is_on = false
  from jsonb_to_recordset(p_changes)
    as c(kind text, id text, card text, below bigint, amount bigint, month_max bigint)
  where c.kind = 'topup' and r.org_id = c.id and r.is_on
    and (c.card is null or exists (select from payment_customer p
      where p.org_id = c.id and p.card_id = c.card))
    and (c.below < r.below or c.amount < r.amount or c.month_max < r.month_max);
  get diagnostics top_ups_turned_off = row_count;
end $$;

-- Ends all console sessions and deletes all sign-in links, because the restore may have undone a
-- sign-out.
create function end_all_console_access() returns bigint language plpgsql as $$
declare
  v_ended bigint;
begin
  delete from console_reveal;
  update console_session set ended_at = clock_timestamp(), ended_reason = 'signed-out'
  where ended_at is null;
  get diagnostics v_ended = row_count;
  delete from local_claim;
  return v_ended;
end $$;

-- Reopens the ledger after a restore and increases ledger_life.life. Raises TM409 while an instance
-- has a lease. p_open says what happens to attempts in flight: `void` voids them, `charge` charges
-- their reserves, and `kept` leaves them open, if nothing was lost.
create function reopen_books(p_reason text, p_open text, p_is_nothing_lost boolean,
  p_restored_to timestamptz, p_changes jsonb, out life integer, out restored_to timestamptz,
  out lost_from timestamptz, out lost_until timestamptz, out closed_attempts bigint,
  out open_jobs bigint, out ended_sessions bigint, out access jsonb) language plpgsql as $$
declare
  v_ids bigint[];
  v_living text;
begin
  -- These locks stop joins of instances, settlements and renewals of leases until the commit.
  perform pg_advisory_xact_lock(hashtext('tokenmarket join'));
  perform pg_advisory_xact_lock(hashtext('tokenmarket settlement work'));
  lock table instance_lease in exclusive mode;
  select string_agg(format('%s until %s', instance_id,
      to_char(lease_until at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), ', '
      order by instance_id)
  into v_living from instance_lease where lease_until > clock_timestamp();
  if v_living is not null then
    raise exception 'these instances hold a lease: %', v_living using errcode = 'TM409';
  end if;

  lost_until := clock_timestamp();
  restored_to := case when p_is_nothing_lost then lost_until else coalesce(p_restored_to,
    (select a.restored_to from books_alarm a where a.ended_in_life is null),
    newest_commit(lost_until)) end;
  if restored_to > lost_until then
    raise exception 'the books cannot be restored to the future' using errcode = 'TM400';
  end if;
  -- The span begins 15 seconds earlier, because an attempt's id is made before its hold commits.
  lost_from := case when p_is_nothing_lost then lost_until
    else restored_to - interval '15 seconds' end;
  select coalesce(max(l.life), 1) + 1 into life from ledger_life l;
  insert into ledger_life (life, restored_to, lost_from, lost_until, is_nothing_lost,
    open_attempts, reason)
  values (life, restored_to, lost_from, lost_until, p_is_nothing_lost, p_open, p_reason);
  update books_alarm set ended_in_life = reopen_books.life where ended_in_life is null;

  -- Raises every epoch above any that an instance can have reached in the lost time, so that no
  -- epoch is used twice.
  update instance set epoch = epoch + 1000000;
  perform advance_settlement_horizon(lost_until);

  -- Changes rows of `org` and `api_key`, so it comes before the closings, which lock wallets.
  select to_jsonb(c) into access from close_access_again(p_changes) c;
  closed_attempts := 0;
  loop
    exit when p_open = 'kept';
    select array_agg(t.attempt_id) into v_ids from (
      select h.attempt_id from hold h where not h.resumable and not h.annulled
      order by h.attempt_id limit 500
    ) t;
    exit when v_ids is null;
    if p_open = 'void' then
      perform close_unobserved(v_ids, 'lost_in_restore', 'none', 'gateway_error', null);
    else
      perform close_unobserved(v_ids, 'unknown_after_crash', 'unknown_after_crash', null, null);
    end if;
    closed_attempts := closed_attempts + cardinality(v_ids);
  end loop;
  select count(*) into open_jobs from hold where resumable and not annulled;

  ended_sessions := 0;
  if not p_is_nothing_lost then
    ended_sessions := end_all_console_access();
    insert into billing_schedule as b (name, next_at)
    select 'recovery', restored_to where exists (select from payment_customer)
    on conflict (name) do update set next_at = least(b.next_at, excluded.next_at);
  end if;
end $$;

-- Records costs that are owed to providers for attempts that a restore has removed, once per
-- reference. Returns the number of new records.
create function bear_lost_costs(p_costs jsonb) returns bigint language plpgsql as $$
declare
  v_new text[];
begin
  with fresh as (
    insert into lost_cost (ref, life, provider_id, model_id, upstream_model_id, attempt_id,
      ended_at, claims, cost_pico, amount)
    select c.ref, c.life, c.provider_id, c.model_id, c.upstream_model_id, c.attempt_id, c.ended_at,
      c.claims, c.cost_pico, div(c.cost_pico, 1000000)
    from jsonb_to_recordset(p_costs) as c(ref text, life integer, provider_id text,
      model_id text, upstream_model_id text, attempt_id bigint, ended_at timestamptz,
      claims bigint, cost_pico numeric)
    on conflict (ref) do nothing
    returning ref
  )
  select array_agg(f.ref) into v_new from fresh f;
  perform move_between_platform_accounts(coalesce((
    select jsonb_agg(jsonb_build_object('kind', 'lost', 'debit', 'lost',
      'credit', 'accrual:' || c.provider_id, 'amount', c.amount, 'ref', c.ref) order by c.ref)
    from lost_cost c where c.ref = any (v_new) and c.amount > 0
  ), '[]'));
  return coalesce(cardinality(v_new), 0);
end $$;

-- == Purchases ==

-- Locks the wallet of a purchase, and then the purchase. Platform accounts are locked later, as in
-- every transaction.
create function lock_purchase(p_purchase text) returns purchase language plpgsql as $$
declare
  v_purchase purchase;
begin
  select * into v_purchase from purchase where purchase_id = p_purchase;
  if not found then
    raise exception 'no purchase %', p_purchase using errcode = 'TM404';
  end if;
  perform lock_wallets(array[v_purchase.org_id]);
  -- The purchase is read again, because it may have changed before it was locked.
  select * into v_purchase from purchase where purchase_id = p_purchase for update;
  return v_purchase;
end $$;

create function cash_of(p_purchase purchase) returns text language sql immutable as $$
  select case when p_purchase.is_test_money then 'cash:test' else 'cash:stripe' end
$$;

-- Transfers an amount from the cash account to the wallet. If the organization owes something, the
-- trigger wallet_pays_what_it_owes takes that from the wallet at once.
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

-- Charges an organization for a refund or a dispute: adds the amount to what it owes, of which the
-- trigger wallet_pays_what_it_owes pays as much as the wallet has free.
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

-- Moves the money of the claims (refunds and disputes) of a purchase. All claims without a reversal
-- together take the sum of their amounts, but at most the amount of the purchase. Each new claim
-- and each reversal moves the difference from what was taken before, so their order does not
-- change the final amount.
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

-- Returns the next receipt number of a series. Its row is locked until the commit, so no number is
-- skipped.
create function next_receipt(p_series text) returns bigint language sql as $$
  insert into receipt_series as s (series, last) values (p_series, 1)
  on conflict (series) do update set last = s.last + 1 returning last
$$;

-- Credits a purchase once and assigns its receipt number. Returns true if this call did it. Raises
-- TM409 if credit was granted by hand with the purchase's id as reference.
create function grant_purchase(p_purchase text, p_payment text, p_receipt text,
  p_method text default null, p_seller jsonb default '{}')
returns boolean language plpgsql as $$
declare
  v_purchase purchase;
  v_series text;
begin
  perform 1 from org where org_id = (select org_id from purchase where purchase_id = p_purchase)
  for no key update;
  v_purchase := lock_purchase(p_purchase);
  if v_purchase.granted_at is not null then
    update purchase set receipt_url = coalesce(receipt_url, p_receipt),
      payment_method = coalesce(payment_method, p_method)
    where purchase_id = p_purchase and ((receipt_url is null and p_receipt is not null)
      or (payment_method is null and p_method is not null));
    return false;
  end if;
  if exists (select from transfer_ref where ref = p_purchase) then
    raise exception 'purchase % was credited by hand', p_purchase using errcode = 'TM409';
  end if;
  perform credit_purchase(v_purchase, 'purchase', v_purchase.micro_usd, 'purchase:' || p_purchase);
  update org set funded_at = coalesce(funded_at, now()), bought_at = coalesce(bought_at, now())
  where org_id = v_purchase.org_id;
  v_series := case when v_purchase.is_test_money then 'test:' else 'live:' end
    || coalesce(p_seller ->> 'name', '');
  update purchase set state = 'granted', granted_at = now(), checked_at = null,
    payment_id = coalesce(p_payment, payment_id), receipt_url = coalesce(p_receipt, receipt_url),
    payment_method = p_method, seller = p_seller, receipt_series = v_series,
    receipt_number = next_receipt(v_series), buyer = (
      select jsonb_build_object('name', o.name, 'company', to_jsonb(c) - 'org_id' - 'changed_at')
      from org o left join org_company c using (org_id) where o.org_id = v_purchase.org_id)
  where purchase_id = p_purchase;
  perform follow_credit(v_purchase.org_id, v_purchase.micro_usd);
  perform apply_claims(v_purchase);
  return true;
end $$;

-- Inserts a refund or a dispute (a claim), or updates it. Once is_over or is_reversed is true, it
-- stays true. Returns true if the claim is new.
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

-- == Video jobs ==

-- Inserts a video job and marks its attempt (attach_job), or does neither. Returns false if the
-- attempt has no hold, or if its instance has a newer epoch than the hold: recovery may have seen
-- the attempt without the mark.
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
  perform 1 from hold h join instance i on i.instance_id = h.instance_id
  where h.attempt_id = v_job.attempt_id and h.epoch = i.epoch
    and h.org_id = v_job.org_id and h.key_id = v_job.key_id
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
  -- If two equal calls come at the same time, the second one finds the job of the first and
  -- succeeds.
  if not exists (select from video_job
      where job_id = v_job.job_id and attempt_id = v_job.attempt_id) then
    raise exception 'video job % belongs to another attempt', v_job.job_id using errcode = 'TM409';
  end if;
  return true;
end $$;

-- Ends a video job and closes its attempt, once. Locks the settlement gate, the wallet, and then
-- the job: every other transaction locks a job last.
create function finish_job(
  p_job text, p_state text, p_error_code text, p_expires_at timestamptz, p_reported_cost numeric,
  p_attempt bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cache_write_1h bigint[], p_cost numeric[],
  p_owed numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  p_served_model text[], p_substituted boolean[]
) returns setof video_job language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_job video_job;
  v_debited bigint[];
begin
  perform enter_settlement_gate();
  perform lock_wallets(array(select org_id from video_job where job_id = p_job));
  select * into v_job from video_job where job_id = p_job for update;
  if not found then return; end if;
  if v_job.completed_at is null then
    if p_attempt is distinct from array[v_job.attempt_id] then
      raise exception 'video job % ends with its own attempt', p_job using errcode = 'TM409';
    end if;
    select l.debited into v_debited
    from close_batch(p_attempt, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
      p_completion, p_internal_reasoning, p_cache_write_1h, p_cost, p_owed, p_status, p_error,
      p_started_ms, p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted,
      '{}', '{}', '{}', '{}', '{}') l;
    update video_job set state = p_state, error_code = p_error_code, expires_at = p_expires_at,
      reported_cost_pico = p_reported_cost, debit = v_debited[1],
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

-- == Verdicts, alerts, members, sums ==

-- Records the verdicts of one conformance run; recording a run twice adds nothing. A listing that
-- passes, even with warnings, is no longer suspect, unless it became so after the run had begun.
-- p_checked_at has the beginnings by a clock that now says p_now. Keeps the newest hundred verdicts
-- of a listing.
create function record_verdicts(
  p_provider text[], p_model text[], p_upstream text[], p_manifest text[], p_verdict text[],
  p_checked_at timestamptz[], p_source text[], p_checks text[], p_now timestamptz
) returns void language plpgsql as $$
begin
  update verdict_version set version = version + 1;
  insert into listing_verdict
    (provider_id, model_id, upstream_id, manifest_sha256, verdict, checked_at, source, checks)
  select provider_id, model_id, upstream_id, manifest_sha256, verdict,
    -- The clock of the machine that made the report may be ahead of the database's clock.
    least(checked_at, now()), source, checks::json
  from unnest(p_provider, p_model, p_upstream, p_manifest, p_verdict, p_checked_at, p_source, p_checks)
    as new (provider_id, model_id, upstream_id, manifest_sha256, verdict, checked_at, source, checks)
  on conflict do nothing;
  delete from suspect_listing s
  using unnest(p_provider, p_model, p_verdict, p_checked_at)
    as new (provider_id, model_id, verdict, checked_at)
  where s.provider_id = new.provider_id and s.model_id = new.model_id
    and new.verdict in ('pass', 'warn')
    -- p_now is cut to whole milliseconds, so a run can seem to have begun up to one later.
    and new.checked_at - p_now > s.since - now() + interval '1 millisecond';
  delete from listing_verdict old
  where (old.provider_id, old.model_id) in (select * from unnest(p_provider, p_model))
    and old.verdict_id not in (
      select kept.verdict_id from listing_verdict kept
      where kept.provider_id = old.provider_id and kept.model_id = old.model_id
      order by kept.checked_at desc, kept.verdict_id desc limit 100
    );
end $$;

-- Stores an event with a delivery for each destination that takes its kind, in the transaction of
-- the caller. Returns false if an event with the same happens_once was stored before.
create function alert_report(
  new_event_id text, for_org_id text, of_kind text, with_facts jsonb, happens_once text
) returns boolean language plpgsql as $$
begin
  insert into alert_event (event_id, org_id, kind, facts, once)
  values (new_event_id, for_org_id, of_kind, with_facts, happens_once)
  on conflict (once) do nothing;
  if not found then
    return false;
  end if;
  insert into alert_delivery (event_id, destination_id)
  select new_event_id, t.destination_id from alert_destination t
  where t.org_id = for_org_id and t.disabled_at is null
    and (t.kinds is null or of_kind = any (t.kinds));
  return true;
end $$;

-- Keeps every account a member of its own organization, whatever creates or moves the account.
create function join_own_org() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    delete from org_member where org_id = old.org_id and account_id = new.account_id;
  end if;
  insert into org_member (org_id, account_id, role, joined_at)
  values (new.org_id, new.account_id, 'owner',
    case when tg_op = 'INSERT' then new.created_at else now() end)
  on conflict do nothing;
  return null;
end $$;
-- Turns the usual alerts on for the first owner with a verified address. Existing rules are kept.
create function turn_alerts_on() returns trigger language plpgsql as $$
begin
  insert into alert_rules (org_id, balance_follows, cap_percents, purchases_since,
    restrictions_since, key_expiry_since, trouble_since)
  values (new.org_id, true, '{80,100}', now(), now(), now(), now()) on conflict do nothing;
  if found then
    insert into alert_destination (destination_id, org_id, channel, address)
    values ('dst_' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 24), new.org_id, 'email',
      new.email) on conflict do nothing;
  end if;
  return null;
end $$;
create trigger account_alerts_on after insert or update of org_id, email_verified_at
  on console_account for each row when (new.email_verified_at is not null)
  execute function turn_alerts_on();
create trigger account_made after insert on console_account
  for each row execute function join_own_org();
create trigger account_moved after update of org_id on console_account
  for each row when (old.org_id is distinct from new.org_id) execute function join_own_org();

-- Runs after each insert or update in a partition of `attempt` whose day is in usage_day.
-- src/gateway/records creates these triggers, with the day as their argument.
create function note_usage_change() returns trigger language plpgsql as $$
begin
  insert into usage_stale (org_id, day) values (new.org_id, tg_argv[0]::date);
  return null;
end $$;

-- == The change log ==

-- Inserts rows into the change log, as the last step of a transaction. A second transaction that
-- calls it waits until the first one commits, so positions and times grow in the order of the
-- commits, and a reader that continues after a position misses nothing. A process that hangs before
-- its commit blocks other transactions for at most 5 s.
create function record_changes(p_changes jsonb)
returns table (r_position bigint, r_at timestamptz) language plpgsql as $$
begin
  perform set_config('idle_in_transaction_session_timeout', '5000', true);
  perform pg_advisory_xact_lock(hashtext('tokenmarket change log'));
  return query insert into change (position, at, actor_kind, actor_id, org_id, action, target,
      before, after, request_id, client_network)
    select nextval('change_position'), date_trunc('milliseconds', clock_timestamp()),
      c.value ->> 'actor_kind', c.value ->> 'actor_id', c.value ->> 'org_id',
      c.value ->> 'action', c.value ->> 'target', nullif(c.value -> 'before', 'null'),
      nullif(c.value -> 'after', 'null'), c.value ->> 'request_id', c.value ->> 'client_network'
    from jsonb_array_elements(p_changes) with ordinality c(value, nr) order by c.nr
    returning position, at;
end $$;

-- Refuses updates and deletes of rows of the change log. Only retire_changes can delete rows, up to
-- the position that it sets.
create function keep_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and tg_level = 'ROW' then
    -- The setting is null outside retire_changes, so the comparison is not true.
    if old.position <= nullif(current_setting('tokenmarket.retired_changes', true), '')::bigint
    then return old; end if;
  end if;
  raise exception 'change rows are never changed or deleted';
end $$;
create trigger change_is_insert_only before update or delete on change
  for each row execute function keep_change();
create trigger change_is_not_truncated before truncate on change
  for each statement execute function keep_change();

-- Deletes at most p_limit rows of the change log that are older than p_days days, the oldest first.
-- Returns their number.
create function retire_changes(p_days integer, p_limit integer) returns bigint
language plpgsql as $$
declare
  v_through bigint;
  v_gone bigint;
begin
  if p_days < 1 then raise exception 'changes are kept for a day at least'; end if;
  select max(t.position) into v_through from (
    select c.position from change c
    where c.at < clock_timestamp() - p_days * interval '1 day' order by c.position limit p_limit
  ) t;
  if v_through is null then return 0; end if;
  perform set_config('tokenmarket.retired_changes', v_through::text, true);
  delete from change where position <= v_through;
  get diagnostics v_gone = row_count;
  perform set_config('tokenmarket.retired_changes', '', true);
  return v_gone;
end $$;

-- == Notices of changes ==

-- Sends the id of an organization to the listeners of a channel when a change of its row, keys,
-- limits, policy, connections or restrictions commits. src/gateway/accounts/account-notices.ts
-- listens.
create function notify_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('tokenmarket_account',
    case tg_op when 'DELETE' then old.org_id else new.org_id end);
  return null;
end $$;

do $$
declare
  v_table text;
begin
  foreach v_table in array array['org', 'api_key', 'limit_override', 'dedicated_endpoint',
    'routing_policy', 'connection'] loop
    execute format('create trigger %I after update or delete on %I
      for each row execute function notify_account_change()', v_table || '_change_is_notified', v_table);
  end loop;
  -- Inserts into `org` and `api_key` need no notice, because no process has cached a new row yet.
  foreach v_table in array array['limit_override', 'dedicated_endpoint', 'routing_policy',
    'connection'] loop
    execute format('create trigger %I after insert on %I
      for each row execute function notify_account_change()', 'new_' || v_table || '_is_notified', v_table);
  end loop;
end $$;
create trigger usage_hold_change_is_notified after insert or update or delete on usage_hold
  for each row execute function notify_account_change();

-- == The first partitions ==

-- The first call creates the partitions; the second call then moves the sequence of positions to
-- this month.
select ensure_transfer_partitions(2);
select ensure_transfer_partitions(2);
