import {
  bool,
  columns,
  type Columns,
  computed,
  instantMs,
  opaque,
  orNull,
  text,
} from "../../kernel/index.ts";
import type { JoinedOrg, LiveSession, SealedReveal, StoredSession } from "./identity-store.ts";

/** Of a session `s`, its account `a`, and the membership `m` that it works with. */
export const sessionColumns: Columns<StoredSession> = columns({
  accountId: text("account_id"),
  orgId: computed("m.org_id", text("org_id")),
  role: computed("m.role", text("role")),
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

/*
 * The organization that was chosen, else the account's own, unless an invitation came before it had
 * anything. Read with every request: a member who is removed is out with the next one.
 */
const CURRENT_MEMBER_SQL = `
  select org_id, role from org_member
  where account_id = a.account_id
  order by org_id = s.org_id desc nulls last,
    (org_id = a.org_id and a.trial_deferred_at is null) desc, joined_at desc, org_id
  limit 1`;

export const FIND_SESSION_SQL = `
  select ${sessionColumns.sqlOf("s")}
  from console_session s join console_account a using (account_id)
  cross join lateral (${CURRENT_MEMBER_SQL}) m
  where s.session_id = $1`;

export const liveSessionColumns: Columns<LiveSession> = columns({
  sessionId: opaque("session_id"),
  startedAtMs: instantMs("started_at"),
  lastSeenAtMs: instantMs("last_seen_at"),
  userAgent: orNull(text("user_agent")),
});

/** Of a membership `m`, its organization `o` and the account `a`. */
export const joinedOrgColumns: Columns<JoinedOrg> = columns({
  orgId: computed("m.org_id", text("org_id")),
  name: computed("o.name", text("name")),
  role: computed("m.role", text("role")),
  isUnused: computed("a.trial_deferred_at is not null and m.org_id = a.org_id", bool("is_unused")),
});

export const revealColumns: Columns<SealedReveal> = columns({
  sealedKey: opaque("sealed_key"),
  label: text("label"),
  name: text("name"),
  expiresAtMs: instantMs("expires_at"),
});
