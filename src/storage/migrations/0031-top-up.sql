-- program_min: 11
-- Automatic top-up: the customer of an organization at the payment provider with its saved card, the
-- rule, and the purchases that were made by it.

-- Test money and real money have customers of their own: they are of different accounts.
create table payment_customer (
  org_id text not null references org,
  is_test_money boolean not null,
  customer_id text not null,
  card_id text,
  card_brand text,
  card_last4 text,
  card_exp_month smallint,
  card_exp_year smallint,
  card_saved_at timestamptz,
  -- When the checkout was opened that the newest card came from: what is reported again of it, or of
  -- an older one, does not bring a card back that was removed.
  card_from timestamptz,
  -- A checkout for a card whose end was not reported yet.
  setup_session_id text,
  primary key (org_id, is_test_money),
  check (num_nulls(card_id, card_brand, card_last4, card_exp_month, card_exp_year, card_saved_at) in (0, 6))
);

-- Cards that are charged no more and are still to be detached at the payment provider.
create table card_detachment (
  card_id text primary key,
  org_id text not null references org,
  is_test_money boolean not null,
  since timestamptz not null default now(),
  tried_at timestamptz
);

create table top_up_rule (
  org_id text primary key references org,
  is_on boolean not null,
  below bigint not null check (below > 0),
  amount bigint not null check (amount > 0 and amount % 10000 = 0),
  month_max bigint not null check (month_max >= amount),
  -- Set: it was turned off by a failed charge or by an operator, until a person turns it on.
  paused_at timestamptz,
  paused_reason text,
  check ((paused_at is null) = (paused_reason is null)),
  check (not is_on or paused_at is null)
);
create index top_up_rule_on on top_up_rule (org_id) where is_on;
create index top_up_rule_paused on top_up_rule (paused_at) where paused_at is not null;

-- The purchases that a rule made. Customer and card are kept so that a charge that is sent again is
-- the same charge.
create table top_up (
  purchase_id text primary key references purchase,
  org_id text not null references org,
  micro_usd bigint not null check (micro_usd > 0),
  customer_id text not null,
  card_id text not null,
  created_at timestamptz not null,
  checked_at timestamptz,
  failure text
);
create index top_up_by_org on top_up (org_id, created_at);
create index top_up_by_time on top_up (created_at);
