import type { LiveSession, StoredSession } from "./identity-store.ts";

/** A browser that is signed in: one row of the session table, read for every request. */
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
  /** SHA-256 of the cookie's token in hexadecimal: names the session, opens nothing. */
  readonly sessionId: string;
  /** From then on the browser is sent to `/auth/recheck`; absent without an identity provider. */
  readonly recheckDueAtMs?: number;
}

/** The next address of a browser, and the cookies to set. */
export interface Redirect {
  readonly location: string;
  /** Whole `set-cookie` values. */
  readonly cookies: readonly string[];
}

export interface AskingBrowser {
  readonly cookieHeader: string | undefined;
  readonly userAgent: string | undefined;
  readonly requestId: string;
  /** For the change log; default null. */
  readonly clientNetwork?: string | null;
}

/** The trial key, which is shown until its owner has saved it. */
export interface RevealedKey {
  readonly key: string;
  readonly label: string;
  readonly name: string;
}

export interface ListedSession extends Omit<LiveSession, "sessionId"> {
  /** A hash of the session's own id, which is itself the hash of a cookie. */
  readonly id: string;
  readonly isThis: boolean;
}

export interface AccountProfile {
  readonly identities: readonly { readonly issuer: string; readonly linkedAtMs: number }[];
  /** Sessions of the account in other browsers that have not ended. */
  readonly otherSessions: number;
}
