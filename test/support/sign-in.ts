import { randomBytes } from "node:crypto";

import type {
  ResolvedSignIn,
  SignInClaim,
  SignInToResolve,
} from "../../src/account/identity/identity-store.ts";
import type { IdentityStore } from "../../src/account/identity/postgres-identity-store.ts";
import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";

export const SIGN_IN_MS = 1_800_000_000_000;
const DAY_MS = 24 * 3_600_000;

let made = 0;

/** Returns an identity provider's statement on a user; by default a user of no other test. */
export function makeClaim(change: Partial<SignInClaim> = {}): SignInClaim {
  made += 1;
  const email = change.email ?? `p${made}@example.com`;
  return {
    issuer: "https://id.example.com",
    subject: `subject-${made}`,
    email,
    emailNorm: email.toLowerCase(),
    isVerified: true,
    name: null,
    ...change,
  };
}

/** Returns a sign-in with a new session of seven days, and a trial key shown for 15 minutes. */
export function makeSignIn(
  claim: SignInClaim,
  change: Partial<SignInToResolve> = {},
): SignInToResolve {
  const { digest, label } = createVirtualKey();
  const session = { sessionId: randomBytes(32), idpSid: null, userAgent: null };
  const trialKey = { digest, label, name: "Trial key", ceiling: 20, sealedKey: randomBytes(64) };
  return {
    claim,
    nowMs: SIGN_IN_MS,
    session: { ...session, expiresAtMs: SIGN_IN_MS + 7 * DAY_MS },
    trialKey: { ...trialKey, expiresAtMs: SIGN_IN_MS + 900_000 },
    ...change,
  };
}

/** Signs in without a link: only a link can be refused. */
export async function completeSignIn(
  store: IdentityStore,
  signIn: SignInToResolve,
): Promise<ResolvedSignIn> {
  const resolved = await store.resolveSignIn(signIn);
  if (resolved === undefined) throw new Error("a sign-in without a link was refused");
  return resolved;
}
