/**
 * What operators and customers say about an organization: dedicated endpoints, routing policy,
 * own provider keys, and what unusual use has led to. Limits have had their table from the start.
 */
export const accountRulesSql: string = `
alter table org add column bought_at timestamptz;
alter table org add column keys_may_set_org_limits boolean not null default false;
-- Credit that was granted before there was trial credit counts as bought.
update org set bought_at = funded_at;

create table dedicated_endpoint (
  endpoint_id text primary key,
  org_id text not null references org,
  provider_id text not null,
  rps integer check (rps > 0),
  paced_per_second double precision check (paced_per_second > 0),
  queue_ms_max integer check (queue_ms_max >= 0),
  rpm integer check (rpm > 0),
  tpm integer check (tpm > 0),
  concurrency integer check (concurrency > 0),
  created_at timestamptz not null default now(),
  removed_at timestamptz,
  check ((paced_per_second is null) = (queue_ms_max is null))
);
create unique index one_endpoint_per_manifest on dedicated_endpoint (provider_id)
  where removed_at is null;
create index dedicated_endpoint_by_org on dedicated_endpoint (org_id) where removed_at is null;

create table routing_policy (
  org_id text primary key references org,
  timeout_ms integer check (timeout_ms > 0),
  only_providers text[],
  ignore_providers text[],
  prompt_logging text check (prompt_logging = 'none'),
  updated_at timestamptz not null default now()
);

create table connection (
  connection_id text primary key,
  org_id text not null references org,
  key_id text references api_key,
  provider_id text not null,
  name text not null,
  label text not null,
  sealed_key bytea not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);
create unique index one_connection_per_provider
  on connection (org_id, provider_id, key_id) nulls not distinct where disabled_at is null;

create table usage_hold (
  hold_id bigint generated always as identity primary key,
  org_id text not null references org,
  family text not null check (family in ('chat', 'images', 'videos', 'decisions')),
  state text not null check (state in ('limited', 'restricted')),
  reason text not null,
  created_at timestamptz not null default now(),
  until_at timestamptz,
  lifted_at timestamptz,
  check ((state = 'limited') = (until_at is not null))
);
create index usage_hold_by_org on usage_hold (org_id, family) where lifted_at is null;

drop function grant_credit(text, bigint, text);
create function grant_credit(p_org text, p_amount bigint, p_ref text, p_is_trial boolean,
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
    update org set funded_at = coalesce(funded_at, now()),
      bought_at = case when p_is_trial then bought_at else coalesce(bought_at, now()) end
    where org_id = p_org;
  elsif not exists (select from transfer where ref = p_ref and kind = 'grant'
      and credit_account = v_wallet and amount = p_amount) then
    raise exception 'reference % belongs to another grant', p_ref using errcode = 'TM409';
  end if;
  select credits - debits into balance from account where account_id = v_wallet;
end $$;
`;
