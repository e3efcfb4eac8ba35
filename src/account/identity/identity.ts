import type { OrgId, Role } from "../../kernel/index.ts";

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
