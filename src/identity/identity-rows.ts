import type { OrgId } from "../core/ids.ts";
import type { EndReason, PendingSignIn, SealedReveal, StoredSession } from "./identity-store.ts";

export interface SessionRow {
  readonly account_id: string;
  readonly org_id: string;
  readonly email: string;
  readonly name: string | null;
  readonly is_verified: boolean;
  readonly issuer: string;
  readonly subject: string;
  readonly started_at: Date;
  readonly expires_at: Date;
  readonly last_seen_at: Date;
  readonly idp_checked_at: Date;
  readonly idp_tried_at: Date;
  readonly recheck_asked_at: Date | null;
  readonly has_refresh_token: boolean;
  readonly user_agent: string | null;
  readonly ended_reason: EndReason | null;
}

export const findSessionSql = `
  select s.account_id, a.org_id, a.email, a.name, a.email_verified_at is not null as is_verified,
    s.issuer, s.subject, s.started_at, s.expires_at, s.last_seen_at, s.idp_checked_at,
    s.idp_tried_at, s.recheck_asked_at,
    s.sealed_refresh is not null as has_refresh_token, s.user_agent,
    s.ended_reason
  from console_session s join console_account a using (account_id)
  where s.session_id = $1`;

export function storedSession(row: SessionRow): StoredSession {
  return {
    accountId: row.account_id,
    orgId: row.org_id as OrgId,
    email: row.email,
    name: row.name,
    isVerified: row.is_verified,
    issuer: row.issuer,
    subject: row.subject,
    startedAtMs: row.started_at.getTime(),
    expiresAtMs: row.expires_at.getTime(),
    lastSeenAtMs: row.last_seen_at.getTime(),
    idpCheckedAtMs: row.idp_checked_at.getTime(),
    idpTriedAtMs: row.idp_tried_at.getTime(),
    recheckAskedAtMs: row.recheck_asked_at?.getTime() ?? null,
    hasRefreshToken: row.has_refresh_token,
    userAgent: row.user_agent,
    endedReason: row.ended_reason,
  };
}

export interface PendingRow {
  readonly state: string;
  readonly nonce: string;
  readonly code_verifier: string;
  readonly return_path: string | null;
  readonly session_id: Buffer | null;
  readonly expires_at: Date;
}

export function pendingSignIn(row: PendingRow): PendingSignIn {
  return {
    state: row.state,
    nonce: row.nonce,
    codeVerifier: row.code_verifier,
    returnPath: row.return_path,
    sessionId: row.session_id,
    expiresAtMs: row.expires_at.getTime(),
  };
}

export interface RevealRow {
  readonly sealed_key: Buffer;
  readonly label: string;
  readonly name: string;
  readonly expires_at: Date;
}

export function sealedReveal(row: RevealRow): SealedReveal {
  return {
    sealedKey: row.sealed_key,
    label: row.label,
    name: row.name,
    expiresAtMs: row.expires_at.getTime(),
  };
}
