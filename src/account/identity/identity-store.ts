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
  type RecordOf,
  type Role,
  text,
} from "../../kernel/index.ts";

export type AskedFrom = Pick<ChangedBy, "requestId" | "clientNetwork">;

export interface SignInClaim {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly emailNorm: string;
  readonly isVerified: boolean;
  readonly name: string | null;
}

export interface SignInToResolve {
  readonly claim: SignInClaim;
  readonly nowMs: number;
  readonly session: {
    /** SHA-256 of the cookie's token, which only the browser keeps. */
    readonly sessionId: Buffer;
    readonly expiresAtMs: number;
    readonly idpSid: string | null;
    readonly userAgent: string | null;
  };
  /** A trial key, made before it is known whether one is due. Only `sealedKey` has the raw key. */
  readonly trialKey: SealedReveal & { readonly digest: Buffer; readonly ceiling: number };
  /** The session that this sign-in ends. Its unsaved key moves to a session of the same account. */
  readonly previous?: { readonly sessionId: Buffer; readonly reveal: SealedReveal | undefined };
  readonly from?: AskedFrom;
  readonly welcomeMicroUsd?: MicroUsd;
}

export interface ResolvedSignIn {
  readonly accountId: string;
  readonly orgId: OrgId;
  readonly isVerified: boolean;
  readonly hasReveal: boolean;
  /** True for a new person with an open invitation, who gets no trial key yet. */
  readonly isInvited: boolean;
  /**
   * `linked`: an existing account with the same verified e-mail; `adopted`: an account in an
   * organization that an operator made for the address; `verified`: a known account, verified now.
   */
  readonly kind: "known" | "created" | "linked" | "adopted" | "verified";
  /** True if another account has the newly verified address; this account keeps its old one. */
  readonly isEmailTaken: boolean;
}

export interface OwnOrgStart extends Pick<SignInToResolve, "trialKey" | "from"> {
  readonly sessionId: Buffer;
  readonly accountId: string;
  readonly welcomeMicroUsd: MicroUsd;
}

export type EndReason = "signed-out" | "idp-ended";

export interface LogoutOrder {
  readonly issuer: string;
  readonly tokenId: string;
  readonly subject: string | undefined;
  readonly sid: string | undefined;
  readonly nowMs: number;
  /** Until this instant the token's id is stored, so that a replayed token has no effect. */
  readonly rememberUntilMs: number;
}

/** SQL with these columns must use the aliases `s` (session), `a` (account), `m` (membership). */
export const sessionColumns = columns({
  accountId: text("account_id"),
  /** An organization of which the account is a member now; see `CURRENT_MEMBER_SQL`. */
  orgId: computed("m.org_id", text<OrgId>("org_id")),
  role: computed("m.role", text<Role>("role")),
  email: computed("a.email", text("email")),
  name: computed("a.name", orNull(text("name"))),
  /** True if the provider or a sign-in link has verified the e-mail; most routes require it. */
  isVerified: computed("a.email_verified_at is not null", bool("is_verified")),
  issuer: text("issuer"),
  subject: text("subject"),
  startedAtMs: instantMs("started_at"),
  expiresAtMs: instantMs("expires_at"),
  lastSeenAtMs: instantMs("last_seen_at"),
  idpCheckedAtMs: instantMs("idp_checked_at"),
  idpTriedAtMs: instantMs("idp_tried_at"),
  /** When a use was first recorded after a recheck became due; null once the provider answers. */
  recheckAskedAtMs: orNull(instantMs("recheck_asked_at")),
  userAgent: orNull(text("user_agent")),
  endedReason: orNull(text<EndReason>("ended_reason")),
});
/** Ended sessions are included: they tell a returning browser why it is signed out. */
export type StoredSession = RecordOf<typeof sessionColumns>;

/*
 * Chooses the organization of a session: the one that the person switched to, else the account's
 * own unless an invitation deferred its trial key, else the one joined last. Each read of a session
 * runs this query, so a removed member loses access with the next request.
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

/** SQL with these columns must use the aliases `org_member m`, `org o` and `console_account a`. */
export const joinedOrgColumns = columns({
  orgId: computed("m.org_id", text<OrgId>("org_id")),
  name: computed("o.name", text("name")),
  role: computed("m.role", text<Role>("role")),
  /** True for the account's own organization while an invitation defers its trial key. */
  isUnused: computed("a.trial_deferred_at is not null and m.org_id = a.org_id", bool("is_unused")),
});
export type JoinedOrg = RecordOf<typeof joinedOrgColumns>;

export const revealColumns = columns({
  sealedKey: opaque<Buffer>("sealed_key"),
  label: text("label"),
  name: text("name"),
  expiresAtMs: instantMs("expires_at"),
});
/** A trial key, encrypted under a key from the session token, which only the browser has. */
export type SealedReveal = RecordOf<typeof revealColumns>;

export const END_SESSION_SQL = `
  update console_session s set ended_at = $3, ended_reason = $2
  from console_account a
  where s.session_id = $1 and s.ended_at is null and a.account_id = s.account_id
  returning a.account_id, a.org_id`;

export const SELECT_ACCOUNT_SQL = `
  select a.account_id, a.org_id, a.email, a.email_norm,
    a.email_verified_at is not null as is_verified
  from console_account a`;

export interface AccountRow {
  readonly account_id: string;
  readonly org_id: OrgId;
  readonly email: string;
  readonly email_norm: string;
  readonly is_verified: boolean;
}

export interface SignedIn extends Omit<
  StoredSession,
  | "issuer"
  | "subject"
  | "lastSeenAtMs"
  | "idpCheckedAtMs"
  | "idpTriedAtMs"
  | "recheckAskedAtMs"
  | "endedReason"
> {
  /** SHA-256 of the cookie's token in hexadecimal; it names the session but cannot open it. */
  readonly sessionId: string;
  /** Page loads from this time on go to `/auth/recheck`; absent without an identity provider. */
  readonly recheckDueAtMs?: number;
}

export interface Redirect {
  readonly location: string;
  /** Complete `set-cookie` header values. */
  readonly cookies: readonly string[];
}

export interface AskingBrowser {
  readonly cookieHeader: string | undefined;
  readonly userAgent: string | undefined;
  readonly requestId: string;
  readonly clientNetwork?: string | null;
}

export interface AccountProfile {
  readonly identities: readonly { readonly issuer: string; readonly linkedAtMs: number }[];
  readonly otherSessions: number;
}
