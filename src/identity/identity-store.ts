import type { ChangedBy } from "../changes/index.ts";
import type { MicroUsd, OrgId, Role } from "../core/index.ts";

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

/** Accounts, identities and sessions. Every verb is one transaction; time is the caller's. */
export interface IdentityStore {
  /** 32 random bytes that the instances of this installation share, and no other has. */
  consoleSecret(): Promise<Buffer>;
  /**
   * Finds or makes the account of a person, mints the trial key if it is due, and starts the
   * session: all of it or nothing, and one trial key however many ask at once.
   */
  resolveSignIn(signIn: SignInToResolve): Promise<ResolvedSignIn>;
  /**
   * The same by a link, which is used up with it. Undefined: the link is used, expired or another
   * address's, and nothing was done.
   */
  resolveLink(signIn: SignInToResolve, linkHash: Buffer): Promise<ResolvedSignIn | undefined>;
  findSession(sessionId: Buffer): Promise<StoredSession | undefined>;
  /** Notes that a session is in use, and that its browser is expected to ask the provider. */
  touchSession(
    sessionId: Buffer,
    use: { readonly nowMs: number; readonly isRecheckDue: boolean },
  ): Promise<void>;
  /** Ends one session that lives; false: there is none. The first reason stays. */
  endSession(end: {
    readonly sessionId: Buffer;
    readonly reason: EndReason;
    readonly nowMs: number;
    readonly from?: AskedFrom;
  }): Promise<boolean>;
  /**
   * Takes the permit to ask the identity provider with the refresh token: one caller gets it, and
   * no other before `notSinceMs` has passed.
   */
  claimRefresh(
    sessionId: Buffer,
    when: { readonly nowMs: number; readonly notSinceMs: number },
  ): Promise<Buffer | undefined>;
  /** The identity provider said yes; a token that replaces the old one comes along. */
  noteChecked(
    sessionId: Buffer,
    checked: { readonly nowMs: number; readonly sealedRefresh?: Buffer; readonly idpSid?: string },
  ): Promise<void>;
  /** The identity provider was asked and gave no answer. */
  noteTried(sessionId: Buffer, nowMs: number): Promise<void>;
  /**
   * Ends the sessions that a logout token names, by `sid`, else all of the subject. False: a token
   * of this id was there before, nothing happens.
   */
  endByLogoutToken(logout: LogoutOrder): Promise<boolean>;
  findReveal(sessionId: Buffer, nowMs: number): Promise<SealedReveal | undefined>;
  /** The reveal of a session; the first time is noted as the one it was shown. */
  showReveal(sessionId: Buffer, nowMs: number, from?: AskedFrom): Promise<SealedReveal | undefined>;
  /** Its owner has the key: it is gone. False: there was none. */
  endReveal(sessionId: Buffer, nowMs: number, from?: AskedFrom): Promise<boolean>;
  listIdentities(
    accountId: string,
  ): Promise<readonly { readonly issuer: string; readonly linkedAtMs: number }[]>;
  /** Sessions of the account that live, but for this one. */
  countOtherSessions(accountId: string, sessionId: Buffer, nowMs: number): Promise<number>;
  /** Sessions of the account that live, the one used last first, a bounded number. */
  listSessions(accountId: string, nowMs: number): Promise<readonly LiveSession[]>;
  /** From now on the session is in this organization; false: the account is not a member of it. */
  switchOrg(sessionId: Buffer, orgId: string): Promise<boolean>;
  /** The organizations that the account is a member of. */
  listOrgs(accountId: string): Promise<readonly JoinedOrg[]>;
  /**
   * Makes the trial key that an invitation had deferred, with the starting credit, in the account's
   * own organization, and puts the session there; undefined: nothing was deferred.
   */
  startOwnOrg(start: OwnOrgStart): Promise<OrgId | undefined>;
  /** Forgets what ended long ago, a bounded part of it; returns how many rows went. */
  sweep(nowMs: number): Promise<number>;
  readonly links: ClaimLinkStore;
}

export interface LogoutOrder {
  readonly issuer: string;
  readonly tokenId: string;
  readonly subject: string | undefined;
  readonly sid: string | undefined;
  readonly nowMs: number;
  /** Until then the token's id is remembered. */
  readonly rememberUntilMs: number;
}

/** Links that sign in without an identity provider, and where they lead. */
export interface ClaimLinkStore {
  /** `email` null: who opens the link says it. */
  addClaim(
    claim: {
      readonly tokenHash: Buffer;
      readonly email: string | null;
      readonly expiresAtMs: number;
    },
    by: ChangedBy,
  ): Promise<void>;
  findClaim(
    tokenHash: Buffer,
    nowMs: number,
  ): Promise<{ readonly email: string | null } | undefined>;
  /** Where this instance has its console, as long as it runs. */
  noteConsole(instanceId: string, url: string): Promise<void>;
  /** Where a running instance has its console; undefined: none runs. */
  findConsole(): Promise<string | undefined>;
}
