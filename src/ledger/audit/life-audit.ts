import type { AuditQuery } from "./audit-query.ts";

/** The audit's check of books that were restored and reopened. */
export const lifeAuditQuery: AuditQuery = {
  id: "I19",
  title:
    "what was lost in a restore cost no customer anything, and is owed to its provider exactly once",
  sql: `
    select concat('transfer ', ref) as what,
      case when t.amount is null then 'none'
        else format('%s from %s to %s', t.amount, t.debit_account, t.credit_account) end as found,
      case when c.amount is null then 'none'
        else format('%s from lost to accrual:%s', c.amount, c.provider_id) end as expected
    from (select * from lost_cost where amount > 0) c full join (
      select ref, debit_account, credit_account, amount from transfer
      where kind = 'lost' or 'lost' in (debit_account, credit_account)
    ) t using (ref)
    where (t.debit_account, t.credit_account, t.amount)
      is distinct from ('lost', 'accrual:' || c.provider_id, c.amount)
    union all
    select concat('attempt ', attempt_id), format('%s, debit %s', state, debit),
      'void in a later life of the books'
    from attempt
    where outcome = 'lost_in_restore'
      and (state <> 'void' or not exists (select from ledger_life where open_attempts = 'void'))
    union all
    select concat('lost cost ', c.ref), concat('of attempt ', c.attempt_id, ', ', a.state),
      'of no attempt in the journal that cost something'
    from lost_cost c join journal a
      on a.attempt_id = c.attempt_id and c.ref like 'lost:%:attempt:%'
    where a.outcome is distinct from 'lost_in_restore'
    union all
    select concat('life ', life), concat('after ', lag), concat('after ', life - 1)
    from (select life, coalesce(lag(life) over (order by life), 1) as lag from ledger_life) l
    where lag <> life - 1`,
};
