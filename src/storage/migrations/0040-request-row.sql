-- program_min: 11
-- The last attempt of a request is the request's row.

-- What several attempts of one request used and cost together.
create type attempt_sums as (
  attempts bigint, prompt bigint, cached_prompt bigint, cache_write bigint, completion bigint,
  internal_reasoning bigint, cost_pico numeric, debit bigint, duration_ms bigint
);

-- A request is a row: of its finished attempts the last one, by number and id. That one is `final`
-- and has the sums of the others in `earlier`; its own columns and these are the request's figures.
-- Most requests are one attempt, which is final as it is written, with nothing earlier, so that a
-- request costs no row, no index and no statement of its own.
alter table attempt add column earlier attempt_sums;

drop trigger finished_attempt_is_final on attempt;

-- Written once; then only the late correction changes it, and which attempt is its request's last.
create function keep_finished_attempt() returns trigger language plpgsql as $$
begin
  old.final := new.final;
  old.earlier := new.earlier;
  if old is distinct from new then
    raise exception '% rows are never changed or deleted', tg_table_name;
  end if;
  return new;
end $$;
create trigger finished_attempt_is_final before update on attempt
  for each row when (not (old.state = 'unknown_after_crash'
    and old.corrected_at is null and new.corrected_at is not null and new.state = old.state
    and new.reserve = old.reserve and new.org_id = old.org_id and new.key_id = old.key_id
    and new.month = old.month and new.closed_at = old.closed_at))
  execute function keep_finished_attempt();

-- Makes the last finished attempt of each of these requests its row. It is called behind whatever
-- writes, corrects or takes away an attempt that may not be the only one of its request, in the same
-- transaction and under the lock of the wallet. It counts anew what is there, so that the order in
-- which attempts end is of no matter: a late end, one after a crash, and one that is voided.
-- p_first and p_last are ids of these requests' attempts. The others are less than two days away, of
-- which the plan opens no more; the audit finds one that is not.
create function join_attempts(p_org text[], p_request uuid[], p_first bigint, p_last bigint)
returns void language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_first constant bigint := p_first - (172800000::bigint << 22);
  v_last constant bigint := p_last + (172800000::bigint << 22);
begin
  with line as (
    select a.*, row_number() over (partition by a.org_id, a.request_id
      order by a.ordinal desc, a.attempt_id desc) = 1 as is_last
    from (select distinct org, request from unnest(p_org, p_request) as u(org, request)) t
    join attempt a on a.org_id = t.org and a.request_id = t.request
      and a.attempt_id between v_first and v_last
  ), joined as (
    select l.attempt_id, l.is_last, case when l.is_last then (
      select (count(*), sum(e.prompt), sum(e.cached_prompt), sum(e.cache_write), sum(e.completion),
        sum(e.internal_reasoning), sum(e.cost_pico), sum(e.debit), sum(e.duration_ms))::attempt_sums
      from line e
      where e.org_id = l.org_id and e.request_id = l.request_id and not e.is_last
      having count(*) > 0
    ) end as earlier
    from line l
  )
  update attempt a set final = j.is_last, earlier = j.earlier
  from joined j
  where a.attempt_id = j.attempt_id and a.attempt_id between v_first and v_last
    and (a.final, a.earlier) is distinct from (j.is_last, j.earlier);
end $$;

create or replace function ledger_batch_2(
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
  -- A batch of nothing runs every statement, so that they are planned before a customer waits.
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
  -- Requests that have, or may have, more than one attempt.
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
  perform 1 from account where account_id in (
    select 'wallet:' || org_id from hold where attempt_id = any (p_closed)
    union
    select 'wallet:' || org from unnest(p_org) as t(org) where v_holds
  ) order by account_id for update;

  if v_closes then
    v_position := nextval('ledger_position');
    v_now := closing_time();
    -- Of two closings of one attempt the nested loop meets the first one first.
    -- What the later parts read comes first: reading a column reads those in front of it, too.
    with released as (
      delete from hold h
      using (
        select t.*, div(t.cost, 1000000) as micro,
          case when t.basis = 'unknown_after_crash' then 'unknown_after_crash'
            when t.basis = 'none' then 'void' else 'settled' end as state
        from unnest(p_closed, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
          p_completion, p_internal_reasoning, p_cache_write_1h, p_cost, p_owed, p_status, p_error,
          p_started_ms, p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted,
          p_remaining_rpm, p_remaining_tpm, p_queue_ms, p_retry_after, p_dropped_params)
          with ordinality as t(id, outcome, basis, prompt, cached_prompt, cache_write, completion,
            internal_reasoning, cache_write_1h, cost, owed, status, error, started_ms,
            first_byte_ms, duration_ms, final, served_model, substituted,
            remaining_rpm, remaining_tpm, queue_ms, retry_after, dropped_params, n)
      ) q
      where h.attempt_id = q.id and not h.annulled
      returning q.n, h.attempt_id, h.org_id, h.key_id, h.provider_id, h.month, h.reserve, q.state,
        case q.state when 'settled' then least(q.micro, h.reserve)
          when 'void' then 0 else h.reserve end::bigint as debit,
        case q.state when 'settled' then greatest(q.micro - h.reserve, 0) else 0 end::bigint
          as overrun,
        case q.state when 'settled' then margin_of(q.cost, q.owed) else 0 end as margin,
        h.request_id, h.ordinal, h.model_id, h.upstream_model_id, h.price_pin_id, h.route,
        h.stream, h.instance_id, h.epoch, h.estimated_tokens, h.resumable, h.provider_job_id,
        h.opened_position, h.created_at, q.outcome, q.basis, q.prompt, q.cached_prompt,
        q.cache_write, q.completion, q.internal_reasoning, q.cache_write_1h,
        case q.state when 'settled' then q.cost end as cost,
        case q.state when 'settled' then q.owed end as owed, q.status, q.error, q.served_model,
        q.substituted, q.final, to_timestamp(q.started_ms / 1000.0) as started_at,
        q.first_byte_ms, q.duration_ms, q.remaining_rpm, q.remaining_tpm, q.queue_ms, q.retry_after,
        q.dropped_params
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
        reserve, month, r.state, resumable, provider_job_id, outcome, basis, prompt,
        cached_prompt, cache_write, completion, internal_reasoning, cost, debit, overrun, status,
        error, served_model, substituted, true, started_at, first_byte_ms, duration_ms,
        opened_position, v_position, created_at, v_now, cache_write_1h, owed,
        remaining_rpm, remaining_tpm, queue_ms, retry_after, dropped_params
      from released r
    ), wallet as (
      update account w set reserved = w.reserved - t.reserve, debits = w.debits + t.debit
      from (
        select org_id, sum(reserve)::bigint as reserve, sum(debit)::bigint as debit
        from released group by org_id
      ) t
      where w.account_id = 'wallet:' || t.org_id
    ), spent as (
      update spend s set reserved = s.reserved - t.reserve, settled = s.settled + t.debit
      from (
        select case grouping(org_id) when 0 then 'org' else 'key' end as scope,
          coalesce(org_id, key_id) as id, month, sum(reserve)::bigint as reserve,
          sum(debit)::bigint as debit
        from released group by grouping sets ((org_id, month), (key_id, month))
      ) t
      where s.scope = t.scope and s.id = t.id and s.month = t.month
    ), spent_day as (
      -- Only keys with such caps have days.
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
  -- The end of a hold must have a day to be written to: without one nothing may be sent.
  select min(t.id), max(t.id) into v_first, v_last from unnest(p_attempt) as t(id);
  if v_first is not null
      and (to_regclass('attempt_' || to_char(attempt_day(v_first), 'YYYYMMDD')) is null
        or to_regclass('attempt_' || to_char(attempt_day(v_last), 'YYYYMMDD')) is null) then
    raise exception 'no partition for the day of attempt % or %', v_first, v_last
      using errcode = '23514';
  end if;
  v_position := nextval('ledger_position');
  -- After the locks: a batch that waited over midnight belongs to the new day.
  v_admitted := clock_timestamp();
  v_month := date_trunc('month', v_admitted at time zone 'utc');
  v_week := date_trunc('week', v_admitted at time zone 'utc');
  v_day := v_admitted at time zone 'utc';

  -- Whole groups first: keys nest in organizations, so an organization fits when it and all of its
  -- keys fit, and then every row of it fits in any order. One without a wallet never fits.
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
    left join api_key k on k.key_id = l.key and k.org_id = l.org
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
  left join org o on o.org_id = l.org
  left join account w on w.account_id = 'wallet:' || l.org
  left join spend s on o.cap_micro_usd is not null
    and s.scope = 'org' and s.id = l.org and s.month = v_month;

  -- Only rows of organizations that do not fit whole are decided one by one, in arrival order.
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
      left join spend so on so.scope = 'org' and so.id = t.org and so.month = v_month
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
      elsif v.key_spent + v.key_held + v_key_taken[v.key_at] + v.amount > v.key_cap then
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

  -- Where its spend of this day will be added to.
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
    update account w set reserved = w.reserved + t.amount
    from (select org_id, sum(reserve)::bigint as amount from taken group by org_id) t
    where w.account_id = 'wallet:' || t.org_id
  )
  insert into spend as s (scope, id, month, reserved)
  select case grouping(org_id) when 0 then 'org' else 'key' end, coalesce(org_id, key_id),
    v_month, sum(reserve)
  from taken group by grouping sets ((org_id), (key_id))
  on conflict (scope, id, month) do update set reserved = s.reserved + excluded.reserved;
end $$;

create or replace function close_batch_2(
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
  v_undecided integer[];
  v_corrected integer[];
  -- The days these attempts can be of: the plans open no other partition.
  v_first constant bigint := (select min(id) from unnest(p_closed) as t(id));
  v_last constant bigint := (select max(id) from unnest(p_closed) as t(id));
begin
  perform enter_settlement_gate();
  -- All at once, in one order: those of what is open, and of what may be corrected.
  perform lock_wallets(array(
    select org_id from hold where attempt_id = any (p_closed)
    union
    select org_id from attempt
    where attempt_id = any (p_closed) and attempt_id between v_first and v_last));
  select l.closed_row, l.closed_code, l.debited, l.over
  into closed_row, closed_code, debited, over
  from ledger_batch_2('', 0, p_closed, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
    p_completion, p_internal_reasoning, p_cache_write_1h, p_cost, p_owed, p_status, p_error,
    p_started_ms, p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted,
    p_remaining_rpm, p_remaining_tpm, p_queue_ms, p_retry_after, p_dropped_params,
    '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}') l;
  v_undecided := array(select t.n from unnest(closed_row, closed_code) as t(n, code)
    where t.code = 0);
  if cardinality(v_undecided) = 0 then
    perform join_attempts(t.orgs, t.requests, v_first, v_last) from (
      select array_agg(org_id) as orgs, array_agg(request_id) as requests from attempt
      where attempt_id = any (p_closed) and attempt_id between v_first and v_last
    ) t;
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
  perform join_attempts(t.orgs, t.requests, v_first, v_last) from (
    select array_agg(org_id) as orgs, array_agg(request_id) as requests from attempt
    where attempt_id = any (p_closed) and attempt_id between v_first and v_last
  ) t;

  select array_agg(t.n order by t.n),
    array_agg(case when t.code = 1 then 1 when x.attempt_id is null then 3
      when t.n = any (v_corrected) then 4 else 2 end order by t.n),
    array_agg(coalesce(x.debit, 0) order by t.n), array_agg(coalesce(x.overrun, 0) order by t.n)
  into closed_row, closed_code, debited, over
  from unnest(closed_row, closed_code) as t(n, code)
  left join attempt x on x.attempt_id = p_closed[t.n] and x.attempt_id between v_first and v_last;
end $$;

create or replace function annul_attempt(
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
  -- A reserve that is under way has this lock, unless it waits for it.
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
  -- It was held, and a peer may have charged it since: that is taken back.
  perform close_unobserved(array[p_attempt], 'failed', 'none', 'gateway_error', 0);
end $$;
