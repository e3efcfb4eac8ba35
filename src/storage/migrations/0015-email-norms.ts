/**
 * Addresses of accounts in the form that sign-ins compare: trimmed, A to Z in lower case. Accounts
 * of earlier versions have letters beyond ASCII in lower case too, which is another mailbox. One
 * whose form is taken meanwhile keeps its own.
 */
export const emailNormsSql: string = `
update console_account a set email_norm = n.email_norm
from (
  select account_id, translate(btrim(email), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
    'abcdefghijklmnopqrstuvwxyz') as email_norm
  from console_account
) n
where n.account_id = a.account_id and n.email_norm <> a.email_norm
  and not exists (select from console_account b
    where b.email_norm = n.email_norm and b.account_id <> a.account_id);
`;
