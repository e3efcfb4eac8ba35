-- program_min: 11
-- Teams: who belongs to an organization and as what, who is invited, and which organization a session
-- is in. `console_account.org_id` stays: it is the account's own organization, of which it is always a
-- member. A program of before reads that column alone: it knows nobody's role, and shows each account
-- its own organization.

create table org_member (
  org_id text not null references org,
  account_id text not null references console_account on delete cascade,
  role text not null check (role in ('owner', 'developer', 'billing', 'viewer')),
  joined_at timestamptz not null default now(),
  primary key (org_id, account_id)
);
create index org_member_by_account on org_member (account_id);

create table org_invitation (
  invitation_id text primary key,
  org_id text not null references org,
  email text not null,
  email_norm text not null,
  role text not null check (role in ('owner', 'developer', 'billing', 'viewer')),
  -- SHA-256 of the token in the link; a link that is made anew replaces it.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- E-mails of it that were sent, and when the last one was.
  mails integer not null default 0,
  mailed_at timestamptz,
  ended_at timestamptz,
  ended_reason text check (ended_reason in ('accepted', 'revoked')),
  check ((ended_at is null) = (ended_reason is null))
);
create unique index one_open_invitation on org_invitation (org_id, email_norm)
  where ended_at is null;
create index org_invitation_by_address on org_invitation (email_norm);
create index org_invitation_by_end on org_invitation (expires_at);

-- Null: the account's own organization.
alter table console_session add column org_id text;
-- Set: invited before the first sign-in, so that its own organization has no trial key yet.
alter table console_account add column trial_deferred_at timestamptz;

-- An account is a member of its own organization, whichever program makes it or moves it.
create function join_own_org() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    delete from org_member where org_id = old.org_id and account_id = new.account_id;
  end if;
  insert into org_member (org_id, account_id, role, joined_at)
  values (new.org_id, new.account_id, 'owner',
    case when tg_op = 'INSERT' then new.created_at else now() end)
  on conflict do nothing;
  return null;
end $$;
create trigger account_made after insert on console_account
  for each row execute function join_own_org();
create trigger account_moved after update of org_id on console_account
  for each row when (old.org_id is distinct from new.org_id) execute function join_own_org();

insert into org_member (org_id, account_id, role, joined_at)
select org_id, account_id, 'owner', created_at from console_account;
