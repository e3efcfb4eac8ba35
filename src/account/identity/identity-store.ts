import type { ChangedBy, MicroUsd, OrgId, Role } from "../../kernel/index.ts";

/** The new session of a browser; its cookie's token is known to that browser only. */
export interface NewSession {
  /** SHA-256 of the token. */
  readonly sessionId: Buffer;
  readonly expiresAtMs: number;
  readonly idpSid: string | null;
  readonly sealedRefresh: Buffer | null;
  readonly userAgent: string | null;
}

/** Of the request that asked, for the change log; absent: there was none. */
export type AskedFrom = Pick<ChangedBy, "requestId" | "clientNetwork">;

/** A key to be shown once, sealed under a key that only the browser can make. */
export interface SealedReveal {
  readonly sealedKey: Buffer;
  readonly label: string;
  readonly name: string;
  readonly expiresAtMs: number;
}

/** Who is at the browser, as the identity provider said or the link that was opened. */
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
  /** Is there a key to be shown in the new session? */
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
  /** Since when the browser has been expected to ask the provider; null: it is not. */
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
