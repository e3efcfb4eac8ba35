/** Our cookies: a way to the provider and back, and the session. */
export type CookieKind = "tx" | "session";

/** The way there and back is sealed into its cookie; browsers take 4,096 characters. */
const SEALED = /^[A-Za-z0-9_-]{44,3800}$/;

const HEADER_CHARS_MAX = 16_384;

/** Names and attributes of our cookies at one address. */
export interface CookieJar {
  /** The token in a `cookie` header; undefined: none that has our form. */
  read(kind: CookieKind, header: string | undefined): string | undefined;
  /** A whole `set-cookie` value. */
  write(kind: CookieKind, token: string, maxAgeSeconds: number): string;
  clear(kind: CookieKind): string;
}

/**
 * Cookies of a console at `consoleUrl`. On https they carry the `__Host-` prefix: no other host and
 * no plain http can set them. Browsers take that prefix on https only, so plain http goes without.
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

/** 32 bytes in base64url: what every secret that we give to a browser looks like. */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}
