-- program_min: 11
-- Books that went back: how it is noticed, how they are reopened, and what of the lost time is owed.
--
-- Expand only: what a program of an earlier level reads and calls stays as it is. Every new column is
-- null or 0 for what it writes.

-- Each renewal of a lease leaves a mark that only its own instance writes. An earlier mark than the
-- one that was acknowledged says that commits were lost.
alter table instance_lease add column token uuid, add column beat bigint not null default 0;

-- Every time the books were reopened after a restore: the first life has no row.
create table ledger_life (
  life integer primary key check (life > 1),
  restored_to timestamptz not null,
  -- An attempt whose id is of this time, and that is in no journal, was lost.
  lost_from timestamptz not null,
  lost_until timestamptz not null,
  is_nothing_lost boolean not null,
  open_attempts text not null check (open_attempts in ('void', 'charge', 'kept')),
  reason text not null,
  reopened_at timestamptz not null default clock_timestamp(),
  check (lost_from <= lost_until)
);
create trigger ledger_life_is_insert_only before update or delete on ledger_life
  for each row execute function refuse_change();
create trigger ledger_life_is_not_truncated before truncate on ledger_life
  for each statement execute function refuse_change();

-- An instance noticed that the books went back. Until they are reopened no instance takes traffic.
create table books_alarm (
  alarm_id bigint generated always as identity primary key,
  noticed_at timestamptz not null default clock_timestamp(),
  instance_id text not null,
  finding text not null,
  -- The newest commit of before that is still there.
  restored_to timestamptz not null,
  ended_in_life integer references ledger_life
);
create unique index one_open_alarm on books_alarm ((true)) where ended_in_life is null;

-- What a provider claims for attempts that the books have lost: owed to it, and paid by no customer.
create table lost_cost (
  ref text primary key,
  life integer not null references ledger_life,
  provider_id text not null,
  model_id text not null,
  upstream_model_id text not null,
  -- An id of its time: the attempt's own where the claim names one.
  attempt_id bigint not null,
  ended_at timestamptz not null,
  -- Attempts or requests in it.
  claims bigint not null check (claims >= 0),
  cost_pico numeric(38, 0) not null check (cost_pico >= 0),
  amount bigint not null check (amount = div(cost_pico, 1000000)),
  recorded_at timestamptz not null default clock_timestamp()
);
create index lost_cost_by_end on lost_cost (provider_id, ended_at);
create trigger lost_cost_is_insert_only before update or delete on lost_cost
  for each row execute function refuse_change();
create trigger lost_cost_is_not_truncated before truncate on lost_cost
  for each statement execute function refuse_change();

-- In periods, `cost_pico` has what was lost, too. Of the rows that are there nothing was: the rule is
-- for those that come, and no row is read.
alter table provider_period add column lost_claims bigint not null default 0,
  add column lost_pico numeric(38, 0) not null default 0, add column lost bigint not null default 0,
  drop constraint period_is_covered,
  add constraint period_is_covered
    check (debit + overrun + lost - margin + rounding = payable and lost >= 0) not valid;
alter table provider_period_line add column lost_claims bigint not null default 0,
  add column lost_pico numeric(38, 0) not null default 0, add column lost bigint not null default 0;

-- Is this attempt, whose commit was acknowledged, still there? Open, finished, or of a day that was
-- taken out of the journal. One snapshot, so that an attempt that ends meanwhile is seen once. A day
-- without a table says nothing.
create function is_attempt_kept(p_attempt bigint) returns boolean language sql stable as $$
  select p_attempt is null
    or exists (select from hold where attempt_id = p_attempt)
    or exists (select from attempt where attempt_id = p_attempt)
    or exists (select from retired_day where day = attempt_day(p_attempt))
    or to_regclass('attempt_' || to_char(attempt_day(p_attempt), 'YYYYMMDD')) is null
$$;

-- The newest commit that the books show, of those not after p_known. When an instance knows that
-- p_known was lost, what is later belongs to the time after the restore.
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

-- Prolongs a lease, unless what this instance saw committed is not there any more.
-- - held: prolonged; the mark to bring next time.
-- - taken_over: another one has the instance.
-- - went_back: commits are lost. Unless p_goes_on, an alarm stops all instances.
-- - stopped: another one noticed that before.
-- p_known is the database's clock at the last renewal that was acknowledged, p_attempt the last
-- attempt whose commit was.
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
    -- Of a life that is over nothing is asked.
    when p_life < v_life then null
    when p_life > v_life then format('life %s of the books is gone', p_life)
    when not is_attempt_kept(p_attempt) then format('attempt %s is gone', p_attempt)
    -- An instance that was silent for a day may have been forgotten.
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
  -- The instance's own row is only read: a renewal never waits for a reserve that has its lock.
  update instance_lease l
  set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond', beat = l.beat + 1
  from instance i
  where i.instance_id = l.instance_id and l.instance_id = p_instance and i.epoch = p_epoch
    and l.token = p_token
  returning l.beat into renew_membership.beat;
  verdict := case when found then 'held' else 'taken_over' end;
end $$;

-- Closes again what was closed in the lost time and never opens; how many of each. What is not
-- there any more is left out.
create function close_access_again(p_changes jsonb, out keys_disabled bigint,
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

-- No sign-in, and no link to one, outlives the restore: a sign-out of the lost time counts.
create function end_all_console_access() returns bigint language plpgsql as $$
declare
  v_ended bigint;
begin
  delete from console_reveal;
  update console_session set ended_at = clock_timestamp(), ended_reason = 'signed-out',
    sealed_refresh = null
  where ended_at is null;
  get diagnostics v_ended = row_count;
  delete from console_sign_in;
  delete from local_claim;
  delete from local_browser;
  delete from local_issuer_record;
  return v_ended;
end $$;

-- Begins a new life of the books, in one transaction; refused (TM409) while an instance may take
-- traffic. p_open: `void` or `charge` what is open, or `kept` where nothing was lost.
create function reopen_books(p_reason text, p_open text, p_is_nothing_lost boolean,
  p_restored_to timestamptz, p_changes jsonb, out life integer, out restored_to timestamptz,
  out lost_from timestamptz, out lost_until timestamptz, out closed_attempts bigint,
  out open_jobs bigint, out ended_sessions bigint, out access jsonb) language plpgsql as $$
declare
  v_ids bigint[];
  v_living text;
begin
  -- No instance joins, and no lease is prolonged, before this has committed.
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
  -- The id of an attempt is made before its hold commits.
  lost_from := case when p_is_nothing_lost then lost_until
    else restored_to - interval '15 seconds' end;
  select coalesce(max(l.life), 1) + 1 into life from ledger_life l;
  insert into ledger_life (life, restored_to, lost_from, lost_until, is_nothing_lost,
    open_attempts, reason)
  values (life, restored_to, lost_from, lost_until, p_is_nothing_lost, p_open, p_reason);
  update books_alarm set ended_in_life = reopen_books.life where ended_in_life is null;

  -- More than every start of the lost time can have counted: no instance of then is one of now.
  update instance set epoch = epoch + 1000000;
  perform advance_settlement_horizon(lost_until);

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
  end if;
  select to_jsonb(c) into access from close_access_again(p_changes) c;
end $$;

-- Owed to a provider although the books have lost what for: each once by its reference.
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
