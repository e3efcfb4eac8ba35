import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** A secret of one browser; we keep its SHA-256 only. */
export interface BrowserToken {
  /** 43 characters of base64url. */
  readonly token: string;
  readonly hash: Buffer;
}

export function newBrowserToken(): BrowserToken {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  return { token, hash: hashOf(token) };
}

export function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
