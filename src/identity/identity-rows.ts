import {
  bool,
  columns,
  type Columns,
  computed,
  instantMs,
  opaque,
  orNull,
  text,
} from "../storage/index.ts";
import type { PendingSignIn, SealedReveal, StoredSession } from "./identity-store.ts";

/** Of a session `s` and its account `a`. */
export const sessionColumns: Columns<StoredSession> = columns({
  accountId: text("account_id"),
  orgId: computed("a.org_id", text("org_id")),
  email: computed("a.email", text("email")),
  name: computed("a.name", orNull(text("name"))),
  isVerified: computed("a.email_verified_at is not null", bool("is_verified")),
  issuer: text("issuer"),
  subject: text("subject"),
  startedAtMs: instantMs("started_at"),
  expiresAtMs: instantMs("expires_at"),
  lastSeenAtMs: instantMs("last_seen_at"),
  idpCheckedAtMs: instantMs("idp_checked_at"),
  idpTriedAtMs: instantMs("idp_tried_at"),
  recheckAskedAtMs: orNull(instantMs("recheck_asked_at")),
  hasRefreshToken: computed("s.sealed_refresh is not null", bool("has_refresh_token")),
  userAgent: orNull(text("user_agent")),
  endedReason: orNull(text("ended_reason")),
});

export const FIND_SESSION_SQL = `
  select ${sessionColumns.sqlOf("s")}
  from console_session s join console_account a using (account_id)
  where s.session_id = $1`;

export const pendingColumns: Columns<PendingSignIn> = columns({
  state: text("state"),
  nonce: text("nonce"),
  codeVerifier: text("code_verifier"),
  returnPath: orNull(text("return_path")),
  sessionId: opaque("session_id"),
  expiresAtMs: instantMs("expires_at"),
});

export const revealColumns: Columns<SealedReveal> = columns({
  sealedKey: opaque("sealed_key"),
  label: text("label"),
  name: text("name"),
  expiresAtMs: instantMs("expires_at"),
});
