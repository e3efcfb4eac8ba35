import { deriveKey, openText, sealText } from "./sealed-text.ts";

/** One way to the identity provider and back; its browser alone has it, sealed, in a cookie. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  readonly returnPath: string | null;
  /** Set: no sign-in, but the question whether this session's one at the provider still lives. */
  readonly sessionId: Buffer | null;
  readonly expiresAtMs: number;
}

/** Out of what only the installation has: a cookie that another one sealed does not open. */
export function pendingKey(consoleSecret: Buffer): Buffer {
  return deriveKey(consoleSecret, "pending sign-in");
}

/** In base64url: what begins at one instance comes back to any, and no store keeps it meanwhile. */
export function sealPending(pending: PendingSignIn, key: Buffer): string {
  const { sessionId, ...rest } = pending;
  const text = JSON.stringify({ ...rest, sessionId: sessionId?.toString("hex") ?? null });
  return sealText(text, key, Buffer.from(pending.state)).toString("base64url");
}

/** Undefined: it was not sealed here, or for another state, or its time is over. */
export function openPending(
  sealed: string,
  of: { readonly state: string; readonly key: Buffer; readonly nowMs: number },
): PendingSignIn | undefined {
  const text = openText(Buffer.from(sealed, "base64url"), of.key, Buffer.from(of.state));
  if (text === undefined) return undefined;
  // Another text could be sealed with the key alone.
  const read = JSON.parse(text) as PendingSignIn & { readonly sessionId: string | null };
  if (read.expiresAtMs <= of.nowMs) return undefined;
  const { sessionId } = read;
  return { ...read, sessionId: sessionId === null ? null : Buffer.from(sessionId, "hex") };
}
