import type { ChangedBy } from "../../changes/index.ts";
import { type Clock, normaliseEmail } from "../../core/index.ts";
import { newBrowserToken } from "../browser-token.ts";
import type { LocalIssuerStore } from "../identity-store.ts";
import { LOCAL_ISSUER_PATH } from "./local-provider.ts";

const CLAIM_MINUTES = 15;

export interface ClaimLink {
  readonly url: string;
  readonly expiresAtMs: number;
}

/**
 * A link that makes the browser which opens it its owner's, once, within 15 minutes. A user who can
 * make one has a shell on the machine. With `email` it is good for that address only.
 */
export async function makeClaimLink(options: {
  readonly store: LocalIssuerStore;
  readonly clock: Clock;
  readonly consoleUrl: string;
  readonly email?: string;
  readonly by: ChangedBy;
}): Promise<ClaimLink> {
  const { store, clock, consoleUrl, email, by } = options;
  const { token, hash } = newBrowserToken();
  const expiresAtMs = clock.nowMs() + CLAIM_MINUTES * 60_000;
  const claimed = email === undefined ? null : normaliseEmail(email);
  await store.addClaim({ tokenHash: hash, email: claimed, expiresAtMs }, by);
  const address = consoleUrl.replace(/\/+$/, "") + LOCAL_ISSUER_PATH;
  return { url: `${address}/claim?t=${token}`, expiresAtMs };
}
