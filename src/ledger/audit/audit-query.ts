export interface AuditQuery {
  readonly id: string;
  readonly title: string;
  /** Selects three texts for every violation: the subject, what was found, what was expected. */
  readonly sql: string;
}

/** SQL expression for the UTC day in an attempt id. */
export const attemptDay = (id: string): string =>
  `date '2025-01-01' + ((${id} >> 22) / 86400000)::integer`;

/** SQL expression for the transfer with the table alias `of`, as text; `none` if it is missing. */
export const transferText = (of: string): string => `case when ${of}.amount is null then 'none'
      else format('%s from %s to %s', ${of}.amount, ${of}.debit_account, ${of}.credit_account) end`;

/**
 * Compares transfers of `kinds`, by reference, with the relation `expected` of the surrounding
 * query, and selects those that are missing, superfluous or different.
 */
export function differingTransfersSql(kinds: readonly string[]): string {
  return `
  select concat('transfer ', ref), ${transferText("t")}, ${transferText("e")}
  from expected e full join (
    select ref, debit_account, credit_account, amount from transfer
    where attempt_id is null and kind in (${kinds.map((kind) => `'${kind}'`).join(", ")})
  ) t using (ref)
  where (t.debit_account, t.credit_account, t.amount)
    is distinct from (e.debit_account, e.credit_account, e.amount)`;
}
