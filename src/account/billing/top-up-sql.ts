import { takeRowsSql } from "../../kernel/index.ts";

/**
 * The least time between two automatic purchases of an organization. One that is dated further
 * ahead than this was made by a host whose clock was ahead, and does not hold up the next one.
 */
const GAP = "interval '5 minutes'";

/**
 * Sums the purchases that count towards the month's limit: started, pending and parked ones, and
 * granted ones even if refunded.
 */
function monthSum(org: string, isTestMoney: string, month: string): string {
  return `coalesce((
    select sum(t.micro_usd) from top_up t join purchase p using (purchase_id)
    where t.org_id = ${org} and p.is_test_money = ${isTestMoney} and t.created_at >= ${month}
      and p.state in ('created', 'pending', 'parked', 'granted')
  ), 0)::bigint`;
}

function hasOpen(org: string, isTestMoney: string): string {
  return `exists (
    select from top_up t join purchase p using (purchase_id)
    where t.org_id = ${org} and p.is_test_money = ${isTestMoney}
      and p.state in ('created', 'pending')
  )`;
}

export const STATE = `
  select r.is_on, r.below, r.amount, r.month_max, r.paused_at, r.paused_reason, c.customer_id,
    c.card_id, c.card_brand, c.card_last4, c.card_exp_month, c.card_exp_year, c.setup_session_id,
    ${monthSum("o.org_id", "$2", "$3")} as month_sum, ${hasOpen("o.org_id", "$2")} as has_open
  from org o
  left join top_up_rule r using (org_id)
  left join payment_customer c on c.org_id = o.org_id and c.is_test_money = $2
  where o.org_id = $1`;

export const PAUSE_OF = `
  select paused_reason, paused_at from top_up_rule where org_id = $1 and paused_at is not null`;

export const PAUSED = `
  select paused_reason, count(*)::integer as count, min(paused_at) as oldest
  from top_up_rule where paused_at is not null group by 1 order by oldest, 1`;

export const LOCK_RULE = `
  select is_on, below, amount, month_max from top_up_rule where org_id = $1 for update`;

export const LOCK_RULE_OF_PURCHASE = `
  select from top_up_rule r join purchase p using (org_id) where p.purchase_id = $1
  for update of r`;

export const SET_RULE = `
  insert into top_up_rule as r (org_id, is_on, below, amount, month_max)
  values ($1, $2, $3, $4, $5)
  on conflict (org_id) do update set is_on = $2, below = $3, amount = $4, month_max = $5,
    paused_at = case when not $2 then r.paused_at end,
    paused_reason = case when not $2 then r.paused_reason end`;

export const TURN_OFF = "update top_up_rule set is_on = false where org_id = $1";

export const PAUSE = `
  update top_up_rule set is_on = false, paused_at = now(), paused_reason = $2
  where org_id = $1 and is_on`;

const NO_CARD = `
  card_id = null, card_brand = null, card_last4 = null, card_exp_month = null,
  card_exp_year = null, card_saved_at = null`;

export const KEEP_CUSTOMER = `
  insert into payment_customer as c (org_id, is_test_money, customer_id) values ($1, $2, $3)
  on conflict (org_id, is_test_money) do update
  set customer_id = $3, ${NO_CARD}, card_from = null, setup_session_id = null
  where c.customer_id <> $3`;

export const BEGIN_SETUP = `
  update payment_customer set setup_session_id = $3 where org_id = $1 and is_test_money = $2`;

export const END_SETUP = `
  update payment_customer set setup_session_id = null
  where org_id = $1 and is_test_money = $2 and setup_session_id = $3`;

export const LOCK_CUSTOMER = `
  select org_id, customer_id, card_id, card_last4, card_from from payment_customer
  where org_id = $1 and is_test_money = $2 for update`;

export const SAVE_CARD = `
  update payment_customer set card_id = $3, card_brand = $4, card_last4 = $5, card_exp_month = $6,
    card_exp_year = $7, card_from = $8, card_saved_at = $9
  where org_id = $1 and is_test_money = $2`;

export const REMOVE_CARD = `
  update payment_customer set ${NO_CARD} where org_id = $1 and is_test_money = $2`;

export const RECOVERY_DUE = "select next_at from billing_schedule where name = 'recovery'";

export const DETACH_LATER = `
  insert into card_detachment (card_id, org_id, is_test_money) values ($1, $2, $3)
  on conflict do nothing`;

export const TAKE_DETACHMENTS = takeRowsSql("card_detachment", "card_id", {
  due: `where is_test_money = $1 and (tried_at is null or tried_at < now() - interval '1 minute')
    order by tried_at nulls first limit $2`,
  set: "tried_at = now()",
});

/**
 * Finds organizations whose automatic purchase is due. $4: one organization, or null for all. None
 * is due while the books went back, and then until their lost payments are recovered.
 */
export const DUE = `
  select r.org_id, c.customer_id, c.card_id
  from top_up_rule r
  join payment_customer c on c.org_id = r.org_id and c.is_test_money = $1
    and c.card_id is not null
  left join account a on a.account_id = 'wallet:' || r.org_id
  where r.is_on and ($4::text is null or r.org_id = $4)
    and coalesce(a.credits - a.debits - a.owed, 0) < r.below
    and not ${hasOpen("r.org_id", "$1")}
    and not exists (
      select from top_up t where t.org_id = r.org_id
        and t.created_at > $2::timestamptz - ${GAP}
        and t.created_at <= $2::timestamptz + ${GAP}
    )
    and ${monthSum("r.org_id", "$1", "$3")} + r.amount <= r.month_max
    and not exists (select from books_alarm where ended_in_life is null)
    and not exists (${RECOVERY_DUE})
  order by r.org_id limit $5`;

export const END_RECOVERY =
  "delete from billing_schedule where name = 'recovery' and next_at >= $1";

export const INSERT_PURCHASE = `
  insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money, created_at,
    expires_at)
  values ($1, $2, $3::bigint, $3::bigint / 10000, $4, $5, $6)`;

export const INSERT_TOP_UP = `
  insert into top_up (purchase_id, org_id, micro_usd, customer_id, card_id, created_at, checked_at)
  values ($1, $2, $3, $4, $5, $6, now())`;

export const SELECT_CHARGE = `
  select t.purchase_id, t.org_id, p.cents, p.is_test_money, t.customer_id, t.card_id, t.created_at,
    p.state not in ('created', 'pending') as is_decided,
    exists (
      select from top_up_rule r join payment_customer c using (org_id)
      where r.org_id = t.org_id and r.is_on and c.card_id = t.card_id
    ) as is_wanted
  from top_up t join purchase p using (purchase_id)`;

export const TAKE_OPEN = takeRowsSql("top_up", "purchase_id", {
  due: `join purchase p using (purchase_id) where p.state in ('created', 'pending') and p.is_test_money = $1
    and (t.checked_at is null or t.checked_at <= $2)
    order by t.checked_at nulls first limit $3`,
  set: "checked_at = now()",
});

export const RECOVER = `
  insert into top_up (purchase_id, org_id, micro_usd, customer_id, card_id, created_at)
  select purchase_id, org_id, micro_usd, $2, $3, created_at from purchase where purchase_id = $1
  on conflict do nothing`;

export const OWNER = "select org_id from top_up where purchase_id = $1";

/**
 * Ends a purchase whose charge failed: stores its state $2 and the reason $3. It never reverts a
 * grant, and a repeated failure changes nothing.
 */
export const FAIL = `
  with known as (
    select purchase_id, state as was from purchase
    where purchase_id = $1 and state in ('created', 'pending', 'expired', $2)
    for no key update
  ), ended as (
    update purchase p set state = $2 from known k where p.purchase_id = k.purchase_id
  )
  update top_up t set failure = $3 from known k
  where t.purchase_id = k.purchase_id and t.failure is null
  returning k.was`;

// The month's sum counts test money too.
export const LIST = `
  select r.org_id, o.name, r.is_on, r.below, r.amount, r.month_max, r.paused_at, r.paused_reason,
    ${monthSum("r.org_id", "p.is_test_money", "$1")} as month_sum
  from top_up_rule r join org o using (org_id)
  order by r.paused_at desc nulls last, r.is_on desc, r.org_id limit $2`;
