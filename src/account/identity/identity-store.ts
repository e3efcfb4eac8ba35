import {
  bool,
  type ChangedBy,
  columns,
  computed,
  instantMs,
  type MicroUsd,
  opaque,
  type OrgId,
  orNull,
  type Role,
  text,
  type RecordOf,
} from "../../kernel/index.ts";

/** The new session of a browser; its cookie's token is known to that browser only. */
export interface NewSession {
  /** SHA-256 of the token. */
  readonly sessionId: Buffer;
  readonly expiresAtMs: number;
  readonly idpSid: string | null;
  readonly userAgent: string | null;
}

export type AskedFrom = Pick<ChangedBy, "requestId" | "clientNetwork">;

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
  /** A trial key in case one is due; its raw form is in the sealed bytes only. */
  readonly trialKey: SealedReveal & { readonly digest: Buffer; readonly ceiling: number };
  /** The browser's former session, which ends; its unrevealed key moves to the new one. */
  readonly previous?: { readonly sessionId: Buffer; readonly reveal: SealedReveal | undefined };
  readonly from?: AskedFrom;
  /** The starting credit of an account that gets a trial key; absent for none. */
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
  /** True if the identity's new e-mail is that of another account, so that the old one stayed. */
  readonly isEmailTaken: boolean;
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
  /** The token's id is remembered until then. */
  readonly rememberUntilMs: number;
}

/** The columns of a session `s`, its account `a`, and the membership `m` that it works with. */
export const sessionColumns = columns({
  accountId: text("account_id"),
  /** The organization that the session is in, as long as the account is a member of it. */
  orgId: computed("m.org_id", text<OrgId>("org_id")),
  role: computed("m.role", text<Role>("role")),
  email: computed("a.email", text("email")),
  name: computed("a.name", orNull(text("name"))),
  /** False if the provider has not verified the e-mail; only the verify page is open then. */
  isVerified: computed("a.email_verified_at is not null", bool("is_verified")),
  issuer: text("issuer"),
  subject: text("subject"),
  startedAtMs: instantMs("started_at"),
  expiresAtMs: instantMs("expires_at"),
  lastSeenAtMs: instantMs("last_seen_at"),
  idpCheckedAtMs: instantMs("idp_checked_at"),
  idpTriedAtMs: instantMs("idp_tried_at"),
  /** Since when the browser has been expected to ask the provider; null if it is not. */
  recheckAskedAtMs: orNull(instantMs("recheck_asked_at")),
  userAgent: orNull(text("user_agent")),
  endedReason: orNull(text<EndReason>("ended_reason")),
});
/** A session as it is stored, ended ones too. */
export type StoredSession = RecordOf<typeof sessionColumns>;

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

export const liveSessionColumns = columns({
  sessionId: opaque<Buffer>("session_id"),
  startedAtMs: instantMs("started_at"),
  lastSeenAtMs: instantMs("last_seen_at"),
  userAgent: orNull(text("user_agent")),
});
export type LiveSession = RecordOf<typeof liveSessionColumns>;

/** The columns of a membership `m`, its organization `o` and the account `a`. */
export const joinedOrgColumns = columns({
  orgId: computed("m.org_id", text<OrgId>("org_id")),
  name: computed("o.name", text("name")),
  role: computed("m.role", text<Role>("role")),
  /** True for the account's own organization whose trial key an invitation has deferred. */
  isUnused: computed("a.trial_deferred_at is not null and m.org_id = a.org_id", bool("is_unused")),
});
export type JoinedOrg = RecordOf<typeof joinedOrgColumns>;

export const revealColumns = columns({
  sealedKey: opaque<Buffer>("sealed_key"),
  label: text("label"),
  name: text("name"),
  expiresAtMs: instantMs("expires_at"),
});
/** A key to be shown once, sealed under a key that only the browser can make. */
export type SealedReveal = RecordOf<typeof revealColumns>;

/** Ends a session that has not ended, and returns its owner. */
export const END_SESSION_SQL = `
  update console_session s set ended_at = $3, ended_reason = $2
  from console_account a
  where s.session_id = $1 and s.ended_at is null and a.account_id = s.account_id
  returning a.account_id, a.org_id`;

/** Selects accounts; the caller appends a condition. */
export const SELECT_ACCOUNT_SQL = `
  select a.account_id, a.org_id, a.email, a.email_norm,
    a.email_verified_at is not null as is_verified
  from console_account a`;
