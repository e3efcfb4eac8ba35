import { type ChangedBy, type Clock, normaliseEmail } from "../../kernel/index.ts";
import { newBrowserToken } from "./browser-token.ts";
import type { ClaimLinkStore } from "./postgres-claim-links.ts";

const CLAIM_MINUTES = 15;

export interface ClaimLink {
  readonly url: string;
  readonly expiresAtMs: number;
}

/**
 * A link that signs in the browser which opens it, once, within 15 minutes. A user who can make one
 * has a shell on the machine. With `email` it is good for that address only.
 */
export async function makeClaimLink(options: {
  readonly store: ClaimLinkStore;
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
  return { url: `${consoleUrl.replace(/\/+$/, "")}/auth/link?t=${token}`, expiresAtMs };
}
