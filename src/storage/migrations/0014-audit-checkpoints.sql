-- program_min: 11
-- Where the next audit may begin: the balances at a position of the books, proven and signed.

create table audit_checkpoint (
  day date primary key,
  -- The steps up to this one are summed up here.
  position bigint not null,
  -- What ended after that position has this id or a later one, unless it was corrected.
  from_attempt bigint not null,
  -- The text that was signed; it has the digest of the rows below and of the checkpoint before.
  document text not null,
  signature bytea not null,
  made_at timestamptz not null default now()
);

-- Every account that ever moved, as it was at the position: sums of transfers, without holds.
create table audit_checkpoint_account (
  day date not null,
  account_id text not null,
  debits bigint not null,
  credits bigint not null,
  primary key (day, account_id)
);

-- What was spent between the checkpoint before and this one, in months of admission.
create table audit_checkpoint_spend (
  day date not null,
  scope text not null check (scope in ('org', 'key')),
  id text not null,
  month date not null,
  settled bigint not null,
  primary key (day, scope, id, month)
);
create index audit_checkpoint_spend_by_month on audit_checkpoint_spend (month);

create trigger audit_checkpoint_is_insert_only before update or delete on audit_checkpoint
  for each row execute function refuse_change();
create trigger audit_checkpoint_is_kept before truncate on audit_checkpoint
  for each statement execute function refuse_change();
create trigger audit_checkpoint_account_is_insert_only
  before update or delete on audit_checkpoint_account
  for each row execute function refuse_change();
create trigger audit_checkpoint_account_is_kept before truncate on audit_checkpoint_account
  for each statement execute function refuse_change();
create trigger audit_checkpoint_spend_is_insert_only
  before update or delete on audit_checkpoint_spend
  for each row execute function refuse_change();
create trigger audit_checkpoint_spend_is_kept before truncate on audit_checkpoint_spend
  for each statement execute function refuse_change();

-- Everything the books have moved so far stands before the first position of January 2026 as months
-- are numbered from the next step on, which this rule lets it prove without a long lock.
alter table transfer add constraint transfer_is_before_months
  check (position < 12000000000000) not valid;
