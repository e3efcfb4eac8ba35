-- program_min: 11
-- Caps of a key by the day and by the week beside the monthly one, and tags of a key.
--
-- Expand only: what a program of an earlier level reads and calls stays as it is. It answers a request
-- that such a cap refuses as if the monthly cap had, with the reset of the month.
--
-- Days are UTC, weeks begin on Monday. A hold and its attempt are of the day of their `created_at`,
-- which a batch takes after its locks. What was settled is kept by the day, and only for keys that
-- have such a cap: of a key without one nothing is written, and a batch reads one index that has
-- no row of it.

alter table api_key add column cap_day_micro_usd bigint check (cap_day_micro_usd > 0),
  add column cap_week_micro_usd bigint check (cap_week_micro_usd > 0),
  add column tags text[];

-- What a key settled, by the UTC day of admission. A row that is there is exact. Rows of earlier
-- weeks are of no use to a cap.
create table spend_day (
  key_id text not null,
  day date not null,
  settled bigint not null default 0 check (settled >= 0),
  primary key (key_id, day)
) with (fillfactor = 50);

-- What keys settled by the day of admission in days that left the journal while they were of use to a cap.
create table retired_spend_day (
  retired date not null references retired_day,
  key_id text not null,
  day date not null,
  settled bigint not null,
  primary key (retired, key_id, day)
);

-- Every cap of a day or a week that a key ever had, in the books' own order, as `cap_change` has those
-- of a month. A table of its own, so that an audit by an earlier program takes none for a monthly one.
create table period_cap_change (
  position bigint not null,
  period text not null check (period in ('day', 'week')),
  key_id text not null,
  org_id text not null,
  cap_micro_usd bigint,
  at timestamptz not null default now(),
  primary key (position, period)
);
create trigger period_cap_change_is_insert_only before update or delete on period_cap_change
  for each row execute function refuse_change();
create trigger period_cap_change_is_kept before truncate on period_cap_change
  for each statement execute function refuse_change();

-- Counts what these keys settled on the days of this week, from the journal, and keeps the wallets of
-- their organizations locked. The journal is read before the lock, so that no batch waits for that;
-- behind it only what ended since is read: of one organization the positions grow in the order of the
-- commits, so what was seen before is all up to the last position that was seen.
create function count_days_of_keys(p_orgs text[], p_keys text[]) returns void
language plpgsql set enable_seqscan = off as $$
declare
  -- From the day before this week on: the clock may be set back.
  v_from constant date := date_trunc('week', clock_timestamp() at time zone 'utc')::date - 1;
  -- An id is made by the clock of its instance.
  v_first constant bigint := attempt_id_at((v_from - 1)::timestamp at time zone 'utc');
  v_begin constant timestamptz := v_from::timestamp at time zone 'utc';
  -- Whatever commits behind the first reading was at work now or began later.
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
    -- It was seen at its reserve, and is corrected since.
    select key_id, (created_at at time zone 'utc')::date, debit - reserve
    from attempt
    where corrected_at >= v_since and attempt_id >= v_first and created_at >= v_begin
      and org_id = any (p_orgs) and key_id = any (p_keys)
      and closed_position <= coalesce((v_through ->> org_id)::bigint, 0)
      and corrected_position > coalesce((v_through ->> org_id)::bigint, 0)
    union all
    -- What is in flight will be added to its day.
    select key_id, (created_at at time zone 'utc')::date, 0
    from hold where org_id = any (p_orgs) and key_id = any (p_keys) and created_at >= v_begin
  ) x group by key_id, day;
end $$;

-- A key that gets its first cap of a day or a week is counted before the cap holds; then the caps are
-- recorded in the order of the books: under the wallet's lock. Once for all keys of a statement.
create function record_period_caps() returns trigger language plpgsql as $$
declare
  v_orgs text[];
  v_keys text[];
begin
  select array_agg(distinct n.org_id), array_agg(n.key_id)
    filter (where o.cap_day_micro_usd is null and o.cap_week_micro_usd is null)
  into v_orgs, v_keys
  from new_key n join old_key o using (key_id)
  where (n.cap_day_micro_usd, n.cap_week_micro_usd)
    is distinct from (o.cap_day_micro_usd, o.cap_week_micro_usd);
  if v_orgs is null then return null; end if;
  if v_keys is not null then
    perform count_days_of_keys(v_orgs, v_keys);
  end if;
  perform lock_wallets(v_orgs);
  insert into period_cap_change (position, period, key_id, org_id, cap_micro_usd)
  select nextval('ledger_position'), c.period, n.key_id, n.org_id, c.cap
  from new_key n join old_key o using (key_id) cross join lateral (values
    ('day', n.cap_day_micro_usd, o.cap_day_micro_usd),
    ('week', n.cap_week_micro_usd, o.cap_week_micro_usd)) as c(period, cap, was)
  where c.cap is distinct from c.was;
  return null;
end $$;
create trigger period_caps_are_recorded after update on api_key
  referencing old table as old_key new table as new_key
  for each statement execute function record_period_caps();

-- A new key has spent nothing yet.
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

-- The caps of days and weeks are closed again as the monthly ones are.
create or replace function close_access_again(p_changes jsonb, out keys_disabled bigint,
  out caps_lowered bigint, out connections_disabled bigint, out holds_placed bigint)
language plpgsql as $$
declare
  v_more bigint;
begin
  update api_key k set disabled_at = clock_timestamp()
  from jsonb_to_recordset(p_changes) as c(kind text, id text)
  where c.kind = 'key' and k.key_id = c.id and k.disabled_at is null;
  get diagnostics keys_disabled = row_count;
  update connection n set disabled_at = clock_timestamp()
  from jsonb_to_recordset(p_changes) as c(kind text, id text)
  where c.kind = 'connection' and n.connection_id = c.id and n.disabled_at is null;
  get diagnostics connections_disabled = row_count;
  update api_key k set cap_micro_usd = c.cap
  from jsonb_to_recordset(p_changes) as c(kind text, id text, cap bigint)
  where c.kind = 'key_cap' and k.key_id = c.id and c.cap > 0
    and (k.cap_micro_usd is null or c.cap < k.cap_micro_usd);
  get diagnostics caps_lowered = row_count;
  update org o set cap_micro_usd = c.cap
  from jsonb_to_recordset(p_changes) as c(kind text, id text, cap bigint)
  where c.kind = 'org_cap' and o.org_id = c.id and c.cap > 0
    and (o.cap_micro_usd is null or c.cap < o.cap_micro_usd);
  get diagnostics v_more = row_count;
  caps_lowered := caps_lowered + v_more;
  update api_key k set cap_day_micro_usd = c.cap
  from jsonb_to_recordset(p_changes) as c(kind text, id text, cap bigint)
  where c.kind = 'key_day_cap' and k.key_id = c.id and c.cap > 0
    and (k.cap_day_micro_usd is null or c.cap < k.cap_day_micro_usd);
  get diagnostics v_more = row_count;
  caps_lowered := caps_lowered + v_more;
  update api_key k set cap_week_micro_usd = c.cap
  from jsonb_to_recordset(p_changes) as c(kind text, id text, cap bigint)
  where c.kind = 'key_week_cap' and k.key_id = c.id and c.cap > 0
    and (k.cap_week_micro_usd is null or c.cap < k.cap_week_micro_usd);
  get diagnostics v_more = row_count;
  caps_lowered := caps_lowered + v_more;
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
end $$;

-- `ledger_batch` of 0011, with the headers of answers and the days. Its answer has two more columns: the period of a cap that
-- refused, and the instant at which that one resets.
--
-- Of holds it answers only those it did not take: 1 low balance (available, held), 2 org cap and
-- 3 key cap (cap, settled, in flight), 4 no such key of this organization, 9 fenced. Of several caps
-- of a key that refuse the one that resets last is named: to wait for another would be in vain.
create function ledger_batch_2(
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
        error, served_model, substituted, final, started_at, first_byte_ms, duration_ms,
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
    select array_agg(r.n), array_agg(1), array_agg(r.debit), array_agg(r.overrun)
    into closed_row, closed_code, debited, over from released r;

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

-- `close_batch` of 0011, with the headers of answers and the days.
create function close_batch_2(
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
  if cardinality(v_undecided) = 0 then return; end if;

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
      error_class = q.error, final = q.final, started_at = to_timestamp(q.started_ms / 1000.0),
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

  select array_agg(t.n order by t.n),
    array_agg(case when t.code = 1 then 1 when x.attempt_id is null then 3
      when t.n = any (v_corrected) then 4 else 2 end order by t.n),
    array_agg(coalesce(x.debit, 0) order by t.n), array_agg(coalesce(x.overrun, 0) order by t.n)
  into closed_row, closed_code, debited, over
  from unnest(closed_row, closed_code) as t(n, code)
  left join attempt x on x.attempt_id = p_closed[t.n] and x.attempt_id between v_first and v_last;
end $$;

-- For a program of an earlier level: what it does not know is filled up with nulls.
create or replace function ledger_batch(
  p_instance text, p_epoch bigint,
  p_closed bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cache_write_1h bigint[], p_cost numeric[],
  p_owed numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  p_served_model text[], p_substituted boolean[],
  p_attempt bigint[], p_request uuid[], p_ordinal smallint[], p_org text[], p_key text[],
  p_model text[], p_provider text[], p_upstream text[], p_pin text[], p_route text[],
  p_stream boolean[], p_tokens bigint[], p_reserve bigint[],
  out closed_row integer[], out closed_code integer[], out debited bigint[], out over bigint[],
  out refused_row integer[], out refused_code integer[], out a bigint[], out b bigint[],
  out c bigint[], out reset_ms bigint
) language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
begin
  select l.closed_row, l.closed_code, l.debited, l.over, l.refused_row, l.refused_code, l.a, l.b,
    l.c, l.reset_ms
  into closed_row, closed_code, debited, over, refused_row, refused_code, a, b, c, reset_ms
  from ledger_batch_2(
    p_instance, p_epoch, p_closed, p_outcome, p_basis, p_prompt, p_cached_prompt,
    p_cache_write, p_completion, p_internal_reasoning, p_cache_write_1h, p_cost, p_owed,
    p_status, p_error, p_started_ms, p_first_byte_ms, p_duration_ms, p_final, p_served_model,
    p_substituted, '{}', '{}', '{}', '{}', '{}', p_attempt, p_request, p_ordinal, p_org,
    p_key, p_model, p_provider, p_upstream, p_pin, p_route, p_stream, p_tokens, p_reserve) l;
end $$;

create or replace function close_batch(
  p_closed bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cache_write_1h bigint[], p_cost numeric[],
  p_owed numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  p_served_model text[], p_substituted boolean[],
  out closed_row integer[], out closed_code integer[], out debited bigint[], out over bigint[]
) language plpgsql set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
begin
  select l.closed_row, l.closed_code, l.debited, l.over
  into closed_row, closed_code, debited, over
  from close_batch_2(
    p_closed, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write, p_completion,
    p_internal_reasoning, p_cache_write_1h, p_cost, p_owed, p_status, p_error, p_started_ms,
    p_first_byte_ms, p_duration_ms, p_final, p_served_model, p_substituted, '{}', '{}', '{}',
    '{}', '{}') l;
end $$;
