/** Ends one session, if it has not ended, and says whose it was. */
export const END_SESSION_SQL = `
  update console_session s set ended_at = $3, ended_reason = $2, sealed_refresh = null
  from console_account a
  where s.session_id = $1 and s.ended_at is null and a.account_id = s.account_id
  returning a.account_id, a.org_id`;
