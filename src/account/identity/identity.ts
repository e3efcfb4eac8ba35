import type { LiveSession, StoredSession } from "./identity-store.ts";

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

export interface RevealedKey {
  readonly key: string;
  readonly label: string;
  readonly name: string;
}

export interface ListedSession extends Omit<LiveSession, "sessionId"> {
  /** A hash of the stored session id, which itself is the hash of the cookie's token. */
  readonly id: string;
  readonly isThis: boolean;
}

export interface AccountProfile {
  readonly identities: readonly { readonly issuer: string; readonly linkedAtMs: number }[];
  readonly otherSessions: number;
}
