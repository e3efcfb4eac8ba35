/**
 * The ledger's verbs. Lock order in all of them: fence, wallets sorted, house accounts sorted.
 * A wallet's lock covers everything of its organization: holds, spend rows, attempt states.
 */
// A batch touches few rows of large tables, and tables that grow faster than their statistics: the
// planner must never think of reading one whole.
const byIndex = "set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off";

const lockWallets = `
create function lock_wallets(p_orgs text[]) returns void language sql as $$
  select 1 from account
  where account_id in (select distinct 'wallet:' || org from unnest(p_orgs) as t(org))
  order by account_id for update
$$;
`;

/**
 * Answers only the rows that were not reserved: 1 low balance (available, held), 2 org cap and
 * 3 key cap (cap, settled, in flight), 4 no such key of this organization, 9 fenced.
 */
const reserveBatch = `
create function reserve_batch(
  p_instance text, p_epoch bigint, p_attempt bigint[], p_request uuid[], p_ordinal smallint[],
  p_org text[], p_key text[], p_model text[], p_provider text[], p_upstream text[], p_pin text[],
  p_route text[], p_stream boolean[], p_tokens bigint[], p_reserve bigint[]
) returns table (n integer, code integer, a bigint, b bigint, c bigint, reset_ms bigint)
language plpgsql ${byIndex} as $$
declare
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
  where not (l.fits and l.amount <= w.credits - w.debits - w.reserved
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
        w.credits - w.debits as settled, w.reserved as held,
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
    month)
  select u.attempt, u.request, u.ordinal, u.org, u.key, u.model, u.provider, u.upstream, u.pin,
    u.route, u.stream, p_instance, p_epoch, u.tokens, u.amount, v_month
  from unnest(p_attempt, p_request, p_ordinal, p_org, p_key, p_model, p_provider, p_upstream,
    p_pin, p_route, p_stream, p_tokens, p_reserve, v_refused)
    as u(attempt, request, ordinal, org, key, model, provider, upstream, pin, route, stream,
      tokens, amount, refused)
  where u.refused is not true;
end $$;
`;

/**
 * Closes what is open. Per row in arrival order: 1 closed now, 2 was closed before (the first of
 * two in one batch wins), 3 no such attempt; with the debit and the excess over the reserve.
 */
const closeBatch = `
create function close_batch(
  p_attempt bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cost numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[],
  out row_at integer[], out codes integer[], out debited bigint[], out over bigint[]
) language plpgsql ${byIndex} as $$
begin
  perform lock_wallets((select array_agg(distinct org_id)
    from attempt where attempt_id = any (p_attempt)));

  with asked as (
    select distinct on (t.id) t.*, div(t.cost, 1000000) as micro,
      case when t.basis = 'unknown_after_crash' then 'unknown_after_crash'
        when t.prompt is null then 'void' else 'settled' end as state
    from unnest(p_attempt, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
      p_completion, p_internal_reasoning, p_cost, p_status, p_error, p_started_ms,
      p_first_byte_ms, p_duration_ms, p_final) with ordinality
      as t(id, outcome, basis, prompt, cached_prompt, cache_write, completion,
        internal_reasoning, cost, status, error, started_ms, first_byte_ms, duration_ms, final, n)
    order by t.id, t.n
  ), closed as (
    update attempt a set state = q.state, outcome = q.outcome, basis = q.basis, prompt = q.prompt,
      cached_prompt = q.cached_prompt, cache_write = q.cache_write, completion = q.completion,
      internal_reasoning = q.internal_reasoning,
      cost_pico = case q.state when 'settled' then q.cost end,
      debit = case q.state when 'settled' then least(q.micro, a.reserve)
        when 'void' then 0 else a.reserve end,
      overrun = case q.state when 'settled' then greatest(q.micro - a.reserve, 0) else 0 end,
      upstream_status = q.status, error_class = q.error, final = q.final,
      started_at = to_timestamp(q.started_ms / 1000.0), first_byte_ms = q.first_byte_ms,
      duration_ms = q.duration_ms, closed_at = now()
    -- Not "state = 'open'": the planner would walk the index of open attempts, dead entries too.
    from asked q where a.attempt_id = q.id and a.closed_at is null
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
    insert into transfer (attempt_id, kind, debit_account, credit_account, amount)
    select attempt_id, 'settle', 'wallet:' || org_id,
      case state when 'settled' then 'accrual:' else 'unknown:' end || provider_id, c.debit
    from closed c where c.debit > 0
    union all
    select attempt_id, 'overrun', 'overrun', 'accrual:' || provider_id, c.overrun
    from closed c where c.overrun > 0
    returning kind, credit_account, amount
  ), house as (
    insert into account as h (account_id, debits, credits)
    select t.account_id, sum(t.debits), sum(t.credits) from (
      select credit_account as account_id, 0::bigint as debits, amount as credits from moved
      union all
      select 'overrun', amount, 0 from moved where kind = 'overrun'
    ) t
    group by t.account_id order by t.account_id
    on conflict (account_id) do update
      set debits = h.debits + excluded.debits, credits = h.credits + excluded.credits
  )
  select array_agg(c.n), array_agg(1), array_agg(c.debit), array_agg(c.overrun)
  into row_at, codes, debited, over from closed c;

  if coalesce(cardinality(row_at), 0) < cardinality(p_attempt) then
    select coalesce(row_at, '{}') || array_agg(t.n::integer),
      coalesce(codes, '{}') || array_agg(case when x.attempt_id is null then 3 else 2 end),
      coalesce(debited, '{}') || array_agg(coalesce(x.debit, 0)),
      coalesce(over, '{}') || array_agg(coalesce(x.overrun, 0))
    into row_at, codes, debited, over
    from unnest(p_attempt) with ordinality as t(id, n)
    left join attempt x on x.attempt_id = t.id
    where t.n <> all (coalesce(row_at, '{}'));
  end if;
end $$;
`;

/** Closings first, then reserves, in one transaction; all wallets are locked before either. */
const rollBatch = `
create function roll_batch(
  p_instance text, p_epoch bigint, p_attempt bigint[], p_request uuid[], p_ordinal smallint[],
  p_org text[], p_key text[], p_model text[], p_provider text[], p_upstream text[], p_pin text[],
  p_route text[], p_stream boolean[], p_tokens bigint[], p_reserve bigint[],
  p_closed bigint[], p_outcome text[], p_basis text[], p_prompt bigint[],
  p_cached_prompt bigint[], p_cache_write bigint[], p_completion bigint[],
  p_internal_reasoning bigint[], p_cost numeric[], p_status smallint[], p_error text[],
  p_started_ms bigint[], p_first_byte_ms integer[], p_duration_ms integer[], p_final boolean[]
) returns table (n integer, code integer, a bigint, b bigint, c bigint, reset_ms bigint)
language plpgsql as $$
begin
  -- The fence comes before the wallets here too, else a takeover could wait in a circle.
  perform 1 from instance where instance_id = p_instance for share;
  perform lock_wallets(p_org || (select array_agg(distinct org_id)
    from attempt where attempt_id = any (p_closed)));
  perform close_batch(p_closed, p_outcome, p_basis, p_prompt, p_cached_prompt, p_cache_write,
    p_completion, p_internal_reasoning, p_cost, p_status, p_error, p_started_ms, p_first_byte_ms,
    p_duration_ms, p_final);
  return query select * from reserve_batch(p_instance, p_epoch, p_attempt, p_request, p_ordinal,
    p_org, p_key, p_model, p_provider, p_upstream, p_pin, p_route, p_stream, p_tokens, p_reserve);
end $$;
`;

/**
 * Closes up to `p_limit` open attempts whose instance has started again or was declared dead, at
 * their reserve. Resumable attempts (provider jobs) are adopted elsewhere.
 */
const recoverAttempts = `
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
    array_fill(null::integer, v_size), array_fill(true, v_size)) r;
  select count(*) into closed from unnest(v_codes) as t(code) where t.code = 1;
end $$;
`;

/**
 * After a lost answer: takes the attempt's id with a void row, or voids the row that is there. A
 * reserve that commits later finds its id taken and fails as a whole.
 */
const annulAttempt = `
create function annul_attempt(
  p_attempt bigint, p_request uuid, p_ordinal smallint, p_org text, p_key text, p_model text,
  p_provider text, p_upstream text, p_pin text, p_route text, p_stream boolean, p_tokens bigint,
  p_reserve bigint
) returns void language plpgsql as $$
begin
  insert into attempt (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
    upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve,
    month, state, outcome, basis, error_class, final, started_at, duration_ms, closed_at)
  values (p_attempt, p_request, p_ordinal, p_org, p_key, p_model, p_provider, p_upstream, p_pin,
    p_route, p_stream, '', 0, p_tokens, p_reserve,
    date_trunc('month', clock_timestamp() at time zone 'utc'), 'void', 'failed', 'none',
    'gateway_error', true, now(), 0, now())
  on conflict (attempt_id) do nothing;
  if found then return; end if;
  perform close_batch(array[p_attempt], array['failed'], array['none'], array[null::bigint],
    array[null::bigint], array[null::bigint], array[null::bigint], array[null::bigint],
    array[0::numeric], array[null::smallint], array['gateway_error'], array[null::bigint],
    array[null::integer], array[0], array[true]);
end $$;
`;

/** Credits a wallet once per reference; answers whether this call did it, and the balance. */
const grantCredit = `
create function grant_credit(p_org text, p_amount bigint, p_ref text,
  out created boolean, out balance bigint) language plpgsql as $$
declare
  v_wallet constant text := 'wallet:' || p_org;
  v_id bigint;
begin
  perform lock_wallets(array[p_org]);
  if not exists (select from account where account_id = v_wallet) then
    raise exception 'no organization %', p_org using errcode = 'TM404';
  end if;
  insert into transfer (kind, debit_account, credit_account, amount, ref)
  values ('grant', 'grants', v_wallet, p_amount, p_ref)
  on conflict (ref) do nothing returning transfer_id into v_id;
  created := v_id is not null;
  if created then
    update account set credits = credits + p_amount where account_id = v_wallet;
    insert into account as h (account_id, debits) values ('grants', p_amount)
    on conflict (account_id) do update set debits = h.debits + excluded.debits;
    update org set funded_at = now() where org_id = p_org and funded_at is null;
  elsif not exists (select from transfer where ref = p_ref and kind = 'grant'
      and credit_account = v_wallet and amount = p_amount) then
    raise exception 'reference % belongs to another grant', p_ref using errcode = 'TM409';
  end if;
  select credits - debits into balance from account where account_id = v_wallet;
end $$;
`;

export const ledgerFunctionsSql: string = [
  lockWallets,
  reserveBatch,
  closeBatch,
  rollBatch,
  recoverAttempts,
  annulAttempt,
  grantCredit,
].join("\n");
