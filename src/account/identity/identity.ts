import type { OrgId, Role } from "../../kernel/index.ts";
import type { AskedFrom, JoinedOrg } from "./identity-store.ts";

/** A browser that is signed in: one row of the session table, read for every request. */
export interface SignedIn {
  /** SHA-256 of the cookie's token in hexadecimal: names the session, opens nothing. */
  readonly sessionId: string;
  readonly accountId: string;
  /** The organization that the session is in, and what the account may do there. */
  readonly orgId: OrgId;
  readonly role: Role;
  readonly email: string;
  readonly name: string | null;
  /** False: the identity provider has not verified the e-mail; only the verify page is open. */
  readonly isVerified: boolean;
  readonly startedAtMs: number;
  readonly expiresAtMs: number;
  readonly userAgent: string | null;
  /** From then on the browser is sent to `/auth/recheck`; absent: another signal ends it. */
  readonly recheckDueAtMs?: number;
}

/** Where a browser goes next, and the cookies that it takes along. */
export interface Redirect {
  readonly location: string;
  /** Whole `set-cookie` values. */
  readonly cookies: readonly string[];
}

/** The request of a browser that is to be signed in. */
export interface AskingBrowser {
  readonly cookieHeader: string | undefined;
  readonly userAgent: string | undefined;
  readonly requestId: string;
  /** For the change log; default null. */
  readonly clientNetwork?: string | null;
}

/** The trial key, as long as its owner has not said that it is saved. */
export interface RevealedKey {
  readonly key: string;
  readonly label: string;
  readonly name: string;
}

/** A session as its owner sees it. */
export interface ListedSession {
  /** Made of the session's own id, which is the hash of a cookie. */
  readonly id: string;
  readonly isThis: boolean;
  readonly startedAtMs: number;
  readonly lastSeenAtMs: number;
  readonly userAgent: string | null;
}

export interface AccountProfile {
  readonly identities: readonly { readonly issuer: string; readonly linkedAtMs: number }[];
  /** Sessions of the account in other browsers that have not ended. */
  readonly otherSessions: number;
}

/**
 * Signing in and staying so: the OIDC relying party, sessions, accounts. Everything that reads a
 * cookie takes the whole `cookie` header; nothing here knows the HTTP framework.
 */
export interface Identity {
  /** The text of the sign-in button; null if no identity provider is configured. */
  readonly signInName: string | null;
  /** Links of this machine sign in; without them and without a provider, sign-in is off. */
  readonly isLocal: boolean;
  /** `GET /auth/start`: to the identity provider. `returnPath` other than a path of ours is dropped. */
  startSignIn(asked: { readonly returnPath: string | undefined }): Promise<Redirect>;
  /** `GET /auth/callback`: to `returnPath`, `/welcome`, `/verify`, or `/sign-in?reason=…`. */
  finishSignIn(
    /** The callback's path and query as they came. */
    asked: AskingBrowser & { readonly url: string },
  ): Promise<Redirect>;
  /**
   * The link of this token, which asking does not use up; undefined if it is used, expired or none.
   */
  findLink(token: string): Promise<{ readonly email: string | null } | undefined>;
  /**
   * Uses the link up and starts a session; undefined if it is used, expired or another address's.
   */
  signInByLink(
    asked: AskingBrowser & { readonly token: string; readonly email: string },
  ): Promise<Redirect | undefined>;
  /** Undefined: signed out, expired, or ended by the identity provider. */
  readSession(cookieHeader: string | undefined): Promise<SignedIn | undefined>;
  /** Why there is no session, for the sign-in page's `reason`; undefined if there never was one. */
  sessionEndReason(
    cookieHeader: string | undefined,
  ): Promise<"expired" | "signed-out" | "idp-ended" | undefined>;
  /** Ends this browser's session on the server, and no other. */
  signOut(cookieHeader: string | undefined, from?: AskedFrom): Promise<Redirect>;
  /**
   * A top-level round trip to the identity provider is due: the next page load of this browser goes
   * to `/auth/recheck`. Only where nothing else reports the end of its session.
   */
  isRecheckDue(session: SignedIn): boolean;
  /** `GET /auth/recheck`: to the identity provider without a prompt. */
  startRecheck(asked: {
    readonly cookieHeader: string | undefined;
    readonly returnPath: string | undefined;
  }): Promise<Redirect>;
  /** `POST /auth/backchannel-logout`: false where the token proves nothing; the answer is then 400. */
  backChannelLogout(logoutToken: string): Promise<boolean>;
  /** True if a key waits to be shown once in this browser. */
  hasReveal(cookieHeader: string | undefined): Promise<boolean>;
  /** The key; undefined if there is none any more. */
  reveal(cookieHeader: string | undefined, from?: AskedFrom): Promise<RevealedKey | undefined>;
  /** Its owner has saved the key: it is not shown again. */
  endReveal(cookieHeader: string | undefined, from?: AskedFrom): Promise<boolean>;
  profile(session: SignedIn): Promise<AccountProfile>;
  /** The account's sessions in browsers, this one too. */
  sessions(session: SignedIn): Promise<readonly ListedSession[]>;
  /** Ends another session of the account by its id in the list; false: there is none. */
  endOtherSession(session: SignedIn, id: string, from?: AskedFrom): Promise<boolean>;
  /** The organizations of the account. */
  organizations(session: SignedIn): Promise<readonly JoinedOrg[]>;
  /** From now on the session is in this organization; false: the account is not a member of it. */
  switchOrganization(session: SignedIn, orgId: string): Promise<boolean>;
  /** The trial key that an invitation had deferred, in an organization of one's own. */
  startOwnOrganization(
    cookieHeader: string | undefined,
    session: SignedIn,
    from?: AskedFrom,
  ): Promise<OrgId | undefined>;
  /** Forgets what ended long ago; runs by itself until `close`. */
  close(): Promise<void>;
}
