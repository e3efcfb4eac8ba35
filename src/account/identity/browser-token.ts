import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** A secret of one browser; we keep its SHA-256 only. */
export interface BrowserToken {
  /** 43 characters of base64url. */
  readonly token: string;
  readonly hash: Buffer;
}

export function createBrowserToken(): BrowserToken {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  return { token, hash: hashToken(token) };
}

export function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Our cookies: `tx` of a pending sign-in, and the session. */
export type CookieKind = "tx" | "session";

/** A pending sign-in is sealed into its cookie; browsers accept 4,096 characters. */
const SEALED = /^[A-Za-z0-9_-]{44,3800}$/;

const HEADER_CHARS_MAX = 16_384;

/** Names and attributes of our cookies at one address. */
export interface CookieJar {
  /** The token in a `cookie` header; undefined if there is none of our form. */
  read(kind: CookieKind, header: string | undefined): string | undefined;
  write(kind: CookieKind, token: string, maxAgeSeconds: number): string;
  clear(kind: CookieKind): string;
}

/**
 * The cookies of a console at `consoleUrl`. On https their names have the `__Host-` prefix, so that
 * no other host and no plain http can set them. Browsers accept that prefix on https only.
 */
export function cookieJar(consoleUrl: string): CookieJar {
  const isSecure = consoleUrl.startsWith("https:");
  const prefix = isSecure ? "__Host-tm_" : "tm_";
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  const write = (kind: CookieKind, token: string, maxAgeSeconds: number): string =>
    `${prefix}${kind}=${token}; Max-Age=${maxAgeSeconds}; ${attributes}`;
  return {
    read: (kind, header) =>
      readCookie(`${prefix}${kind}`, header, (text) =>
        kind === "tx" ? SEALED.test(text) : isToken(text),
      ),
    write,
    clear: (kind) => write(kind, "", 0),
  };
}

function readCookie(
  name: string,
  header: string | undefined,
  isOurs: (text: string) => boolean,
): string | undefined {
  if (header === undefined || header.length > HEADER_CHARS_MAX) return undefined;
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    if (at === -1 || pair.slice(0, at).trim() !== name) continue;
    const token = pair.slice(at + 1).trim();
    if (isOurs(token)) return token;
  }
  return undefined;
}

/** True for 32 bytes in base64url, the form of every secret that we give to a browser. */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

const RETURN_PATH_CHARS_MAX = 512;
/** Any origin serves: a path of ours stays on it, anything else leaves it. */
const SOME_ORIGIN = "http://console.invalid";
const OWN_ROUNDS = /^\/(auth|sign-in|api)(\/|$)/;

/**
 * The path of ours that a browser may be sent to after signing in; undefined if it names another
 * origin, could be read as one, or would lead in a circle.
 */
export function safeReturnPath(asked: string | undefined): string | undefined {
  if (asked === undefined || asked.length > RETURN_PATH_CHARS_MAX) return undefined;
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(asked) || asked.includes("\\")) return undefined;
  if (!URL.canParse(asked, SOME_ORIGIN)) return undefined;
  const url = new URL(asked, SOME_ORIGIN);
  if (url.origin !== SOME_ORIGIN) return undefined;
  // The dots are resolved here: `/x/..//evil` has become `//evil`.
  if (url.pathname.startsWith("//") || OWN_ROUNDS.test(url.pathname)) return undefined;
  return url.pathname + url.search + url.hash;
}
