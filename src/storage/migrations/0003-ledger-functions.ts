import { byIndex, closeBatch, correctBatch, settlementGate } from "./0003-closing-functions.ts";

/**
 * The ledger's verbs. Lock order in all of them: settlement gate, fence, wallets sorted, house
 * accounts sorted. A wallet's lock covers everything of its organization: holds, spend rows,
 * attempt states, caps.
 */
const lockWallets = `
create function lock_wallets(p_orgs text[]) returns void language sql as $$
  select 1 from account
  where account_id in (select distinct 'wallet:' || org from unnest(p_orgs) as t(org))
  order by account_id for update
$$;
`;

/**
 * Answers only the rows that were not reserved: 1 low balance (available, held), 2 org cap and
 * 3 key cap (cap, settled, in flight), 4 no such key of this organization, 9 fenced. Migration
 * 0008 makes it again with another balance than credits minus debits.
 */
const reserveBatch: string = `
create or replace function reserve_batch(
  p_instance text, p_epoch bigint, p_attempt bigint[], p_request uuid[], p_ordinal smallint[],
  p_org text[], p_key text[], p_model text[], p_provider text[], p_upstream text[], p_pin text[],
  p_route text[], p_stream boolean[], p_tokens bigint[], p_reserve bigint[]
) returns table (n integer, code integer, a bigint, b bigint, c bigint, reset_ms bigint)
language plpgsql ${byIndex} as $$
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
  -- The same order as everywhere, else an instance and a take-over could wait in a circle.
  perform enter_settlement_gate();
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
    array[null::integer], array[0], array[true]);
end $$;
`;

/**
 * Provider jobs outlive the instance that started them: their attempts are marked before the client
 * hears of the job, and another instance takes them over when their own is dead.
 */
const resumableAttempts = `
create function attach_job(p_attempt bigint, p_job text) returns boolean
language plpgsql ${byIndex} as $$
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
`;

/** Caps are written down in the order of the books: under the wallet's lock. */
const capChanges = `
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
  insert into transfer (position, kind, debit_account, credit_account, amount, ref)
  values (nextval('ledger_position'), 'grant', 'grants', v_wallet, p_amount, p_ref)
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
  settlementGate,
  reserveBatch,
  correctBatch,
  closeBatch,
  rollBatch,
  recoverAttempts,
  annulAttempt,
  resumableAttempts,
  capChanges,
  grantCredit,
].join("\n");
