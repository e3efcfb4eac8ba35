import { reserveBatchWithOwed } from "./0008-reserve-batch.ts";

/** Purchases, and what payers and their banks took back. */
const tables = `
create table purchase (
  purchase_id text primary key,
  org_id text not null references org,
  micro_usd bigint not null check (micro_usd > 0),
  cents bigint not null,
  state text not null default 'created'
    check (state in ('created', 'pending', 'failed', 'expired', 'parked', 'granted')),
  is_test_money boolean not null,
  session_id text unique,
  payment_id text unique,
  receipt_url text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  looked_at timestamptz,
  granted_at timestamptz,
  check ((state = 'granted') = (granted_at is not null)),
  constraint purchase_is_of_whole_cents check (micro_usd = cents * 10000)
);
create index purchase_by_org on purchase (org_id, created_at);
create index purchase_undecided on purchase (looked_at nulls first, created_at)
  where state in ('created', 'pending');
create index purchase_without_receipt on purchase (looked_at nulls first, granted_at)
  where state = 'granted' and receipt_url is null;
create index purchase_with_test_money on purchase (org_id)
  where state = 'granted' and is_test_money;

-- A refund or a dispute. It may come before the grant of its purchase: then it waits. taken and
-- given_back are what its coming and its end moved, null while they moved nothing yet.
create table purchase_claim (
  claim_id text primary key,
  purchase_id text not null references purchase,
  kind text not null check (kind in ('refund', 'dispute')),
  micro_usd bigint not null check (micro_usd > 0),
  is_reversed boolean not null,
  is_over boolean not null,
  taken bigint check (taken >= 0),
  given_back bigint check (given_back >= 0),
  looked_at timestamptz,
  created_at timestamptz not null default now(),
  check (is_over or not is_reversed),
  check (given_back is null or (is_reversed and taken is not null))
);
create index purchase_claim_by_purchase on purchase_claim (purchase_id);
create index purchase_claim_open on purchase_claim (looked_at nulls first, claim_id)
  where not is_over;

-- Events that were done: they save work, nothing rests on them.
create table payment_event (
  event_id text primary key,
  kind text not null,
  done_at timestamptz not null default now()
);
create index payment_event_by_time on payment_event (done_at);

-- What one process at a time does now and then: whose turn it is next, and when.
create table billing_turn (
  name text primary key,
  next_at timestamptz not null
);

create index transfer_charged_without_attempt on transfer (debit_account, transfer_id)
  where attempt_id is null;
`;

/**
 * What is taken back is owed by the organization (`receivable:<org>`), and a wallet that owes gives
 * whatever is free in it, at once and whoever freed it: a new credit, or a hold that was let go. So
 * a wallet that still owes has nothing free, which the row itself checks.
 */
const receivables = `
alter table account add column owed bigint not null default 0;
alter table account add constraint account_owes_only_when_it_has_nothing_free
  check (owed >= 0 and (owed = 0 or debits + reserved = credits));

create function pay_what_is_owed() returns trigger language plpgsql as $$
declare
  v_position constant bigint := nextval('ledger_position');
  v_receivable constant text := 'receivable:' || new.org_id;
  v_amount constant bigint := least(new.owed, new.credits - new.debits - new.reserved);
begin
  insert into transfer (position, kind, debit_account, credit_account, amount, ref)
  values (v_position, 'collect', new.account_id, v_receivable, v_amount, 'collect:' || v_position);
  insert into account as h (account_id, credits) values (v_receivable, v_amount)
  on conflict (account_id) do update set credits = h.credits + excluded.credits;
  new.debits := new.debits + v_amount;
  new.owed := new.owed - v_amount;
  return new;
end $$;
create trigger wallet_pays_what_it_owes before update on account
  for each row when (new.owed > 0 and new.credits - new.debits - new.reserved > 0)
  execute function pay_what_is_owed();
`;

/** Lock order as everywhere: the wallet, then the accounts of the house. */
const purchaseFunctions = `
create function lock_purchase(p_purchase text) returns purchase language plpgsql as $$
declare
  v_purchase purchase;
begin
  select * into v_purchase from purchase where purchase_id = p_purchase;
  if not found then
    raise exception 'no purchase %', p_purchase using errcode = 'TM404';
  end if;
  perform lock_wallets(array[v_purchase.org_id]);
  -- Again: what is read behind the lock does not change before the commit.
  select * into v_purchase from purchase where purchase_id = p_purchase for update;
  return v_purchase;
end $$;

create function cash_of(p_purchase purchase) returns text language sql immutable as $$
  select case when p_purchase.is_test_money then 'cash:test' else 'cash:stripe' end
$$;

-- Money that comes: into the wallet, which first pays what it owes.
create function credit_purchase(p_purchase purchase, p_kind text, p_amount bigint, p_ref text)
returns void language plpgsql as $$
declare
  v_wallet constant text := 'wallet:' || p_purchase.org_id;
begin
  insert into transfer (position, kind, debit_account, credit_account, amount, ref)
  values (nextval('ledger_position'), p_kind, cash_of(p_purchase), v_wallet, p_amount, p_ref);
  update account set credits = credits + p_amount where account_id = v_wallet;
  insert into account as h (account_id, debits) values (cash_of(p_purchase), p_amount)
  on conflict (account_id) do update set debits = h.debits + excluded.debits;
end $$;

-- Money that goes: the organization owes it, and its wallet pays what it can.
create function charge_purchase(p_purchase purchase, p_kind text, p_amount bigint, p_ref text)
returns void language plpgsql as $$
declare
  v_receivable constant text := 'receivable:' || p_purchase.org_id;
begin
  insert into transfer (position, kind, debit_account, credit_account, amount, ref)
  values (nextval('ledger_position'), p_kind, v_receivable, cash_of(p_purchase), p_amount, p_ref);
  insert into account as h (account_id, debits) values (v_receivable, p_amount)
  on conflict (account_id) do update set debits = h.debits + excluded.debits;
  update account set owed = owed + p_amount where account_id = 'wallet:' || p_purchase.org_id;
  insert into account as h (account_id, credits) values (cash_of(p_purchase), p_amount)
  on conflict (account_id) do update set credits = h.credits + excluded.credits;
end $$;

-- All claims of a purchase together take what they claim, but never more than it gave. Each coming
-- and each end of a claim moves the difference, so that their order does not matter.
create function apply_claims(p_purchase purchase) returns void language plpgsql as $$
declare
  v_claim purchase_claim;
  v_taken bigint;
  v_due bigint;
begin
  for v_claim in
    select * from purchase_claim where purchase_id = p_purchase.purchase_id
      and (case when is_reversed then taken is not null and given_back is null
        else taken is null end)
    order by created_at, claim_id
  loop
    select coalesce(sum(c.taken), 0) - coalesce(sum(c.given_back), 0),
      least(p_purchase.micro_usd, coalesce(sum(c.micro_usd) filter (where not c.is_reversed
        and (c.taken is not null or c.claim_id = v_claim.claim_id)), 0))
    into v_taken, v_due
    from purchase_claim c where c.purchase_id = p_purchase.purchase_id;
    if v_claim.is_reversed then
      update purchase_claim set given_back = v_taken - v_due where claim_id = v_claim.claim_id;
    else
      update purchase_claim set taken = v_due - v_taken where claim_id = v_claim.claim_id;
    end if;
    if v_due > v_taken then
      perform charge_purchase(p_purchase,
        case v_claim.kind when 'refund' then 'purchase_refund' else 'dispute' end,
        v_due - v_taken, v_claim.kind || ':' || v_claim.claim_id);
    elsif v_due < v_taken then
      perform credit_purchase(p_purchase,
        case v_claim.kind when 'refund' then 'refund_reversal' else 'dispute_won' end,
        v_taken - v_due, case v_claim.kind when 'refund' then 'refund-reversal:'
          else 'dispute-won:' end || v_claim.claim_id);
    end if;
  end loop;
end $$;

-- Credits a purchase once; true: this call did it.
create function grant_purchase(p_purchase text, p_payment text, p_receipt text)
returns boolean language plpgsql as $$
declare
  v_purchase purchase;
begin
  v_purchase := lock_purchase(p_purchase);
  if v_purchase.granted_at is not null then
    update purchase set receipt_url = coalesce(receipt_url, p_receipt)
    where purchase_id = p_purchase and receipt_url is null and p_receipt is not null;
    return false;
  end if;
  perform credit_purchase(v_purchase, 'purchase', v_purchase.micro_usd, 'purchase:' || p_purchase);
  update org set funded_at = coalesce(funded_at, now()), bought_at = coalesce(bought_at, now())
  where org_id = v_purchase.org_id;
  update purchase set state = 'granted', granted_at = now(), looked_at = null,
    payment_id = coalesce(p_payment, payment_id), receipt_url = coalesce(p_receipt, receipt_url)
  where purchase_id = p_purchase;
  perform apply_claims(v_purchase);
  return true;
end $$;

-- A refund or dispute, or news of it; its end, once told, stays. True: nobody had told of it.
create function claim_purchase(p_purchase text, p_claim text, p_kind text, p_amount bigint,
  p_is_reversed boolean, p_is_over boolean) returns boolean language plpgsql as $$
declare
  v_purchase purchase;
  v_is_news boolean;
begin
  v_purchase := lock_purchase(p_purchase);
  v_is_news := not exists (select from purchase_claim where claim_id = p_claim);
  insert into purchase_claim as c (claim_id, purchase_id, kind, micro_usd, is_reversed, is_over)
  values (p_claim, p_purchase, p_kind, p_amount, p_is_reversed, p_is_reversed or p_is_over)
  on conflict (claim_id) do update set is_reversed = c.is_reversed or excluded.is_reversed,
    is_over = c.is_over or excluded.is_over
  where c.purchase_id = excluded.purchase_id and c.kind = excluded.kind;
  if v_purchase.granted_at is not null then perform apply_claims(v_purchase); end if;
  return v_is_news;
end $$;
`;

const grantCredit = `
create or replace function grant_credit(p_org text, p_amount bigint, p_ref text,
  p_is_trial boolean, out created boolean, out balance bigint) language plpgsql as $$
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
    update org set funded_at = coalesce(funded_at, now()),
      bought_at = case when p_is_trial then bought_at else coalesce(bought_at, now()) end
    where org_id = p_org;
  elsif not exists (select from transfer where ref = p_ref and kind = 'grant'
      and credit_account = v_wallet and amount = p_amount) then
    raise exception 'reference % belongs to another grant', p_ref using errcode = 'TM409';
  end if;
  select credits - debits - owed into balance from account where account_id = v_wallet;
end $$;
`;

/** Credit for money, and what happens when the money goes back. */
export const billingSql: string = [
  tables,
  receivables,
  purchaseFunctions,
  reserveBatchWithOwed,
  grantCredit,
].join("\n");
