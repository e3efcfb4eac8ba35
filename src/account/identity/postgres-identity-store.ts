import type { Pool, QueryConfig, QueryResult, QueryResultRow } from "pg";

import {
  assert,
  type Change,
  type ChangeLog,
  type OrgId,
  type Public,
  queryInTime,
  type Row,
  STORE_ANSWER_TIMEOUT_MS,
} from "../../kernel/index.ts";
import {
  accountBy,
  changeAccount,
  type OwnerRow,
  SIGN_IN_CHECKS,
  startOwnOrg,
  toSessionEnd,
} from "./identity-changes.ts";
import {
  type AskedFrom,
  END_SESSION_SQL,
  type EndReason,
  FIND_SESSION_SQL,
  type JoinedOrg,
  joinedOrgColumns,
  type LiveSession,
  liveSessionColumns,
  type LogoutOrder,
  type OwnOrgStart,
  type ResolvedSignIn,
  revealColumns,
  type SealedReveal,
  sessionColumns,
  type SignInToResolve,
  type StoredSession,
} from "./identity-store.ts";
import { type ClaimLinkStore, PostgresClaimLinkStore } from "./postgres-claim-links.ts";
import { resolveSignIn } from "./postgres-identity-sign-in.ts";

const SWEPT_ROWS_MAX = 5_000;
const SESSIONS_LISTED_MAX = 100;
const ORGS_LISTED_MAX = 200;

export class PostgresIdentityStore {
  readonly links: ClaimLinkStore;
  readonly #pool: Pool;
  readonly #sessions: Pool;
  readonly #changes: ChangeLog;

  /** Sign-ins hold an advisory lock beyond a transaction; only the `sessions` pool allows that. */
  constructor(pools: { readonly pool: Pool; readonly sessions: Pool }, changes: ChangeLog) {
    const { pool, sessions } = pools;
    this.#pool = pool;
    this.#sessions = sessions;
    this.#changes = changes;
    this.links = new PostgresClaimLinkStore(pool, changes);
  }

  /** Returns 32 random bytes that the instances of this installation share and nobody else has. */
  async consoleSecret(): Promise<Buffer> {
    const { rows } = await this.#run<{ secret: Buffer }>("select secret from console_secret", []);
    const [row] = rows;
    assert(row !== undefined, "a step of the schema makes the secret");
    return row.secret;
  }

  /**
   * Runs in one transaction: concurrent sign-ins with one address create only one trial key. Also
   * consumes the link, if any; undefined if the link is used, expired or for another address.
   */
  resolveSignIn(signIn: SignInToResolve, linkHash?: Buffer): Promise<ResolvedSignIn | undefined> {
    const parts = { pool: this.#sessions, changes: this.#changes };
    return resolveSignIn(parts, { ...signIn, linkHash });
  }

  async findSession(sessionId: Buffer): Promise<StoredSession | undefined> {
    const { rows } = await this.#run<Row>(FIND_SESSION_SQL, [sessionId]);
    return rows[0] === undefined ? undefined : sessionColumns.read(rows[0]);
  }

  /**
   * Records a use of the session, and the first use since a recheck became due. One is due if the
   * provider's last answer came at `dueIfCheckedByMs` or earlier; null: never.
   */
  async touchSession(
    sessionId: Buffer,
    use: { readonly nowMs: number; readonly dueIfCheckedByMs: number | null },
  ): Promise<void> {
    const { nowMs, dueIfCheckedByMs: dueMs } = use;
    await this.#run(
      `update console_session set last_seen_at = greatest(last_seen_at, $2),
        recheck_asked_at = coalesce(recheck_asked_at,
          case when idp_checked_at <= $3::timestamptz then $2::timestamptz end)
      where session_id = $1 and ended_at is null`,
      [sessionId, new Date(nowMs), dueMs === null ? null : new Date(dueMs)],
    );
  }

  async endSession(end: {
    readonly sessionId: Buffer;
    readonly reason: EndReason;
    readonly nowMs: number;
    readonly from?: AskedFrom;
  }): Promise<boolean> {
    const { sessionId, reason, nowMs, from } = end;
    return await this.#changes.writeBy(async (client) => {
      const values = [sessionId, reason, new Date(nowMs)];
      const { rows } = await queryInTime<OwnerRow>(client, { text: END_SESSION_SQL, values });
      const [row] = rows;
      const by =
        row !== undefined && reason === "signed-out" ? accountBy(row, from) : SIGN_IN_CHECKS;
      return { outcome: row !== undefined, by, changes: rows.map(toSessionEnd) };
    }, STORE_ANSWER_TIMEOUT_MS);
  }

  async noteChecked(
    sessionId: Buffer,
    checked: { readonly nowMs: number; readonly idpSid?: string },
  ): Promise<void> {
    await this.#run(
      `update console_session set idp_checked_at = $2, idp_tried_at = $2, recheck_asked_at = null,
        idp_sid = coalesce($3, idp_sid)
      where session_id = $1 and ended_at is null`,
      [sessionId, new Date(checked.nowMs), checked.idpSid ?? null],
    );
  }

  /** Records that the browser is sent to the identity provider, which may never answer. */
  async noteTried(sessionId: Buffer, nowMs: number): Promise<void> {
    await this.#run(
      "update console_session set idp_tried_at = $2 where session_id = $1 and ended_at is null",
      [sessionId, new Date(nowMs)],
    );
  }

  /**
   * Ends the sessions that match the token's `sid` and its subject, if it has both, or the one that
   * it has. False, with nothing changed, if a token with this id was handled before.
   */
  async endByLogoutToken(logout: LogoutOrder): Promise<boolean> {
    const { issuer, tokenId, subject = null, sid = null } = logout;
    const token = [issuer, tokenId, new Date(logout.rememberUntilMs), subject, sid];
    const query = { text: END_BY_LOGOUT_TOKEN_SQL, values: [...token, new Date(logout.nowMs)] };
    return await this.#changes.writeBy(async (client) => {
      const { rows } = await queryInTime<OwnerRow & { readonly is_new: boolean }>(client, query);
      const ended = rows.filter(({ account_id }) => account_id !== null);
      const outcome = rows[0]?.is_new === true;
      return { outcome, by: SIGN_IN_CHECKS, changes: ended.map(toSessionEnd) };
    }, STORE_ANSWER_TIMEOUT_MS);
  }

  /** `isHere` is false while the session shows another organization than the key's. */
  async findReveal(sessionId: Buffer, nowMs: number) {
    const { rows } = await this.#run<Row>(FIND_REVEAL_SQL, [sessionId, new Date(nowMs)]);
    const [row] = rows;
    return row && { ...revealColumns.read(row), isHere: row["is_here"] === true };
  }

  /** Returns the key to show in a session, and records the first time it is shown. */
  async showReveal(
    sessionId: Buffer,
    nowMs: number,
    from?: AskedFrom,
  ): Promise<SealedReveal | undefined> {
    const shown = { text: SHOW_REVEAL_SQL, values: [sessionId, new Date(nowMs)] };
    const [before, after] = [{ shown: false }, { shown: true }];
    const row = await this.#changeReveal(shown, { action: "key.reveal", before, after }, from);
    return row === undefined ? undefined : revealColumns.read(row);
  }

  async endReveal(sessionId: Buffer, nowMs: number, from?: AskedFrom): Promise<boolean> {
    const saved = { text: END_REVEAL_SQL, values: [sessionId, new Date(nowMs)] };
    const [before, after] = [{ saved: false }, { saved: true }];
    const row = await this.#changeReveal(saved, { action: "key.saved", before, after }, from);
    return row !== undefined;
  }

  async #changeReveal(
    query: QueryConfig,
    { action, before, after }: Pick<Change, "action" | "before" | "after">,
    from: AskedFrom | undefined,
  ): Promise<RevealRow | undefined> {
    return await this.#changes.writeBy(async (client) => {
      const [row] = (await queryInTime<RevealRow>(client, query)).rows;
      if (row === undefined) return { outcome: undefined, by: SIGN_IN_CHECKS, changes: [] };
      const changes = row.is_first ? [changeAccount(action, row, before, after)] : [];
      return { outcome: row, by: accountBy(row, from), changes };
    }, STORE_ANSWER_TIMEOUT_MS);
  }

  async listIdentities(
    accountId: string,
  ): Promise<readonly { readonly issuer: string; readonly linkedAtMs: number }[]> {
    const { rows } = await this.#run<{ issuer: string; linked_at: Date }>(
      `select issuer, linked_at from console_identity where account_id = $1
      order by linked_at, issuer, subject limit 100`,
      [accountId],
    );
    return rows.map((row) => ({ issuer: row.issuer, linkedAtMs: row.linked_at.getTime() }));
  }

  async countOtherSessions(accountId: string, sessionId: Buffer, nowMs: number): Promise<number> {
    const { rows } = await this.#run<{ others: number }>(
      `select count(*)::integer as others from console_session
      where account_id = $1 and session_id <> $2 and ended_at is null and expires_at > $3`,
      [accountId, sessionId, new Date(nowMs)],
    );
    return rows[0]?.others ?? 0;
  }

  async listSessions(accountId: string, nowMs: number): Promise<readonly LiveSession[]> {
    const values = [accountId, new Date(nowMs), SESSIONS_LISTED_MAX];
    const { rows } = await this.#run<Row>(LIST_SESSIONS_SQL, values);
    return rows.map(liveSessionColumns.read);
  }

  async switchOrg(sessionId: Buffer, orgId: string): Promise<boolean> {
    const { rowCount } = await this.#run(SWITCH_ORG_SQL, [sessionId, orgId]);
    return rowCount === 1;
  }

  async listOrgs(accountId: string): Promise<readonly JoinedOrg[]> {
    const { rows } = await this.#run<Row>(LIST_ORGS_SQL, [accountId, ORGS_LISTED_MAX]);
    return rows.map(joinedOrgColumns.read);
  }

  startOwnOrg(start: OwnOrgStart): Promise<OrgId | undefined> {
    return startOwnOrg(this.#changes, start);
  }

  async sweep(nowMs: number): Promise<number> {
    let swept = 0;
    for (const [table, daysKept] of Object.entries(DAYS_KEPT)) {
      const before = new Date(nowMs - daysKept * 24 * 3_600_000);
      const text = `delete from ${table} where ctid = any(array(
        select ctid from ${table} where expires_at <= $1 limit ${SWEPT_ROWS_MAX}))`;
      const { rowCount } = await this.#pool.query(text, [before]);
      swept += rowCount ?? 0;
    }
    return swept;
  }

  async #run<R extends QueryResultRow>(text: string, values: unknown[]): Promise<QueryResult<R>> {
    return await queryInTime<R>(this.#pool, { text, values });
  }
}

export type IdentityStore = Public<PostgresIdentityStore>;

/**
 * How many days the rows of a table stay after they have expired. Sessions stay 30 days, because an
 * ended session tells a browser why it is signed out.
 */
const DAYS_KEPT = {
  console_reveal: 0,
  seen_logout_token: 0,
  local_claim: 0,
  console_session: 30,
  org_invitation: 30,
};

// The same statement inserts the token's id, so only one of two copies of a token has an effect.
const END_BY_LOGOUT_TOKEN_SQL = `
  with seen as (
    insert into seen_logout_token (issuer, token_id, expires_at) values ($1, $2, $3)
    on conflict do nothing returning issuer
  ), ended as (
    update console_session set ended_at = $6, ended_reason = 'idp-ended'
    where issuer = $1 and ended_at is null and exists (select from seen)
      and ($4::text is null or subject = $4) and ($5::text is null or idp_sid = $5)
      and ($4::text is not null or $5::text is not null)
    returning account_id
  )
  select exists (select from seen) as is_new, a.account_id, a.org_id
  from (select) as one left join (
    select e.account_id, c.org_id from ended e join console_account c using (account_id)
  ) a on true`;

interface RevealRow extends OwnerRow {
  /** False if the key was shown before; then the change log records nothing. */
  readonly is_first: boolean;
}

const LIST_SESSIONS_SQL = `
  select ${liveSessionColumns.sql} from console_session
  where account_id = $1 and ended_at is null and expires_at > $2
  order by last_seen_at desc, session_id limit $3`;

const SWITCH_ORG_SQL = `
  update console_session s set org_id = m.org_id
  from org_member m
  where s.session_id = $1 and s.ended_at is null and m.account_id = s.account_id and m.org_id = $2`;

const LIST_ORGS_SQL = `
  select ${joinedOrgColumns.sqlOf("m")}
  from org_member m join org o using (org_id) join console_account a using (account_id)
  where m.account_id = $1
  order by m.joined_at, m.org_id limit $2`;

const FIND_REVEAL_SQL = `
  select ${revealColumns.sqlOf("r")}, coalesce(s.org_id, a.org_id) = a.org_id as is_here
  from console_reveal r join console_session s using (session_id)
    join console_account a using (account_id)
  where session_id = $1 and r.expires_at > $2`;

const SHOW_REVEAL_SQL = `
  with shown as (
    select session_id, shown_at is null as is_first from console_reveal
    where session_id = $1 and expires_at > $2 for update
  )
  update console_reveal r set shown_at = coalesce(r.shown_at, $2)
  from shown, console_session s join console_account a using (account_id)
  where r.session_id = shown.session_id and s.session_id = r.session_id
    and coalesce(s.org_id, a.org_id) = a.org_id
  returning ${revealColumns.sqlOf("r")}, a.account_id, a.org_id, shown.is_first`;

const END_REVEAL_SQL = `
  delete from console_reveal r using console_session s join console_account a using (account_id)
  where r.session_id = $1 and r.expires_at > $2 and s.session_id = r.session_id
    and coalesce(s.org_id, a.org_id) = a.org_id
  returning a.account_id, a.org_id, true as is_first`;
