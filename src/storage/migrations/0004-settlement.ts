/** The sums of a period and of each of its lines: of the closings and corrections in it. */
const sumColumns = `
  attempts bigint not null,
  settled bigint not null,
  voids bigint not null,
  unknowns bigint not null,
  unknown_charge bigint not null,
  corrections bigint not null,
  resolved_charge bigint not null,
  prompt bigint not null,
  cached_prompt bigint not null,
  cache_write bigint not null,
  completion bigint not null,
  internal_reasoning bigint not null,
  cost_pico numeric(38, 0) not null,
  corrected_pico numeric(38, 0) not null,
  debit bigint not null,
  overrun bigint not null,
  check (attempts = settled + voids + unknowns),
  check (cost_pico >= corrected_pico and corrected_pico >= 0 and debit >= 0 and overrun >= 0)`;

/** What providers are owed, in periods that never change. */
export const settlementSql: string = `
-- The periods of a provider are one chain: each names the end of the one before, which no other
-- names, and begins there or later. So they cannot overlap, whoever writes them.
create table provider_period (
  provider_id text not null,
  start_at timestamptz not null,
  end_at timestamptz not null,
  after_end_at timestamptz,
  mode text not null check (mode in ('prepaid', 'arrears')),
  every text not null check (every in ('half_daily', 'daily', 'weekly', 'monthly')),
  ${sumColumns},
  late_attempts bigint not null check (late_attempts between 0 and attempts),
  late_pico numeric(38, 0) not null,
  late_corrections bigint not null check (late_corrections between 0 and corrections),
  late_corrected_pico numeric(38, 0) not null,
  carry_in_pico numeric(38, 0) not null check (carry_in_pico between 0 and 999999),
  carry_out_pico numeric(38, 0) not null check (carry_out_pico between 0 and 999999),
  rounding bigint not null check (rounding >= 0),
  payable bigint not null,
  closed_at timestamptz not null default now(),
  primary key (provider_id, start_at),
  unique (provider_id, end_at),
  unique nulls not distinct (provider_id, after_end_at),
  foreign key (provider_id, after_end_at) references provider_period (provider_id, end_at),
  check (start_at < end_at and after_end_at <= start_at),
  constraint period_owes_the_exact_sum
    check (carry_in_pico + cost_pico = payable::numeric * 1000000 + carry_out_pico),
  constraint period_is_covered check (debit + overrun + rounding = payable)
);

-- One model on one day of admission: the days are what retired days are compared with.
create table provider_period_line (
  provider_id text not null,
  start_at timestamptz not null,
  admitted_on date not null,
  model_id text not null,
  upstream_model_id text not null,
  ${sumColumns},
  primary key (provider_id, start_at, admitted_on, model_id, upstream_model_id),
  foreign key (provider_id, start_at) references provider_period
);

-- Nothing that ended before this instant is left outside the provider's periods, so that closing
-- need not look there again.
create table provider_progress (
  provider_id text primary key,
  through timestamptz not null
);

create table provider_payment (
  provider_id text not null,
  start_at timestamptz not null,
  ref text not null unique,
  paid_at timestamptz not null default now(),
  primary key (provider_id, start_at),
  foreign key (provider_id, start_at) references provider_period
);

-- What a provider's own statement said, beside ours; once per file.
create table provider_statement (
  statement_id bigint generated always as identity primary key,
  provider_id text not null,
  start_at timestamptz not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  their_pico numeric(38, 0) not null,
  our_pico numeric(38, 0) not null,
  difference_pico numeric(38, 0) not null generated always as (their_pico - our_pico) stored,
  compared integer,
  differing integer,
  only_theirs integer,
  only_ours integer,
  unknown_claimed integer,
  recorded_at timestamptz not null default now(),
  unique (provider_id, start_at, sha256),
  foreign key (provider_id, start_at) references provider_period,
  check (num_nulls(compared, differing, only_theirs, only_ours, unknown_claimed) in (0, 5))
);

${["provider_period", "provider_period_line", "provider_payment", "provider_statement"]
  .map(
    (table) => `
create trigger ${table}_is_insert_only before update or delete on ${table}
  for each row execute function refuse_change();
create trigger ${table}_is_not_truncated before truncate on ${table}
  for each statement execute function refuse_change();`,
  )
  .join("")}

-- Settlement reads by the time of the end, the journal is ordered by admission. These find the
-- blocks to read and cost a batch next to nothing; the expression keeps them out of its plans.
create index attempt_by_closing on attempt using brin ((closed_at at time zone 'utc'))
  with (autosummarize = on);
create index attempt_by_correction on attempt (corrected_at) where corrected_at is not null;

-- Moves money between accounts of the house: all of these transfers, or none.
create function move_between_house(p_moves jsonb) returns void language sql as $$
  with moved as (
    insert into transfer (position, kind, debit_account, credit_account, amount, ref)
    select nextval('ledger_position'), m.kind, m.debit, m.credit, m.amount, m.ref
    from jsonb_to_recordset(p_moves)
      as m(kind text, debit text, credit text, amount bigint, ref text)
    returning debit_account, credit_account, amount
  )
  insert into account as h (account_id, debits, credits)
  select t.account_id, sum(t.debits), sum(t.credits) from (
    select credit_account as account_id, 0::bigint as debits, amount as credits from moved
    union all
    select debit_account, amount, 0 from moved
  ) t
  group by t.account_id order by t.account_id
  on conflict (account_id) do update
    set debits = h.debits + excluded.debits, credits = h.credits + excluded.credits
$$;
`;
