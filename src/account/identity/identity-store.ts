import {
  bool,
  type ChangedBy,
  type Columns,
  columns,
  computed,
  instantMs,
  type MicroUsd,
  opaque,
  type OrgId,
  orNull,
  type Role,
  text,
} from "../../kernel/index.ts";

/** The new session of a browser; its cookie's token is known to that browser only. */
export interface NewSession {
  /** SHA-256 of the token. */
  readonly sessionId: Buffer;
  readonly expiresAtMs: number;
  readonly idpSid: string | null;
  readonly sealedRefresh: Buffer | null;
  readonly userAgent: string | null;
}

/** The origin of the request, for the change log; absent when there was none. */
export type AskedFrom = Pick<ChangedBy, "requestId" | "clientNetwork">;

/** A key to be shown once, sealed under a key that only the browser can make. */
export interface SealedReveal {
  readonly sealedKey: Buffer;
  readonly label: string;
  readonly name: string;
  readonly expiresAtMs: number;
}

/** The identity of the person at the browser, from the identity provider or the link that was opened. */
export interface SignInClaim {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  /** `email` in the form that two spellings of one address share. */
  readonly emailNorm: string;
  readonly isVerified: boolean;
  readonly name: string | null;
}

export interface SignInToResolve {
  readonly claim: SignInClaim;
  readonly nowMs: number;
  readonly session: NewSession;
  /** The trial key, made in case that it is due; its raw form is in the sealed bytes only. */
  readonly trialKey: SealedReveal & { readonly digest: Buffer; readonly ceiling: number };
  /**
   * The session that this browser had: it ends, and a key that it did not reveal moves to the new
   * one.
   */
  readonly previous?: { readonly sessionId: Buffer; readonly reveal: SealedReveal | undefined };
  readonly from?: AskedFrom;
  /** Starting credit of an account that gets a trial key; absent: none. */
  readonly welcomeMicroUsd?: MicroUsd;
}

export interface ResolvedSignIn {
  readonly accountId: string;
  readonly orgId: OrgId;
  readonly isVerified: boolean;
  /** True if the new session has a key to show. */
  readonly hasReveal: boolean;
  /** A new person whom an organization has invited: there is no trial key yet. */
  readonly isInvited: boolean;
  /** `created`: a new account; `linked`: the account of the same verified e-mail. */
  readonly kind: "known" | "created" | "linked" | "adopted" | "verified";
  /** The identity's e-mail has changed to one that another account has: the old one was kept. */
  readonly isEmailTaken: boolean;
}

/** A session as it is stored, ended ones too. */
export interface StoredSession {
  readonly accountId: string;
  /** The organization that the session is in, as long as the account is a member of it. */
  readonly orgId: OrgId;
  readonly role: Role;
  readonly email: string;
  readonly name: string | null;
  readonly isVerified: boolean;
  readonly issuer: string;
  readonly subject: string;
  readonly startedAtMs: number;
  readonly expiresAtMs: number;
  readonly lastSeenAtMs: number;
  readonly idpCheckedAtMs: number;
  readonly idpTriedAtMs: number;
  /** Since when the browser has been expected to ask the provider; null if it is not. */
  readonly recheckAskedAtMs: number | null;
  readonly hasRefreshToken: boolean;
  readonly userAgent: string | null;
  readonly endedReason: EndReason | null;
}

/** A session in the list of its account. */
export interface LiveSession {
  readonly sessionId: Buffer;
  readonly startedAtMs: number;
  readonly lastSeenAtMs: number;
  readonly userAgent: string | null;
}

export interface JoinedOrg {
  readonly orgId: OrgId;
  readonly name: string;
  readonly role: Role;
  /** The account's own one without its trial key: an invitation came before it. */
  readonly isUnused: boolean;
}

export interface OwnOrgStart {
  readonly sessionId: Buffer;
  readonly accountId: string;
  readonly trialKey: SignInToResolve["trialKey"];
  readonly welcomeMicroUsd: MicroUsd;
  readonly from?: AskedFrom;
}

export type EndReason = "signed-out" | "idp-ended";

export interface LogoutOrder {
  readonly issuer: string;
  readonly tokenId: string;
  readonly subject: string | undefined;
  readonly sid: string | undefined;
  readonly nowMs: number;
  /** Until then the token's id is remembered. */
  readonly rememberUntilMs: number;
}

/** The columns of a session `s`, its account `a`, and the membership `m` that it works with. */
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
 * The chosen organization, or else the account's own one, unless the account was invited before it
 * used that one. Read with every request, so a removed member loses access with the next one.
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

/** The columns of a membership `m`, its organization `o` and the account `a`. */
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
