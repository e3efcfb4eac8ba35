/** Ends one session, if it has not ended, and says whose it was. */
export const END_SESSION_SQL = `
  update console_session s set ended_at = $3, ended_reason = $2, sealed_refresh = null
  from console_account a
  where s.session_id = $1 and s.ended_at is null and a.account_id = s.account_id
  returning a.account_id, a.org_id`;

/** The account of a person, by whatever a condition says. */
export const SELECT_ACCOUNT_SQL = `
  select a.account_id, a.org_id, a.email, a.email_norm,
    a.email_verified_at is not null as is_verified
  from console_account a`;
