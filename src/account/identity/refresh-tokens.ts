import { readEncryptionKeys } from "../../gateway/index.ts";
import { assert, madeOf } from "../../kernel/index.ts";
import { IdentitySettingFault } from "./console-address.ts";
import { deriveKey, openText, sealText } from "./sealed-text.ts";

/** Refresh tokens as they are stored: sealed, each for its own session. */
export interface RefreshTokens {
  seal(token: string, sessionId: Buffer): Buffer;
  open(sealed: Buffer, sessionId: Buffer): string | undefined;
}

/**
 * Needs `encryption_key`; without one it throws an `IdentitySettingFault`. Of several keys the first
 * seals, and all of them open. The text is asked for each time: a running server follows it.
 */
export function openRefreshTokens(encryptionKey: () => string): RefreshTokens {
  const current = madeOf(encryptionKey, tokensOf);
  return {
    seal: (token, sessionId) => current().seal(token, sessionId),
    open: (sealed, sessionId) => current().open(sealed, sessionId),
  };
}

function tokensOf(encryptionKey: string): RefreshTokens {
  if (encryptionKey === "") {
    throw new IdentitySettingFault(
      "oidc.refresh (TM_OIDC_REFRESH) needs encryption_key (TM_ENCRYPTION_KEY), 32 bytes in base64; " +
        "make one with `openssl rand -base64 32`, or turn oidc.refresh off",
    );
  }
  const keys = readEncryptionKeys(encryptionKey).map((each) => deriveKey(each, "refresh token"));
  const [first] = keys;
  assert(first !== undefined, "a text that is not empty has a key");
  return {
    seal: (token, sessionId) => sealText(token, first, sessionId),
    open: (sealed, sessionId) => {
      for (const key of keys) {
        const token = openText(sealed, key, sessionId);
        if (token !== undefined) return token;
      }
      return undefined;
    },
  };
}
