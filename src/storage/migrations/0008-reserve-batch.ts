/**
 * `reserve_batch` as 0008 made it: what is owed after a refund or a dispute is not available. Frozen
 * whole: a text that is made out of another one changes with it, on new installations only.
 */
export const reserveBatchWithOwed: string = `
create or replace function reserve_batch(
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
`;
