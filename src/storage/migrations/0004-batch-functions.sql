-- The ledger's verbs on batches. Lock order in all of them: settlement gate, fence, wallets sorted,
-- platform accounts sorted. A wallet's lock covers everything of its organization: holds, spend
-- rows, attempt states, caps.
--
-- A batch touches few rows of large tables, and tables that grow faster than their statistics: the
-- planner must never consider reading one whole. Nor may it plan each batch anew: with a partition
-- per day a plan for these very attempts seems cheaper, but making it costs more than running it.
-- Hence the settings of the functions.

create function lock_wallets(p_orgs text[]) returns void language sql as $$
  select 1 from account
  where account_id in (select distinct 'wallet:' || org from unnest(p_orgs) as t(org))
  order by account_id for update
$$;

-- A transaction that closes attempts holds the gate shared and reads the time behind it; one that
-- moves the settlement horizon holds it alone. So nothing is ever closed before a moved horizon.
create function enter_settlement_gate() returns void language sql as $$
  select pg_advisory_xact_lock_shared(hashtext('tokenmarket settlement'))
$$;

create function closing_time() returns timestamptz language sql volatile as $$
  select greatest(clock_timestamp(), through) from settlement_horizon
$$;

-- Answers only the rows that were not reserved: 1 low balance (available, held), 2 org cap and
-- 3 key cap (cap, settled, in flight), 4 no such key of this organization, 9 fenced. What is owed
-- after a refund or a dispute is not available.
create function reserve_batch(
  p_instance text, p_epoch bigint, p_attempt bigint[], p_request uuid[], p_ordinal smallint[],
  p_org text[], p_key text[], p_model text[], p_provider text[], p_upstream text[], p_pin text[],
  p_route text[], p_stream boolean[], p_tokens bigint[], p_reserve bigint[]
) returns table (n integer, code integer, a bigint, b bigint, c bigint, reset_ms bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_position bigint;
  v_month date;
  v_tight text[];
  v_refused boolean[];
  v_org_taken bigint[];
  v_key_taken bigint[];
  v record;
begin
  perform 1 from instance where instance_id = p_instance and epoch = p_epoch for share;
  if not found then
    return query select i, 9, 0::bigint, 0::bigint, 0::bigint, 0::bigint
      from generate_subscripts(p_attempt, 1) as i;
    return;
  end if;
  perform lock_wallets(p_org);
  v_position := nextval('ledger_position');
  -- After the locks: a batch that waited over midnight belongs to the new month.
  v_month := date_trunc('month', clock_timestamp() at time zone 'utc');

  -- Whole groups first: keys nest in organizations, so an organization fits when it and all of its
  -- keys fit, and then every row of it fits in any order.
  with key_line as (
    select l.org, l.amount, k.key_id is not null and (k.cap_micro_usd is null
      or s.settled + s.reserved + l.amount <= k.cap_micro_usd) as fits
    from (
      select t.org, t.key, sum(t.amount) as amount
      from unnest(p_org, p_key, p_reserve) as t(org, key, amount) group by 1, 2
    ) as l
    left join api_key k on k.key_id = l.key and k.org_id = l.org
    left join lateral (
      select coalesce(sum(settled) filter (where month = v_month), 0) as settled,
        coalesce(sum(reserved), 0) as reserved
      from spend where k.cap_micro_usd is not null and scope = 'key' and id = l.key
    ) s on true
  ), org_line as (
    select org, sum(amount) as amount, bool_and(fits) as fits from key_line group by org
  )
  select array_agg(l.org) into v_tight
  from org_line l
  join org o on o.org_id = l.org
  join account w on w.account_id = 'wallet:' || l.org
  left join spend s on o.cap_micro_usd is not null
    and s.scope = 'org' and s.id = l.org and s.month = v_month
  where not (l.fits and l.amount <= w.credits - w.debits - w.owed - w.reserved
    and (o.cap_micro_usd is null
      or coalesce(s.settled, 0) + w.reserved + l.amount <= o.cap_micro_usd));

  -- Only rows of organizations that do not fit whole are decided one by one, in arrival order.
  if v_tight is not null then
    v_refused := array_fill(false, array[cardinality(p_attempt)]);
    v_org_taken := array_fill(0::bigint, array[cardinality(p_attempt)]);
    v_key_taken := v_org_taken;
    for v in
      select t.n, t.amount, dense_rank() over (order by t.org) as org_at,
        dense_rank() over (order by t.key) as key_at, k.key_id is not null as known,
        w.credits - w.debits - w.owed as settled, w.reserved as held,
        o.cap_micro_usd as org_cap, coalesce(so.settled, 0) as org_spent,
        k.cap_micro_usd as key_cap, sk.settled as key_spent, sk.reserved as key_held
      from unnest(p_org, p_key, p_reserve) with ordinality as t(org, key, amount, n)
      join org o on o.org_id = t.org
      join account w on w.account_id = 'wallet:' || t.org
      left join api_key k on k.key_id = t.key and k.org_id = t.org
      left join spend so on so.scope = 'org' and so.id = t.org and so.month = v_month
      left join lateral (
        select coalesce(sum(s.settled) filter (where s.month = v_month), 0) as settled,
          coalesce(sum(s.reserved), 0) as reserved
        from spend s where s.scope = 'key' and s.id = t.key
      ) sk on true
      where t.org = any (v_tight) order by t.n
    loop
      n := v.n;
      reset_ms := extract(epoch from (v_month + interval '1 month') at time zone 'utc') * 1000;
      if not v.known then
        code := 4; a := 0; b := 0; c := 0;
      elsif v.key_spent + v.key_held + v_key_taken[v.key_at] + v.amount > v.key_cap then
        code := 3; a := v.key_cap; b := v.key_spent; c := v.key_held + v_key_taken[v.key_at];
      elsif v.org_spent + v.held + v_org_taken[v.org_at] + v.amount > v.org_cap then
        code := 2; a := v.org_cap; b := v.org_spent; c := v.held + v_org_taken[v.org_at];
      elsif v.amount > v.settled - v.held - v_org_taken[v.org_at] then
        code := 1; b := v.held + v_org_taken[v.org_at]; a := v.settled - b; c := 0;
      else
        v_org_taken[v.org_at] := v_org_taken[v.org_at] + v.amount;
        v_key_taken[v.key_at] := v_key_taken[v.key_at] + v.amount;
        continue;
      end if;
      v_refused[v.n] := true;
      return next;
    end loop;
  end if;

  -- An organization without a wallet is in no group above: it must not slip through as accepted.
  for v in
    select t.n from unnest(p_org) with ordinality as t(org, n)
    where not exists (select from account where account_id = 'wallet:' || t.org)
  loop
    n := v.n; code := 4; a := 0; b := 0; c := 0; reset_ms := 0;
    v_refused := coalesce(v_refused, array_fill(false, array[cardinality(p_attempt)]));
    v_refused[v.n] := true;
    return next;
  end loop;

  update account w set reserved = w.reserved + t.amount
  from (
    select u.org, sum(u.amount)::bigint as amount
    from unnest(p_org, p_reserve, v_refused) as u(org, amount, refused)
    where u.refused is not true group by 1
  ) t
  where w.account_id = 'wallet:' || t.org;

  insert into spend as s (scope, id, month, reserved)
  select case grouping(u.org) when 0 then 'org' else 'key' end, coalesce(u.org, u.key),
    v_month, sum(u.amount)
  from unnest(p_org, p_key, p_reserve, v_refused) as u(org, key, amount, refused)
  where u.refused is not true group by grouping sets ((u.org), (u.key))
  on conflict (scope, id, month) do update set reserved = s.reserved + excluded.reserved;

  insert into attempt (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
    upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve,
    month, opened_position)
  select u.attempt, u.request, u.ordinal, u.org, u.key, u.model, u.provider, u.upstream, u.pin,
    u.route, u.stream, p_instance, p_epoch, u.tokens, u.amount, v_month, v_position
  from unnest(p_attempt, p_request, p_ordinal, p_org, p_key, p_model, p_provider, p_upstream,
    p_pin, p_route, p_stream, p_tokens, p_reserve, v_refused)
    as u(attempt, request, ordinal, org, key, model, provider, upstream, pin, route, stream,
      tokens, amount, refused)
  where u.refused is not true;
end $$;

-- The one late correction: what was charged at its reserve after a crash, and was observed after
-- all, gives the difference back.
create function correct_batch(
  p_attempt bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cost numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  p_served_model text[], p_substituted boolean[], p_position bigint, p_now timestamptz,
  out row_at integer[], out debited bigint[], out over bigint[]
) language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
begin
  with asked as (
    select distinct on (t.id) t.*, div(t.cost, 1000000) as micro,
      case when t.basis = 'unknown_after_crash' then 'unknown_after_crash'
        when t.basis = 'none' then 'void' else 'settled' end as state
    from unnest(p_attempt, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
      p_completion, p_internal_reasoning, p_cost, p_status, p_error, p_started_ms,
      p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted) with ordinality
      as t(id, outcome, basis, prompt, cached_prompt, cache_write, completion,
        internal_reasoning, cost, status, error, started_ms, first_byte_ms, duration_ms, final,
        served_model, substituted, n)
    order by t.id, t.n
  ), corrected as (
    update attempt a set
      outcome = q.outcome, basis = q.basis, prompt = q.prompt,
      cached_prompt = q.cached_prompt, cache_write = q.cache_write, completion = q.completion,
      internal_reasoning = q.internal_reasoning, upstream_status = q.status,
      error_class = q.error, final = q.final, started_at = to_timestamp(q.started_ms / 1000.0),
      first_byte_ms = q.first_byte_ms, duration_ms = q.duration_ms,
      served_model = q.served_model, substituted = q.substituted,
      cost_pico = case q.state when 'settled' then q.cost else 0 end,
      debit = case q.state when 'settled' then least(q.micro, a.reserve) else 0 end,
      overrun = case q.state when 'settled' then greatest(q.micro - a.reserve, 0) else 0 end,
      corrected_at = p_now, corrected_position = p_position
    from asked q where a.attempt_id = q.id and a.state = 'unknown_after_crash'
      and a.corrected_at is null and q.state <> 'unknown_after_crash'
    returning q.n, a.attempt_id, a.org_id, a.key_id, a.month, a.provider_id, a.reserve,
      a.debit, a.overrun
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
  ), moved as (
    insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount)
    select p_position, attempt_id, 'refund', 'unknown:' || provider_id, 'wallet:' || org_id,
      c.reserve - c.debit
    from corrected c where c.reserve > c.debit
    union all
    select p_position, attempt_id, 'correct', 'unknown:' || provider_id,
      'accrual:' || provider_id, c.debit
    from corrected c where c.debit > 0
    union all
    select p_position, attempt_id, 'overrun', 'overrun', 'accrual:' || provider_id, c.overrun
    from corrected c where c.overrun > 0
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
  select array_agg(c.n), array_agg(c.debit), array_agg(c.overrun)
  into row_at, debited, over from corrected c;
end $$;

-- Closes what is open. Per row in arrival order: 1 closed now, 2 was closed before (the first of
-- two in one batch wins), 3 no such attempt, 4 charged after a crash before and corrected now; with
-- the debit and the excess over the reserve.
create function close_batch(
  p_attempt bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cost numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  p_served_model text[], p_substituted boolean[],
  out row_at integer[], out codes integer[], out debited bigint[], out over bigint[]
) language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_position bigint;
  v_now timestamptz;
  v_late record;
  -- The days these attempts can be of: the plan opens no other partition.
  v_first constant bigint := (select min(id) from unnest(p_attempt) as t(id));
  v_last constant bigint := (select max(id) from unnest(p_attempt) as t(id));
begin
  perform enter_settlement_gate();
  perform lock_wallets((select array_agg(distinct org_id)
    from attempt where attempt_id = any (p_attempt) and attempt_id between v_first and v_last));
  v_position := nextval('ledger_position');
  v_now := closing_time();

  with asked as (
    select distinct on (t.id) t.*, div(t.cost, 1000000) as micro,
      case when t.basis = 'unknown_after_crash' then 'unknown_after_crash'
        when t.basis = 'none' then 'void' else 'settled' end as state
    from unnest(p_attempt, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
      p_completion, p_internal_reasoning, p_cost, p_status, p_error, p_started_ms,
      p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted) with ordinality
      as t(id, outcome, basis, prompt, cached_prompt, cache_write, completion,
        internal_reasoning, cost, status, error, started_ms, first_byte_ms, duration_ms, final,
        served_model, substituted, n)
    order by t.id, t.n
  ), closed as (
    update attempt a set
      outcome = q.outcome, basis = q.basis, prompt = q.prompt,
      cached_prompt = q.cached_prompt, cache_write = q.cache_write, completion = q.completion,
      internal_reasoning = q.internal_reasoning, upstream_status = q.status,
      error_class = q.error, final = q.final, started_at = to_timestamp(q.started_ms / 1000.0),
      first_byte_ms = q.first_byte_ms, duration_ms = q.duration_ms,
      served_model = q.served_model, substituted = q.substituted, state = q.state,
      cost_pico = case q.state when 'settled' then q.cost end,
      debit = case q.state when 'settled' then least(q.micro, a.reserve)
        when 'void' then 0 else a.reserve end,
      overrun = case q.state when 'settled' then greatest(q.micro - a.reserve, 0) else 0 end,
      closed_at = v_now, closed_position = v_position
    -- Not "state = 'open'": the planner would walk the index of open attempts, dead entries too.
    from asked q where a.attempt_id = q.id and a.closed_at is null
      and a.attempt_id between v_first and v_last
    returning q.n, a.attempt_id, a.org_id, a.key_id, a.month, a.provider_id, a.state, a.reserve,
      a.debit, a.overrun
  ), wallet as (
    update account w set reserved = w.reserved - t.reserve, debits = w.debits + t.debit
    from (
      select org_id, sum(c.reserve)::bigint as reserve, sum(c.debit)::bigint as debit
      from closed c group by org_id
    ) t
    where w.account_id = 'wallet:' || t.org_id
  ), spent as (
    update spend s set reserved = s.reserved - t.reserve, settled = s.settled + t.debit
    from (
      select case grouping(org_id) when 0 then 'org' else 'key' end as scope,
        coalesce(org_id, key_id) as id, month, sum(c.reserve)::bigint as reserve,
        sum(c.debit)::bigint as debit
      from closed c group by grouping sets ((org_id, month), (key_id, month))
    ) t
    where s.scope = t.scope and s.id = t.id and s.month = t.month
  ), moved as (
    insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount)
    select v_position, attempt_id, 'settle', 'wallet:' || org_id,
      case state when 'settled' then 'accrual:' else 'unknown:' end || provider_id, c.debit
    from closed c where c.debit > 0
    union all
    select v_position, attempt_id, 'overrun', 'overrun', 'accrual:' || provider_id, c.overrun
    from closed c where c.overrun > 0
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
  select array_agg(c.n), array_agg(1), array_agg(c.debit), array_agg(c.overrun)
  into row_at, codes, debited, over from closed c;

  if coalesce(cardinality(row_at), 0) < cardinality(p_attempt) then
    if exists (select from attempt where attempt_id = any (p_attempt)
        and state = 'unknown_after_crash' and corrected_at is null
        and closed_position <> v_position) then
      v_late := correct_batch(p_attempt, p_outcome, p_basis, p_prompt, p_cached_prompt,
        p_cache_write, p_completion, p_internal_reasoning, p_cost, p_status, p_error, p_started_ms,
        p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted, v_position, v_now);
      row_at := coalesce(row_at, '{}') || coalesce(v_late.row_at, '{}');
      codes := coalesce(codes, '{}')
        || array_fill(4, array[coalesce(cardinality(v_late.row_at), 0)]);
      debited := coalesce(debited, '{}') || coalesce(v_late.debited, '{}');
      over := coalesce(over, '{}') || coalesce(v_late.over, '{}');
    end if;
    select row_at || array_agg(t.n::integer),
      codes || array_agg(case when x.attempt_id is null then 3 else 2 end),
      debited || array_agg(coalesce(x.debit, 0)), over || array_agg(coalesce(x.overrun, 0))
    into row_at, codes, debited, over
    from unnest(p_attempt) with ordinality as t(id, n)
    left join attempt x on x.attempt_id = t.id
    where t.n <> all (coalesce(row_at, '{}'));
  end if;
end $$;

-- Closings first, then reserves, in one transaction; all wallets are locked before either.
create function roll_batch(
  p_instance text, p_epoch bigint, p_attempt bigint[], p_request uuid[], p_ordinal smallint[],
  p_org text[], p_key text[], p_model text[], p_provider text[], p_upstream text[], p_pin text[],
  p_route text[], p_stream boolean[], p_tokens bigint[], p_reserve bigint[],
  p_closed bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cost numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  p_served_model text[], p_substituted boolean[]
) returns table (n integer, code integer, a bigint, b bigint, c bigint, reset_ms bigint)
language plpgsql as $$
begin
  -- The same order as everywhere, else an instance and a take-over could wait in a circle.
  perform enter_settlement_gate();
  perform 1 from instance where instance_id = p_instance for share;
  perform lock_wallets(p_org || (select array_agg(distinct org_id)
    from attempt where attempt_id = any (p_closed)));
  perform close_batch(p_closed, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
    p_completion, p_internal_reasoning, p_cost, p_status, p_error, p_started_ms, p_first_byte_ms,
    p_duration_ms, p_final, p_served_model, p_substituted);
  return query select * from reserve_batch(p_instance, p_epoch, p_attempt, p_request, p_ordinal,
    p_org, p_key, p_model, p_provider, p_upstream, p_pin, p_route, p_stream, p_tokens, p_reserve);
end $$;
