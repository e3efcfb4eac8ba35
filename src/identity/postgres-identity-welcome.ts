import { createHash } from "node:crypto";

import type { QueryResultRow } from "pg";

import { createdKey } from "../accounts/index.ts";
import type { Change } from "../changes/index.ts";
import { assert, newKeyId, type OrgId, WELCOME_REF_PREFIX, ZERO_MICRO_USD } from "../core/index.ts";
import { welcomeCredit } from "./identity-changes.ts";
import type { SignInToResolve } from "./identity-store.ts";

/** Runs a statement of the transaction that signs a person in. */
export type Run = <R extends QueryResultRow>(
  text: string,
  values?: unknown[],
) => Promise<readonly R[]>;

/** The trial key, and its reveal in the new session. */
export async function mintTrialKey(
  run: Run,
  orgId: OrgId,
  signIn: SignInToResolve,
): Promise<Change> {
  const { trialKey, session } = signIn;
  const { digest, label, name, ceiling } = trialKey;
  const keyId = newKeyId();
  const made = await run(
    `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
    values ($1, $2, $3, $4, $5, 'trial', $6) returning key_id`,
    [keyId, orgId, digest, label, name, ceiling],
  );
  assert(made.length === 1, "a trial key that is due is made");
  await run(
    `insert into console_reveal (session_id, sealed_key, label, name, expires_at)
    values ($1, $2, $3, $4, $5)`,
    [session.sessionId, trialKey.sealedKey, label, name, new Date(trialKey.expiresAtMs)],
  );
  const key = { keyId, orgId, name, origin: "trial", capMicroUsd: null };
  return createdKey({ ...key, requestsPerMinuteCeiling: ceiling });
}

/**
 * Once for each verified address, whichever account and organization has it: the reference of the
 * grant is made of it. Sign-ins with one address wait for each other, so that what is found stays
 * true.
 */
export async function grantWelcome(
  run: Run,
  orgId: OrgId,
  { claim, welcomeMicroUsd = ZERO_MICRO_USD }: SignInToResolve,
): Promise<readonly Change[]> {
  if (welcomeMicroUsd === ZERO_MICRO_USD) return [];
  const ref = welcomeRef(claim.emailNorm);
  const granted = await run("select from transfer_ref where ref = $1", [ref]);
  if (granted.length > 0) return [];
  await run("select created from grant_credit($1, $2, $3, true)", [orgId, welcomeMicroUsd, ref]);
  return [welcomeCredit(orgId, welcomeMicroUsd, ref)];
}

/** Not the address itself: references are in exports and files. */
function welcomeRef(emailNorm: string): string {
  const digest = createHash("sha256").update(`welcome credit ${emailNorm}`).digest("hex");
  return `${WELCOME_REF_PREFIX}${digest.slice(0, WELCOME_REF_CHARS)}`;
}
const WELCOME_REF_CHARS = 32;
