import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

import { createVirtualKey } from "../../gateway/index.ts";
import { TRIAL_KEY_REQUESTS_PER_MINUTE } from "../../kernel/index.ts";
import type { BrowserToken } from "./browser-token.ts";
import type { SealedReveal, SignInToResolve } from "./identity-store.ts";
import type { SignInSecrets } from "./relying-party.ts";

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The first byte of a sealed text. A new format needs a new version. */
const VERSION = 1;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/** Derives a key for one purpose; it cannot open a text that was sealed for another purpose. */
export function deriveKey(secret: Buffer | string, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", `tokenmarket ${purpose}`, KEY_BYTES));
}

/** Encrypts a text, which opens only with the same key and the same `owner`. */
export function sealText(text: string, key: Buffer, owner: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(owner);
  const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), encrypted]);
}

/** Decrypts a text; undefined if it was not sealed with this key for this owner. */
export function openText(sealed: Buffer, key: Buffer, owner: Buffer): string | undefined {
  if (sealed.length < HEAD_BYTES || sealed[0] !== VERSION) return undefined;
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(owner);
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
  try {
    const text = decipher.update(sealed.subarray(HEAD_BYTES));
    return Buffer.concat([text, decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

/** A sign-in whose browser is at the provider. It is stored only in a cookie of that browser. */
export interface PendingSignIn extends SignInSecrets {
  readonly returnPath: string | null;
  /** The session that is rechecked at the provider; null for a new sign-in. */
  readonly sessionId: Buffer | null;
  readonly expiresAtMs: number;
}

export function pendingKey(consoleSecret: Buffer): Buffer {
  return deriveKey(consoleSecret, "pending sign-in");
}

/** Seals a pending sign-in in base64url, so that any instance can finish it without a store. */
export function sealPending(pending: PendingSignIn, key: Buffer): string {
  const { sessionId, ...rest } = pending;
  const text = JSON.stringify({ ...rest, sessionId: sessionId?.toString("hex") ?? null });
  return sealText(text, key, Buffer.from(pending.state)).toString("base64url");
}

/** Undefined if the text is of another installation or another `state`, or has expired. */
export function openPending(
  sealed: string,
  of: { readonly state: string; readonly key: Buffer; readonly nowMs: number },
): PendingSignIn | undefined {
  const text = openText(Buffer.from(sealed, "base64url"), of.key, Buffer.from(of.state));
  if (text === undefined) return undefined;
  // Only a holder of the key can have sealed this text, so its form is not checked.
  const read = JSON.parse(text) as PendingSignIn & { readonly sessionId: string | null };
  if (read.expiresAtMs <= of.nowMs) return undefined;
  const { sessionId } = read;
  return { ...read, sessionId: sessionId === null ? null : Buffer.from(sessionId, "hex") };
}

const REVEAL_MS = 15 * 60_000;
const TRIAL_KEY_NAME = "Trial key";
const PURPOSE = "key shown once";

/** Makes a trial key before it is known whether one is due; only the session token opens it. */
export function createTrialKey(session: BrowserToken, nowMs: number): SignInToResolve["trialKey"] {
  const { raw, digest, label } = createVirtualKey();
  return {
    digest,
    label,
    name: TRIAL_KEY_NAME,
    ceiling: TRIAL_KEY_REQUESTS_PER_MINUTE,
    sealedKey: sealText(raw, deriveKey(session.token, PURPOSE), session.hash),
    expiresAtMs: nowMs + REVEAL_MS,
  };
}

export function openReveal(reveal: SealedReveal, session: BrowserToken): string | undefined {
  return openText(reveal.sealedKey, deriveKey(session.token, PURPOSE), session.hash);
}

/** Encrypts an unsaved trial key again for the browser's next session, so that it is not lost. */
export function moveReveal(
  reveal: SealedReveal,
  move: { readonly from: BrowserToken; readonly to: BrowserToken },
): SealedReveal | undefined {
  const raw = openReveal(reveal, move.from);
  if (raw === undefined) return undefined;
  const { to } = move;
  return { ...reveal, sealedKey: sealText(raw, deriveKey(to.token, PURPOSE), to.hash) };
}
