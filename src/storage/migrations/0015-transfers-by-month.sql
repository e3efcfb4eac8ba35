-- program_min: 11
-- Transfers by month. `transfer` becomes a table of partitions by position; the table of today is the
-- first of them, as it is, under another name. No row is moved or written again.
--
-- Positions of a month begin at a number that the month has: the sequence is moved there once, when
-- the month has come. So the tables of coming months can be made ahead, and a position still says
-- the order of the steps.

-- The long part first: it reads every transfer, and stops no batch. From the rename on they wait, and
-- that takes the time of a few changes of the system's own tables.
set local statement_timeout = 0;
alter table transfer validate constraint transfer_is_before_months;

create table transfer_ref (ref text primary key);
create sequence transfer_number;

alter table transfer rename to transfer_first;
select setval('transfer_number', greatest(max(transfer_id), 1), max(transfer_id) is not null)
from transfer_first;
alter table transfer_first alter transfer_id drop identity;
alter table transfer_first alter transfer_id set default nextval('transfer_number');
drop trigger transfer_is_insert_only on transfer_first;

create table transfer (like transfer_first including defaults including constraints)
  partition by range (position);
alter table transfer drop constraint transfer_is_before_months;
alter sequence transfer_number owned by transfer.transfer_id;
-- What is known of its rows is the rule of the partition: nothing is read.
alter table transfer attach partition transfer_first for values from (minvalue) to (12000000000000);

-- On every partition, those of later months too.
create trigger transfer_is_insert_only before update or delete on transfer
  for each row execute function refuse_change();
create trigger months_of_transfers_are_not_truncated before truncate on transfer
  for each statement execute function refuse_change();

-- A reference is used once in all months: what was moved before this step is found in its own table,
-- what came later in this one, whichever month it is in.
create function refuse_used_ref() returns trigger language plpgsql as $$
begin
  if exists (select from transfer_first where ref = new.ref) then
    raise exception 'reference % was used before', new.ref using errcode = '23505';
  end if;
  insert into transfer_ref (ref) values (new.ref);
  return new;
end $$;
create trigger transfer_ref_is_new before insert on transfer
  for each row when (new.ref is not null) execute function refuse_used_ref();
create trigger transfer_ref_is_insert_only before update or delete on transfer_ref
  for each row execute function refuse_change();
create trigger transfer_ref_is_kept before truncate on transfer_ref
  for each statement execute function refuse_change();

-- The same signature, the same answers: a reference that is used is found by its refusal, because a
-- table of partitions has no index over all of them to name in `on conflict`.
create or replace function grant_credit(p_org text, p_amount bigint, p_ref text,
  p_is_trial boolean, out created boolean, out balance bigint) language plpgsql as $$
declare
  v_wallet constant text := 'wallet:' || p_org;
begin
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
    update account set credits = credits + p_amount where account_id = v_wallet;
    insert into account as h (account_id, debits) values ('grants', p_amount)
    on conflict (account_id) do update set debits = h.debits + excluded.debits;
    update org set funded_at = coalesce(funded_at, now()),
      bought_at = case when p_is_trial then bought_at else coalesce(bought_at, now()) end
    where org_id = p_org;
  elsif not exists (select from transfer where ref = p_ref and kind = 'grant'
      and credit_account = v_wallet and amount = p_amount) then
    raise exception 'reference % belongs to another grant', p_ref using errcode = 'TM409';
  end if;
  select credits - debits - owed into balance from account where account_id = v_wallet;
end $$;

-- The first position of a month: a million million for each month since January 2025.
create function month_position(p_month date) returns bigint language sql immutable as $$
  select ((extract(year from p_month)::bigint - 2025) * 12 + extract(month from p_month)::bigint - 1)
    * 1000000000000
$$;

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
  execute format('create trigger transfer_is_not_truncated before truncate on %I
    for each statement execute function refuse_change()', v_name);
  execute format('alter table transfer attach partition %I for values from (%s) to (%s)', v_name,
    month_position(p_month), month_position((p_month + interval '1 month')::date));
end $$;

-- The tables of this month and the coming ones. The books move on to this month's positions when its
-- table is there for everyone: a batch that takes one finds it.
create function ensure_transfer_partitions(p_months_ahead integer) returns void
language plpgsql as $$
declare
  v_month constant date := date_trunc('month', clock_timestamp() at time zone 'utc');
begin
  perform pg_advisory_xact_lock(hashtext('tokenmarket partitions'));
  -- It is set here only, and behind the lock it only counts up.
  if to_regclass('transfer_' || to_char(v_month, 'YYYYMM')) is not null
      and (select last_value from ledger_position) < month_position(v_month) then
    perform setval('ledger_position', month_position(v_month), false);
  end if;
  for i in 0 .. p_months_ahead loop
    perform ensure_transfer_partition((v_month + i * interval '1 month')::date);
  end loop;
end $$;

-- Months that were exported and folded, and what they had summed up to. Transfers of no attempt stay.
create table folded_month (
  part text primary key,
  from_position bigint not null,
  to_position bigint not null,
  transfers bigint not null,
  amount numeric not null,
  file text not null,
  sha256 bytea not null,
  signature bytea not null,
  folded_at timestamptz not null default now()
);
-- One for each pair of accounts: the transfers of attempts between them.
create table folded_transfer (
  part text not null references folded_month,
  kind text not null,
  debit_account text not null,
  credit_account text not null,
  transfers bigint not null check (transfers > 0),
  amount bigint not null check (amount > 0),
  primary key (part, kind, debit_account, credit_account)
);
-- The same by the day of the attempt, to be compared with the retired days. Of a margin what left
-- accruals less what came in.
create table folded_day (
  part text not null references folded_month,
  day date not null,
  settled bigint not null,
  refunded bigint not null,
  overrun bigint not null,
  margin bigint not null,
  primary key (part, day)
);
create trigger folded_month_is_insert_only before update or delete on folded_month
  for each row execute function refuse_change();
create trigger folded_transfer_is_insert_only before update or delete on folded_transfer
  for each row execute function refuse_change();
create trigger folded_day_is_insert_only before update or delete on folded_day
  for each row execute function refuse_change();
create trigger folded_month_is_kept before truncate on folded_month
  for each statement execute function refuse_change();
create trigger folded_transfer_is_kept before truncate on folded_transfer
  for each statement execute function refuse_change();
create trigger folded_day_is_kept before truncate on folded_day
  for each statement execute function refuse_change();

select ensure_transfer_partitions(2);
