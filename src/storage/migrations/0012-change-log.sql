-- program_min: 11
-- The change log: one row for each change, inserted in the transaction of the change.

create sequence change_position;

create table change (
  position bigint primary key,
  at timestamptz not null,
  actor_kind text not null
    check (actor_kind in ('operator', 'account', 'key', 'provider_news', 'gateway')),
  actor_id text not null check (length(actor_id) <= 200),
  -- No reference: a change outlives an organization that was dropped.
  org_id text,
  action text not null check (action ~ '^[a-z-]+\.[a-z-]+$'),
  target text not null check (length(target) <= 300),
  before jsonb,
  after jsonb,
  request_id text check (length(request_id) <= 100),
  client_network text check (length(client_network) <= 64)
);
create index change_by_org on change (org_id, position);
create index change_by_time on change (at);
-- What a catalog that is taken into use is compared with.
create index change_of_prices on change (target, position) where action = 'price.change';

-- Written as the last step of a transaction: of two at once the second waits for the first's commit,
-- so positions and instants grow in the order of the commits, and who reads from a position on
-- misses nothing. A process that stops between here and its commit holds the others up for seconds.
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

-- Rows leave by retire_changes only, which says up to which position.
create function keep_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and tg_level = 'ROW' then
    -- Null outside of it, which is not true.
    if old.position <= nullif(current_setting('tokenmarket.retired_changes', true), '')::bigint
    then return old; end if;
  end if;
  raise exception 'change rows are never changed or deleted';
end $$;
create trigger change_is_insert_only before update or delete on change
  for each row execute function keep_change();
create trigger change_is_not_truncated before truncate on change
  for each statement execute function keep_change();

-- Takes away changes older than so many days, a bounded part of them; how many went.
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
