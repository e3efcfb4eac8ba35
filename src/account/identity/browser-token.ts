import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** A random secret that only one browser keeps; the gateway stores its SHA-256 (`hash`). */
export interface BrowserToken {
  /** 32 random bytes as 43 characters of base64url. */
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

/** `tx`: the cookie of a pending sign-in; `session`: the cookie of a signed-in browser. */
type CookieKind = "tx" | "session";

const HEADER_CHARS_MAX = 16_384;

/**
 * On https the cookie names begin with `__Host-`, so that neither another host nor plain http can
 * set the cookies; browsers accept that prefix on https only.
 */
export function cookieJar(consoleUrl: string) {
  const isSecure = consoleUrl.startsWith("https:");
  const prefix = isSecure ? "__Host-tm_" : "tm_";
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  const write = (kind: CookieKind, token: string, maxAgeSeconds: number): string =>
    `${prefix}${kind}=${token}; Max-Age=${maxAgeSeconds}; ${attributes}`;
  return {
    read: (kind: CookieKind, header: string | undefined) =>
      readCookie(`${prefix}${kind}`, header, kind === "tx" ? isSealed : isToken),
    write,
    clear: (kind: CookieKind) => write(kind, "", 0),
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

/** True if a text can be a sealed pending sign-in. Browsers limit cookies to 4,096 characters. */
function isSealed(text: string): boolean {
  return /^[A-Za-z0-9_-]{44,3800}$/.test(text);
}

export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

const RETURN_PATH_CHARS_MAX = 512;
/** A placeholder base URL: a console path resolves to this origin, any other URL does not. */
const SOME_ORIGIN = "http://console.invalid";
const OWN_ROUNDS = /^\/(auth|sign-in|api)(\/|$)/;

/**
 * Returns the path to which a browser may go after signing in. Undefined unless `asked` is a path
 * of at most 512 visible ASCII characters on this origin that is no sign-in or API route.
 */
export function safeReturnPath(asked: string | undefined): string | undefined {
  if (asked === undefined || asked.length > RETURN_PATH_CHARS_MAX) return undefined;
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(asked) || asked.includes("\\")) return undefined;
  if (!URL.canParse(asked, SOME_ORIGIN)) return undefined;
  const url = new URL(asked, SOME_ORIGIN);
  if (url.origin !== SOME_ORIGIN) return undefined;
  // `URL` has resolved the dots: `/x/..//evil` has become `//evil`, which names another host.
  if (url.pathname.startsWith("//") || OWN_ROUNDS.test(url.pathname)) return undefined;
  return url.pathname + url.search + url.hash;
}
