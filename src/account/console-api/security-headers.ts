/** For answers that are not pages: they may load and run nothing, and no page may frame them. */
const DATA_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function securityHeaders(consoleUrl: string): Readonly<Record<string, string>> {
  return {
    "content-security-policy": DATA_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), clipboard-write=(self), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    ...(consoleUrl.startsWith("https:") ? { "strict-transport-security": HSTS } : {}),
  };
}

const HSTS = "max-age=31536000";

/** Allows our own scripts (no inline ones), our own styles, and those with this answer's nonce. */
export function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}
