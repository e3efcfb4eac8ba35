// A batch touches few rows of large tables, and tables that grow faster than their statistics: the
// planner must never think of reading one whole. Nor may it plan each batch anew: with a partition
// per day a plan for these very attempts looks cheaper, but making it costs more than running it.
export const byIndex: string = `set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set plan_cache_mode = force_generic_plan`;

/**
 * Whoever closes attempts holds the gate shared and reads the time behind it; whoever moves the
 * settlement horizon holds it alone. So nothing is ever closed before a horizon that was moved.
 */
export const settlementGate: string = `
create function enter_settlement_gate() returns void language sql as $$
  select pg_advisory_xact_lock_shared(hashtext('tokenmarket settlement'))
$$;

create function closing_time() returns timestamptz language sql volatile as $$
  select greatest(clock_timestamp(), through) from settlement_horizon
$$;

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
`;

export const closeParameters: string = `
  p_attempt bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cost numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[]`;

/** The rows of a closing batch; of two for one attempt the first. */
const askedRows = `
    select distinct on (t.id) t.*, div(t.cost, 1000000) as micro,
      case when t.basis = 'unknown_after_crash' then 'unknown_after_crash'
        when t.basis = 'none' then 'void' else 'settled' end as state
    from unnest(p_attempt, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
      p_completion, p_internal_reasoning, p_cost, p_status, p_error, p_started_ms,
      p_first_byte_ms, p_duration_ms, p_final) with ordinality
      as t(id, outcome, basis, prompt, cached_prompt, cache_write, completion,
        internal_reasoning, cost, status, error, started_ms, first_byte_ms, duration_ms, final, n)
    order by t.id, t.n`;

/** What an attempt's row takes over from its closing, whatever state it ends in. */
const observedColumns = `
      outcome = q.outcome, basis = q.basis, prompt = q.prompt,
      cached_prompt = q.cached_prompt, cache_write = q.cache_write, completion = q.completion,
      internal_reasoning = q.internal_reasoning, upstream_status = q.status,
      error_class = q.error, final = q.final, started_at = to_timestamp(q.started_ms / 1000.0),
      first_byte_ms = q.first_byte_ms, duration_ms = q.duration_ms`;

/** Adds what the transfers of `moved` moved to the accounts of the house. */
const movePlatform = `
    insert into account as h (account_id, debits, credits)
    select t.account_id, sum(t.debits), sum(t.credits) from (
      select credit_account as account_id, 0::bigint as debits, amount as credits from moved
      union all
      select debit_account, amount, 0 from moved
    ) t
    where t.account_id not like 'wallet:%'
    group by t.account_id order by t.account_id
    on conflict (account_id) do update
      set debits = h.debits + excluded.debits, credits = h.credits + excluded.credits`;

/**
 * The one late correction: what was charged at its reserve after a crash, and was observed after
 * all, gives the difference back.
 */
export const correctBatch: string = `
create function correct_batch(
  ${closeParameters}, p_position bigint, p_now timestamptz,
  out row_at integer[], out debited bigint[], out over bigint[]
) language plpgsql ${byIndex} as $$
begin
  with asked as (${askedRows}
  ), corrected as (
    update attempt a set ${observedColumns},
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
  ), house as (${movePlatform}
  )
  select array_agg(c.n), array_agg(c.debit), array_agg(c.overrun)
  into row_at, debited, over from corrected c;
end $$;
`;

/**
 * Closes what is open. Per row in arrival order: 1 closed now, 2 was closed before (the first of
 * two in one batch wins), 3 no such attempt, 4 charged after a crash before and corrected now; with
 * the debit and the excess over the reserve.
 */
export const closeBatch: string = `
create function close_batch(
  ${closeParameters},
  out row_at integer[], out codes integer[], out debited bigint[], out over bigint[]
) language plpgsql ${byIndex} as $$
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

  with asked as (${askedRows}
  ), closed as (
    update attempt a set ${observedColumns}, state = q.state,
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
  ), house as (${movePlatform}
  )
  select array_agg(c.n), array_agg(1), array_agg(c.debit), array_agg(c.overrun)
  into row_at, codes, debited, over from closed c;

  if coalesce(cardinality(row_at), 0) < cardinality(p_attempt) then
    if exists (select from attempt where attempt_id = any (p_attempt)
        and state = 'unknown_after_crash' and corrected_at is null
        and closed_position <> v_position) then
      v_late := correct_batch(p_attempt, p_outcome, p_basis, p_prompt, p_cached_prompt,
        p_cache_write, p_completion, p_internal_reasoning, p_cost, p_status, p_error, p_started_ms,
        p_first_byte_ms, p_duration_ms, p_final, v_position, v_now);
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
`;
