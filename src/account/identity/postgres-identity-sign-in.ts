import { DatabaseError, type Pool, type PoolClient } from "pg";

import { CREATE_ORG_SQL, createdOrg } from "../../gateway/index.ts";
import {
  type Change,
  type ChangeLog,
  createOrgId,
  createRecordId,
  maskedEmail,
  type OrgId,
  recordChanges,
  type RecordedChange,
} from "../../kernel/index.ts";
import { findNewAlerts, moveMemberDestinations } from "../alerts/postgres-alert-store.ts";
import {
  accountBy,
  buildRunner,
  changeAccount,
  isInvited,
  type OwnerRow,
  type Run,
  startTrial,
  toEmailChange,
  toSessionEnd,
} from "./identity-changes.ts";
import {
  type AccountRow,
  type AskedFrom,
  END_SESSION_SQL,
  type ResolvedSignIn,
  SELECT_ACCOUNT_SQL,
  type SignInClaim,
  type SignInToResolve,
} from "./identity-store.ts";
import { chooseOrgName } from "./plain-text.ts";
import { takeClaim } from "./postgres-claim-links.ts";

const TRIES_MAX = 6;
/** Limits one statement, including the wait for other sign-ins with the same address. */
const STEP_TIMEOUT_MS = 5_000;
/** SQLSTATEs that mean a retry: serialization failure, deadlock, unique violation. */
const RETRIED_CODES = new Set(["40001", "40P01", "23505"]);

type SignIn = SignInToResolve & { readonly linkHash: Buffer | undefined };

/**
 * Commits account, organization, trial key and session together. Sign-ins with one address wait for
 * each other before their transactions begin, so that each sees the result of the previous one.
 * Other conflicts are retried, up to six tries in all.
 */
export async function resolveSignIn(
  { pool, changes }: { readonly pool: Pool; readonly changes: ChangeLog },
  signIn: SignIn,
): Promise<ResolvedSignIn | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      const { resolved, recorded } = await tryToResolve(pool, signIn);
      changes.announce(recorded);
      return resolved;
    } catch (fault) {
      const isRace = fault instanceof DatabaseError && RETRIED_CODES.has(fault.code ?? "");
      if (!isRace || tries === TRIES_MAX) throw fault;
    }
  }
}

interface SignedIn {
  readonly resolved: ResolvedSignIn | undefined;
  readonly recorded: readonly RecordedChange[];
}

async function tryToResolve(pool: Pool, signIn: SignIn): Promise<SignedIn> {
  const client = await pool.connect();
  let isDone = false;
  try {
    const run = buildRunner(client, STEP_TIMEOUT_MS);
    const lockName = `tokenmarket sign-in ${signIn.claim.emailNorm}`;
    await run("select pg_advisory_lock(hashtextextended($1, 0))", [lockName]);
    await run("begin isolation level serializable");
    const outcome = (await takeClaim(run, signIn))
      ? await recordSignIn(client, await resolve(run, signIn), signIn.from)
      : { resolved: undefined, recorded: [] };
    await run("commit");
    await run("select pg_advisory_unlock(hashtextextended($1, 0))", [lockName]);
    isDone = true;
    return outcome;
  } finally {
    // After a fault the connection is closed, which ends its lock and its transaction.
    client.release(!isDone);
  }
}

async function recordSignIn(
  client: PoolClient,
  { changes, ended, ...resolved }: Resolution,
  from: AskedFrom | undefined,
): Promise<SignedIn> {
  const owner = { account_id: resolved.accountId, org_id: resolved.orgId };
  // The end of the browser's former session is recorded in the organization of the former account,
  // so that neither organization learns of the other.
  const end =
    ended === undefined
      ? []
      : await recordChanges(client, accountBy(ended, from), [toSessionEnd(ended)]);
  return {
    resolved,
    recorded: [...end, ...(await recordChanges(client, accountBy(owner, from), changes))],
  };
}

interface Resolution extends ResolvedSignIn {
  readonly changes: readonly Change[];
  readonly ended: OwnerRow | undefined;
}

async function resolve(run: Run, signIn: SignInToResolve): Promise<Resolution> {
  const found = await findAccount(run, signIn);
  const { accountId, orgId, isVerified } = found;
  const { emailNorm } = signIn.claim;
  const isJoining = found.isTrialDue && (await isInvited(run, emailNorm, signIn.nowMs));
  const isTrialDue = found.isTrialDue && !isJoining;
  if (isJoining) await run(DEFER_TRIAL_SQL, [accountId, new Date(signIn.nowMs)]);
  const owner = { account_id: accountId, org_id: orgId };
  await startSession(run, accountId, signIn);
  const { ended, hasMoved } = await endFormer(run, accountId, signIn);
  const active = { session: "active", issuer: signIn.claim.issuer };
  const started = changeAccount("session.start", owner, null, active);
  const alerts = isVerified ? await findNewAlerts(run, orgId) : [];
  const { sessionId } = signIn.session;
  const trial = isTrialDue ? await startTrial(run, orgId, { ...signIn, sessionId, emailNorm }) : [];
  return {
    changes: [...found.changes, started, ...alerts, ...trial],
    ended,
    accountId,
    orgId,
    isVerified,
    kind: found.kind,
    isEmailTaken: found.isEmailTaken ?? false,
    hasReveal: isTrialDue || hasMoved,
    isInvited: isJoining,
  };
}

const DEFER_TRIAL_SQL = "update console_account set trial_deferred_at = $2 where account_id = $1";

interface FoundAccount extends Pick<ResolvedSignIn, "accountId" | "orgId" | "isVerified" | "kind"> {
  readonly isTrialDue: boolean;
  readonly isEmailTaken?: boolean;
  readonly changes: readonly Change[];
}

async function findAccount(run: Run, signIn: SignInToResolve): Promise<FoundAccount> {
  const { claim } = signIn;
  const known = await run<AccountRow>(
    `${SELECT_ACCOUNT_SQL} join console_identity i using (account_id)
    where i.issuer = $1 and i.subject = $2`,
    [claim.issuer, claim.subject],
  );
  const account = known[0];
  if (account === undefined) return await findForStranger(run, signIn);
  if (claim.name !== null) {
    const named = [account.account_id, claim.name];
    await run("update console_account set name = $2 where account_id = $1", named);
  }
  if (!account.is_verified && claim.isVerified) return await verify(run, account, signIn);
  const followed = await followEmail(run, account, claim);
  return { ...plain(account), isTrialDue: false, kind: "known", ...followed };
}

// A verified account keeps its address if the new one is unverified or another account verified it.
async function followEmail(
  run: Run,
  account: AccountRow,
  claim: SignInClaim,
): Promise<Pick<FoundAccount, "isEmailTaken" | "changes">> {
  const isKept = { isEmailTaken: false, changes: [] };
  if (account.email_norm === claim.emailNorm) return isKept;
  if (account.is_verified && !claim.isVerified) return isKept;
  const isEmailTaken = account.is_verified && (await findVerified(run, claim)) !== undefined;
  return { isEmailTaken, changes: isEmailTaken ? [] : await setEmail(run, account, claim) };
}

/**
 * Handles a known, unverified account for which the provider now reports a verified address. Its
 * other sessions end: whoever began them need not be the person who verified the address.
 */
async function verify(
  run: Run,
  account: AccountRow,
  signIn: SignInToResolve,
): Promise<FoundAccount> {
  const { claim, nowMs, previous } = signIn;
  const others = [account.account_id, new Date(nowMs), previous?.sessionId ?? null];
  const ended = await run(END_OTHERS_SQL, others);
  const older = await findVerified(run, claim);
  if (older !== undefined) {
    await moveIdentity(run, account, older);
    return linked(older, claim);
  }
  // The address changes first: a trigger turns on alerts to it once the account is verified.
  const moved = await setEmail(run, account, claim);
  const verified = [account.account_id, new Date(nowMs)];
  await run("update console_account set email_verified_at = $2 where account_id = $1", verified);
  const changes = [
    ...ended.map(() => toSessionEnd(account)),
    changeAccount("account.verify", account, { is_verified: false }, { is_verified: true }),
    ...moved,
  ];
  const vouched = await findVouchedOrg(run, claim);
  if (vouched === undefined) {
    await run("update org set email_verified = true where org_id = $1", [account.org_id]);
    return { ...plain(account), isVerified: true, isTrialDue: true, kind: "verified", changes };
  }
  const { accountId } = plain(account);
  await run("update console_account set org_id = $2 where account_id = $1", [accountId, vouched]);
  await dropEmptyOrg(run, account.org_id);
  const adopted = changes.map((change) => ({ ...change, orgId: vouched }));
  const kind = "adopted";
  return { accountId, orgId: vouched, isVerified: true, isTrialDue: false, kind, changes: adopted };
}

const END_OTHERS_SQL = `
  update console_session set ended_at = $2, ended_reason = 'signed-out'
  where account_id = $1 and ended_at is null and expires_at > $2
    and session_id is distinct from $3
  returning account_id`;

function linked(older: AccountRow, { issuer }: SignInClaim): FoundAccount {
  const changes = [changeAccount("account.link", older, null, { issuer })];
  return { ...plain(older), isTrialDue: false, kind: "linked", changes };
}

/** Links the identity to the account with the same verified address, or creates an account. */
async function findForStranger(run: Run, signIn: SignInToResolve): Promise<FoundAccount> {
  const { claim, nowMs } = signIn;
  const older = claim.isVerified ? await findVerified(run, claim) : undefined;
  if (older !== undefined) {
    await linkIdentity(run, older.account_id, signIn);
    return linked(older, claim);
  }
  const vouched = claim.isVerified ? await findVouchedOrg(run, claim) : undefined;
  const orgId = vouched ?? createOrgId();
  const made = vouched === undefined ? [await makeOrg(run, orgId, claim)] : [];
  const accountId = createRecordId("acct");
  const { email, emailNorm, isVerified, name } = claim;
  const now = new Date(nowMs);
  await run(
    `insert into console_account
      (account_id, org_id, email, email_norm, email_verified_at, name, created_at)
    values ($1, $2, $3, $4, $5, $6, $7)`,
    [accountId, orgId, email, emailNorm, isVerified ? now : null, name, now],
  );
  await linkIdentity(run, accountId, signIn);
  const isAdopted = vouched !== undefined;
  const kind = isAdopted ? "adopted" : "created";
  const after = { email: maskedEmail(email), is_verified: isVerified, issuer: claim.issuer };
  const owner = { account_id: accountId, org_id: orgId };
  const changes = [...made, changeAccount("account.create", owner, null, after)];
  return { accountId, orgId, isVerified, isTrialDue: isVerified && !isAdopted, kind, changes };
}

function plain(row: AccountRow): Pick<FoundAccount, "accountId" | "orgId" | "isVerified"> {
  return { accountId: row.account_id, orgId: row.org_id, isVerified: row.is_verified };
}

async function findVerified(run: Run, claim: SignInClaim): Promise<AccountRow | undefined> {
  const rows = await run<AccountRow>(
    `${SELECT_ACCOUNT_SQL} where a.email_norm = $1 and a.email_verified_at is not null`,
    [claim.emailNorm],
  );
  return rows[0];
}

/** Finds the oldest organization that an operator made for this address and nobody has joined. */
async function findVouchedOrg(run: Run, claim: SignInClaim): Promise<OrgId | undefined> {
  const rows = await run<{ org_id: string }>(
    `select o.org_id from org o
    where lower(btrim(o.email)) = $1 and o.email_verified
      and not exists (select from console_account a where a.org_id = o.org_id)
      and not exists (select from org_member m where m.org_id = o.org_id)
    order by o.created_at, o.org_id limit 1`,
    [claim.emailNorm],
  );
  return rows[0]?.org_id as OrgId | undefined;
}

async function makeOrg(run: Run, orgId: OrgId, claim: SignInClaim): Promise<Change> {
  const name = chooseOrgName(claim.name, claim.email);
  await run(CREATE_ORG_SQL, [orgId, name, claim.email, claim.isVerified]);
  return createdOrg(orgId, name, claim.email);
}

async function linkIdentity(run: Run, accountId: string, signIn: SignInToResolve): Promise<void> {
  const { issuer, subject } = signIn.claim;
  await run(
    `insert into console_identity (issuer, subject, account_id, linked_at)
    values ($1, $2, $3, $4)`,
    [issuer, subject, accountId, new Date(signIn.nowMs)],
  );
}

async function setEmail(
  run: Run,
  account: AccountRow,
  claim: SignInClaim,
): Promise<readonly Change[]> {
  const { account_id: accountId, email: from } = account;
  const values = [accountId, claim.email, claim.emailNorm];
  await run("update console_account set email = $2, email_norm = $3 where account_id = $1", values);
  await run("update org set email = $2 where org_id = $1", [account.org_id, claim.email]);
  const moved = await moveMemberDestinations(run, { accountId, from, to: claim.email });
  return [toEmailChange(account, { before: from, after: claim.email }), ...moved];
}

/** Moves the identities and the ended sessions of the unverified account `from` to `to`; deletes `from`. */
async function moveIdentity(run: Run, from: AccountRow, to: AccountRow): Promise<void> {
  const both = [from.account_id, to.account_id];
  await run("update console_identity set account_id = $2 where account_id = $1", both);
  await run("update console_session set account_id = $2 where account_id = $1", both);
  await run("delete from console_account where account_id = $1", [from.account_id]);
  await dropEmptyOrg(run, from.org_id);
}

/**
 * Deletes an organization that never had money, a key or a change of caps, unless another table
 * refers to it. Locks the organization's row before its wallet, as transactions that lock both do.
 */
async function dropEmptyOrg(run: Run, orgId: string): Promise<void> {
  await run("savepoint before_drop");
  try {
    const dropped = await run(
      `delete from account w using (select org_id from org where org_id = $1 for update) o
      where w.org_id = o.org_id and w.debits = 0 and w.credits = 0 and w.reserved = 0
        and not exists (select from cap_change c where c.org_id = w.org_id)
        and not exists (select from api_key k where k.org_id = w.org_id)
      returning w.account_id`,
      [orgId],
    );
    if (dropped.length > 0) await run("delete from org where org_id = $1", [orgId]);
  } catch (fault) {
    const isReferred = fault instanceof DatabaseError && fault.code === FOREIGN_KEY_VIOLATION;
    if (!isReferred) throw fault;
    await run("rollback to savepoint before_drop");
  }
}

const FOREIGN_KEY_VIOLATION = "23503";

async function startSession(run: Run, accountId: string, signIn: SignInToResolve): Promise<void> {
  const { claim, session, nowMs } = signIn;
  await run(
    // The session begins in the organization that the account used last.
    `insert into console_session (session_id, account_id, issuer, subject, idp_sid, started_at,
      expires_at, last_seen_at, idp_checked_at, idp_tried_at, user_agent, org_id)
    values ($1, $2, $3, $4, $5, $6, $7, $6, $6, $6, $8,
      (select org_id from console_session where account_id = $2
        order by last_seen_at desc, started_at desc limit 1))`,
    [
      session.sessionId,
      accountId,
      claim.issuer,
      claim.subject,
      session.idpSid,
      new Date(nowMs),
      new Date(session.expiresAtMs),
      session.userAgent,
    ],
  );
}

async function endFormer(
  run: Run,
  accountId: string,
  signIn: SignInToResolve,
): Promise<{ readonly ended: OwnerRow | undefined; readonly hasMoved: boolean }> {
  const { previous, session, nowMs } = signIn;
  if (previous === undefined) return { ended: undefined, hasMoved: false };
  const { reveal, sessionId } = previous;
  const [ended] = await run<OwnerRow>(END_SESSION_SQL, [sessionId, "signed-out", new Date(nowMs)]);
  if (reveal === undefined) return { ended, hasMoved: false };
  const moved = await run(
    `update console_reveal r set session_id = $2, sealed_key = $3
    from console_session s
    where r.session_id = $1 and s.session_id = $1 and s.account_id = $4 returning r.session_id`,
    [sessionId, session.sessionId, reveal.sealedKey, accountId],
  );
  return { ended, hasMoved: moved.length > 0 };
}
