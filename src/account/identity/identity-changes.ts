import { hash } from "node:crypto";

import type { PoolClient, QueryResultRow } from "pg";

import {
  assert,
  byGateway,
  type Change,
  type ChangedBy,
  type ChangeLog,
  createKeyId,
  type Facts,
  formatUsd,
  maskedEmail,
  type MicroUsd,
  type OrgId,
  STORE_ANSWER_TIMEOUT_MS,
  WELCOME_REF_PREFIX,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import type { AskedFrom, OwnOrgStart } from "./identity-store.ts";
import { createdKey } from "../../gateway/index.ts";

export interface OwnerRow {
  readonly account_id: string;
  readonly org_id: OrgId;
}

/** The author that the change log names when the provider or an overdue recheck ends a session. */
export const SIGN_IN_CHECKS: ChangedBy = byGateway("sign-in");

export function accountBy({ account_id: id }: OwnerRow, from: AskedFrom | undefined): ChangedBy {
  const { requestId = null, clientNetwork = null } = from ?? {};
  return { kind: "account", id, requestId, clientNetwork };
}

export function changeAccount(
  action: Change["action"],
  { account_id: target, org_id: orgId }: OwnerRow,
  before: Facts | null,
  after: Facts | null,
): Change {
  return { action, orgId, target, before, after };
}

/** The target is the account, because the change log must not contain a session's cookie hash. */
export function toSessionEnd(owner: OwnerRow): Change {
  return changeAccount("session.end", owner, { session: "active" }, { session: "ended" });
}

export function toEmailChange(
  owner: OwnerRow,
  { before, after }: { readonly before: string; readonly after: string },
): Change {
  const [from, to] = [{ email: maskedEmail(before) }, { email: maskedEmail(after) }];
  return { ...changeAccount("account.email", owner, from, to), isMaskedChange: before !== after };
}

export type Run = <R extends QueryResultRow>(
  text: string,
  values?: unknown[],
) => Promise<readonly R[]>;

export function buildRunner(client: PoolClient, timeoutMs: number): Run {
  return async <R extends QueryResultRow>(text: string, values: unknown[] = []) => {
    const query = { text, values, query_timeout: timeoutMs };
    return (await client.query<R>(query)).rows;
  };
}

type Trial = Pick<OwnOrgStart, "sessionId" | "trialKey"> & {
  readonly emailNorm: string;
  readonly welcomeMicroUsd?: MicroUsd | undefined;
};

/** Creates the due trial key, to be shown once, and grants the starting credit if still due. */
export async function startTrial(run: Run, orgId: OrgId, trial: Trial): Promise<readonly Change[]> {
  return [await mintTrialKey(run, orgId, trial), ...(await grantWelcome(run, orgId, trial))];
}

async function mintTrialKey(
  run: Run,
  orgId: OrgId,
  { sessionId, trialKey }: Trial,
): Promise<Change> {
  const { digest, label, name, ceiling } = trialKey;
  const keyId = createKeyId();
  const made = await run(
    `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
    values ($1, $2, $3, $4, $5, 'trial', $6) returning key_id`,
    [keyId, orgId, digest, label, name, ceiling],
  );
  assert(made.length === 1, "a trial key that is due is made");
  await run(
    `insert into console_reveal (session_id, sealed_key, label, name, expires_at)
    values ($1, $2, $3, $4, $5)`,
    [sessionId, trialKey.sealedKey, label, name, new Date(trialKey.expiresAtMs)],
  );
  const key = { keyId, orgId, name, origin: "trial" } as const;
  return createdKey({ ...key, requestsPerMinuteCeiling: ceiling });
}

/**
 * Grants the starting credit once per verified address, from which its reference is derived. The
 * caller holds the sign-in lock of the address, so that two grants cannot run at once.
 */
async function grantWelcome(
  run: Run,
  orgId: OrgId,
  { emailNorm, welcomeMicroUsd = ZERO_MICRO_USD }: Trial,
): Promise<readonly Change[]> {
  if (welcomeMicroUsd === ZERO_MICRO_USD) return [];
  const ref = welcomeRef(emailNorm);
  const granted = await run("select from transfer_ref where ref = $1", [ref]);
  if (granted.length > 0) return [];
  await run("select created from grant_credit($1, $2, $3, true)", [orgId, welcomeMicroUsd, ref]);
  const after = { amount_usd: formatUsd(welcomeMicroUsd), ref, is_trial: true };
  return [{ action: "credit.grant", orgId, target: orgId, before: null, after }];
}

/**
 * Starts the deferred trial of the account's own organization once, and moves the session there.
 */
export async function startOwnOrg(
  changes: ChangeLog,
  { sessionId, accountId, trialKey, welcomeMicroUsd, from }: OwnOrgStart,
): Promise<OrgId | undefined> {
  return await changes.writeBy(async (client) => {
    const run = buildRunner(client, STORE_ANSWER_TIMEOUT_MS);
    const [row] = await run<{ org_id: OrgId; email_norm: string }>(START_OWN_SQL, [accountId]);
    if (row === undefined) return { outcome: undefined, by: byGateway("sign-in"), changes: [] };
    const { org_id: orgId, email_norm: emailNorm } = row;
    // Sign-ins with this address take the same lock, so that starting credit is granted once.
    const lockName = `tokenmarket sign-in ${emailNorm}`;
    await run("select pg_advisory_xact_lock(hashtextextended($1, 0))", [lockName]);
    await run("update console_session set org_id = $2 where session_id = $1", [sessionId, orgId]);
    const trial = { sessionId, trialKey, emailNorm, welcomeMicroUsd };
    const made = await startTrial(run, orgId, trial);
    const by = accountBy({ account_id: accountId, org_id: orgId }, from);
    return { outcome: orgId, by, changes: made };
  }, STORE_ANSWER_TIMEOUT_MS);
}

const START_OWN_SQL = `
  update console_account set trial_deferred_at = null
  where account_id = $1 and trial_deferred_at is not null
  returning org_id, email_norm`;

/** True if the address has an open invitation; a new account then gets no trial key yet. */
export async function isInvited(run: Run, emailNorm: string, nowMs: number): Promise<boolean> {
  const open = await run(
    `select from org_invitation
    where email_norm = $1 and ended_at is null and expires_at > $2 limit 1`,
    [emailNorm, new Date(nowMs)],
  );
  return open.length > 0;
}

/** Builds the reference from a digest of the e-mail address, because exports contain references. */
function welcomeRef(emailNorm: string): string {
  const digest = hash("sha256", `welcome credit ${emailNorm}`);
  return `${WELCOME_REF_PREFIX}${digest.slice(0, WELCOME_REF_CHARS)}`;
}
const WELCOME_REF_CHARS = 32;
