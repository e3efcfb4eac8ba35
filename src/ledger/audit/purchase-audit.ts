import { type AuditQuery, differingTransfersSql } from "./audit-query.ts";

/** Selects wallets whose debt differs from their receivable, or that have both debt and credit. */
const BROKEN_DEBTS = `
  select concat('account ', coalesce(account_id, 'wallet:' || org_id)) as what,
    format('owes %s, has %s free', coalesce(w.owed, 0), coalesce(w.free, 0)) as found,
    format('owes %s%s', coalesce(r.owed, 0),
      case when r.owed > 0 then ', has 0 free' else '' end) as expected
  from (
    select account_id, org_id, owed, credits - debits - reserved as free from account
    where org_id is not null
  ) w full join (
    select substr(account_id, length('receivable:') + 1) as org_id, debits - credits as owed
    from account where account_id like 'receivable:%'
  ) r using (org_id)
  where coalesce(w.owed, 0) <> coalesce(r.owed, 0) or (r.owed > 0 and w.free is distinct from 0)`;

const CASH_OF = "case when p.is_test_money then 'cash:test' else 'cash:stripe' end";

/** Selects the transfers of purchases and claims that are missing, superfluous or different. */
const BROKEN_MOVES = `
  with expected as (
    select 'purchase:' || p.purchase_id as ref, ${CASH_OF} as debit_account,
      'wallet:' || p.org_id as credit_account, p.micro_usd as amount
    from purchase p where p.granted_at is not null
    union all
    select c.kind || ':' || c.claim_id, 'receivable:' || p.org_id, ${CASH_OF}, c.taken
    from purchase_claim c join purchase p using (purchase_id) where c.taken > 0
    union all
    select case c.kind when 'refund' then 'refund-reversal:' else 'dispute-won:' end || c.claim_id,
      ${CASH_OF}, 'wallet:' || p.org_id, c.given_back
    from purchase_claim c join purchase p using (purchase_id) where c.given_back > 0
  )
  ${differingTransfersSql(["purchase", "purchase_refund", "refund_reversal", "dispute", "dispute_won"])}`;

/** Selects purchases whose claims took back a wrong sum. Right: their total, at most the credit. */
const BROKEN_CLAIMS = `
  select concat('purchase ', p.purchase_id), concat('taken back ', c.taken),
    concat('taken back ', c.due)
  from purchase p join lateral (
    select coalesce(sum(taken), 0) - coalesce(sum(given_back), 0) as taken,
      case when p.granted_at is null then 0 else least(p.micro_usd,
        coalesce(sum(micro_usd) filter (where not is_reversed), 0)) end as due
    from purchase_claim where purchase_id = p.purchase_id
  ) c on true
  where c.taken <> c.due`;

/** Selects payments of debt that do not go from a wallet to its organization's receivable. */
const BROKEN_PAYMENTS = `
  select concat('transfer ', ref),
    format('%s from %s to %s', amount, debit_account, credit_account),
    'from a wallet to its own receivable'
  from transfer where attempt_id is null
    and (kind = 'collect' or credit_account like 'receivable:%')
    and (kind <> 'collect' or debit_account <> 'wallet:' || substr(credit_account, 12))`;

/** Selects series of receipts whose numbers do not run from 1 to the last without a gap. */
const BROKEN_RECEIPTS = `
  select concat('receipts ', series), format('%s, the last %s', coalesce(r.count, 0), r.last),
    format('%s, the last %s', s.last, s.last)
  from receipt_series s left join (
    select receipt_series as series, count(*) as count, max(receipt_number) as last
    from purchase where receipt_series is not null group by 1
  ) r using (series)
  where r.count is distinct from s.last or r.last is distinct from s.last`;

export const purchaseAuditQuery: AuditQuery = {
  id: "I14",
  title:
    "every purchase gave and lost what its claims say, and no wallet that owes has available credit",
  sql: [BROKEN_DEBTS, BROKEN_MOVES, BROKEN_CLAIMS, BROKEN_PAYMENTS, BROKEN_RECEIPTS]
    .map((sql) => `(${sql})`)
    .join(" union all "),
};
