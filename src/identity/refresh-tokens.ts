import { IdentitySettingFault } from "./console-address.ts";
import { deriveKey, openText, sealText } from "./sealed-text.ts";

const KEY_BYTES = 32;

/** Refresh tokens as they are stored: sealed, each for its own session. */
export interface RefreshTokens {
  seal(token: string, sessionId: Buffer): Buffer;
  open(sealed: Buffer, sessionId: Buffer): string | undefined;
}

/** Needs `encryption_key`; without one it throws an `IdentitySettingFault`. */
export function openRefreshTokens(encryptionKey: string): RefreshTokens {
  const secret = Buffer.from(encryptionKey, "base64");
  if (secret.length !== KEY_BYTES || secret.toString("base64") !== encryptionKey) {
    throw new IdentitySettingFault(
      "oidc.refresh (TM_OIDC_REFRESH) needs encryption_key (TM_ENCRYPTION_KEY), 32 bytes in base64; " +
        "make one with `openssl rand -base64 32`, or turn oidc.refresh off",
    );
  }
  const key = deriveKey(secret, "refresh token");
  return {
    seal: (token, sessionId) => sealText(token, key, sessionId),
    open: (sealed, sessionId) => openText(sealed, key, sessionId),
  };
}
