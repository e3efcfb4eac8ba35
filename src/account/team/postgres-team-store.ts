import type { Pool, PoolClient } from "pg";

import type { MadeByMember } from "../console-api/contract/members.ts";
import { findNewAlerts, removeMemberDestinations } from "../alerts/postgres-alert-store.ts";
import { chooseOrgName } from "../identity/plain-text.ts";
import { CREATE_ORG_SQL, createdOrg } from "../../gateway/index.ts";
import {
  byGateway,
  type Change,
  type ChangedBy,
  type ChangeLog,
  createOrgId,
  type Facts,
  maskedEmail,
  type Note,
  recordChanges,
  type RecordedChange,
  mayRole,
  normaliseEmail,
  type OrgId,
  type Public,
  readRows,
  type Role,
  type Row,
} from "../../kernel/index.ts";
import * as sql from "./team-store.ts";
import {
  type Invitation,
  invitationColumns,
  type KnownPerson,
  type MadeRow,
  type Member,
  type MemberChange,
  memberColumns,
  type NewInvitation,
  type OneMemberRow,
  type PersonRow,
  receivedColumns,
  type ReceivedInvitation,
  TEAM_MAX,
} from "./team-store.ts";

const ORG_MAILS_MAX = 50;
const ADDRESS_MAILS_MAX = 5;

/** A method that takes `by` is one transaction with its entries in the change log. */
export class PostgresTeamStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async members(orgId: OrgId): Promise<readonly Member[]> {
    return await readRows(this.#pool, memberColumns, sql.MEMBERS_SQL, [orgId]);
  }

  async invitations(orgId: OrgId): Promise<readonly Invitation[]> {
    return await readRows(this.#pool, invitationColumns, sql.INVITATIONS_SQL, [orgId]);
  }

  /** Finds the addresses of the given accounts that are or were members of the organization. */
  async people(
    orgId: OrgId,
    accountIds: readonly string[],
  ): Promise<ReadonlyMap<string, KnownPerson>> {
    if (accountIds.length === 0) return new Map();
    const { rows } = await this.#pool.query<PersonRow>(sql.PEOPLE_SQL, [orgId, accountIds]);
    const people = new Map<string, KnownPerson>();
    for (const { account_id: id, email, is_member: isNow, masked } of rows) {
      if (isNow) people.set(id, { email, isMember: true });
      else if (masked !== null) {
        const then = maskedEmail(email) === masked ? email : masked;
        people.set(id, { email: then, isMember: false });
      }
    }
    return people;
  }

  /** For operators only: the accounts may belong to any organization. */
  async emails(accountIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (accountIds.length === 0) return new Map();
    type Found = Pick<PersonRow, "account_id" | "email">;
    const { rows } = await this.#pool.query<Found>(sql.EMAILS_SQL, [accountIds]);
    return new Map(rows.map(({ account_id: id, email }) => [id, email]));
  }

  /** Lists enabled keys and webhooks that the account created or rotated, by the change log. */
  async madeBy(orgId: OrgId, accountId: string): Promise<MadeByMember> {
    const { rows } = await this.#pool.query<MadeRow>(sql.MADE_BY_SQL, [orgId, accountId]);
    const ofKind = (kind: MadeRow["kind"]) =>
      rows
        .filter((row) => row.kind === kind)
        .map(({ id, name, is_maker_known }) => ({ id, name, is_maker_known }));
    const [keys, webhooks] = [ofKind("key"), ofKind("webhook")];
    const has_more = Math.max(keys.length, webhooks.length) > sql.ROWS_MAX;
    return {
      keys: keys.slice(0, sql.ROWS_MAX),
      webhooks: webhooks.slice(0, sql.ROWS_MAX),
      has_more,
    };
  }

  async setRole(
    orgId: OrgId,
    { accountId, role }: { readonly accountId: string; readonly role: Role },
    by: ChangedBy,
  ): Promise<MemberChange> {
    return await this.#changes.write(by, async (client, note) => {
      if (!(await lockTeam(client, orgId, by))) return "not_allowed";
      const found = await findMember(client, orgId, accountId);
      if (found === undefined) return "unknown";
      if (found.role === "owner" && role !== "owner" && found.owners === 1) return "last_owner";
      await client.query(sql.SET_ROLE_SQL, [orgId, accountId, role]);
      const before = { role: found.role };
      note({ action: "member.role", orgId, target: accountId, before, after: { role } });
      if (!mayRole(role, "members")) await endInvitations(client, note, { orgId, by: accountId });
      return "done";
    });
  }

  /**
   * Leaving requires no role. If the organization was the account's own, the account gets a new,
   * empty one. Open invitations from and to the member end.
   */
  async remove(
    orgId: OrgId,
    { accountId, why }: { readonly accountId: string; readonly why: "left" | "removed" },
    by: ChangedBy,
  ): Promise<MemberChange> {
    let given: readonly RecordedChange[] = [];
    const outcome = await this.#changes.write(by, async (client, note) => {
      if (!(await lockTeam(client, orgId, why === "left" ? undefined : by))) return "not_allowed";
      const found = await findMember(client, orgId, accountId);
      if (found === undefined) return "unknown";
      if (found.role === "owner" && found.owners === 1) return "last_owner";
      await client.query(sql.REMOVE_SQL, [orgId, accountId]);
      const { email } = found;
      // Before `giveOwnOrg`, which writes to the change log and so makes other changes wait.
      const gone = await removeMemberDestinations(client, orgId, { accountId, email });
      for (const change of gone) note(change);
      if (found.is_own) {
        // A former member must not see the sealed copy of this organization's first key.
        await client.query(sql.DROP_REVEALS_SQL, [accountId]);
        given = await giveOwnOrg(client, { accountId, ...found });
      }
      const emailNorm = normaliseEmail(email);
      await endInvitations(client, note, { orgId, by: accountId, to: emailNorm });
      const before = { role: found.role, email: maskedEmail(email) };
      const action = why === "left" ? "member.leave" : "member.remove";
      note({ action, orgId, target: accountId, before, after: null });
      return "done";
    });
    this.#changes.announce(given);
    return outcome;
  }

  /** `member`: the address belongs to a member; `invited`: it has an open invitation. */
  async invite(
    orgId: OrgId,
    invitation: NewInvitation,
    by: ChangedBy,
  ): Promise<Invitation | "member" | "invited" | "full" | "not_allowed"> {
    const { invitationId, email, role, tokenHash, invitedBy } = invitation;
    const emailNorm = normaliseEmail(email);
    const now = new Date(invitation.nowMs);
    return await this.#changes.write(by, async (client, note) => {
      if (!(await lockTeam(client, orgId, by))) return "not_allowed";
      if (await isMember(client, orgId, emailNorm)) return "member";
      await client.query(sql.END_EXPIRED_SQL, [orgId, emailNorm, now]);
      if ((await teamSize(client, orgId)) >= TEAM_MAX) return "full";
      const expires = new Date(invitation.expiresAtMs);
      const of = [invitationId, orgId, email, emailNorm, role, tokenHash, invitedBy];
      const values = [...of, now, expires];
      const [made] = await readRows(client, invitationColumns, sql.INVITE_SQL, values);
      if (made === undefined) return "invited";
      note(invited(orgId, made, null));
      return made;
    });
  }

  /**
   * The former link stops working. Undefined if the invitation is not open, or if `by` may not
   * change the team; `full`: it has expired, and the team has reached `TEAM_MAX` since.
   */
  async renew(
    orgId: OrgId,
    link: Omit<NewInvitation, "email" | "role">,
    by: ChangedBy,
  ): Promise<Invitation | "full" | undefined> {
    const { invitationId, tokenHash, nowMs, expiresAtMs, invitedBy } = link;
    return await this.#changes.write(by, async (client, note) => {
      if (!(await lockTeam(client, orgId, by))) return undefined;
      const expired = await client.query(sql.IS_EXPIRED_SQL, [
        orgId,
        invitationId,
        new Date(nowMs),
      ]);
      if (expired.rowCount !== 0 && (await teamSize(client, orgId)) >= TEAM_MAX) return "full";
      const values = [orgId, invitationId, tokenHash, new Date(expiresAtMs), invitedBy];
      const [made] = await readRows(client, invitationColumns, sql.RENEW_SQL, values);
      if (made === undefined) return undefined;
      note(invited(orgId, made, { link: "replaced" }));
      return made;
    });
  }

  /** Counts one e-mail before it is sent; false if a limit per 24 hours or per hour is reached. */
  async claimMail(invitationId: string, perHourMax: number): Promise<boolean> {
    const values = [invitationId, ORG_MAILS_MAX, ADDRESS_MAILS_MAX, perHourMax];
    const { rowCount } = await this.#pool.query(sql.CLAIM_MAIL_SQL, values);
    return rowCount === 1;
  }

  async revoke(orgId: OrgId, invitationId: string, by: ChangedBy): Promise<boolean> {
    return await this.#changes.write(by, async (client, note) => {
      if (!(await lockTeam(client, orgId, by))) return false;
      return (await endInvitations(client, note, { orgId, id: invitationId })) > 0;
    });
  }

  /** Finds an open invitation by its link, whatever the address of the account that opens it. */
  async findByLink(tokenHash: Buffer, nowMs: number): Promise<ReceivedInvitation | undefined> {
    const values = [tokenHash, new Date(nowMs)];
    return (await readRows(this.#pool, receivedColumns, sql.BY_LINK_SQL, values))[0];
  }

  async received(accountId: string, nowMs: number): Promise<readonly ReceivedInvitation[]> {
    return await readRows(this.#pool, receivedColumns, sql.RECEIVED_SQL, [
      accountId,
      new Date(nowMs),
    ]);
  }

  /**
   * Moves the session to the inviting organization. A member keeps their role. Undefined if the
   * invitation is not open, or is for another address than the account's verified one.
   */
  async accept(
    invitationId: string,
    of: { readonly accountId: string; readonly sessionId: Buffer; readonly nowMs: number },
    by: ChangedBy,
  ): Promise<OrgId | undefined> {
    const { accountId, sessionId, nowMs } = of;
    return await this.#changes.write(by, async (client, note) => {
      const asked = await client.query<{ org_id: OrgId }>(sql.ORG_OF_SQL, [invitationId]);
      const orgId = asked.rows[0]?.org_id;
      if (orgId === undefined) return undefined;
      await client.query(sql.LOCK_ORG_SQL, [orgId]);
      const values = [invitationId, accountId, new Date(nowMs)];
      const { rows } = await client.query<{ role: Role; email: string }>(sql.ACCEPT_SQL, values);
      const [accepted] = rows;
      if (accepted === undefined) return undefined;
      const { rowCount } = await client.query(sql.JOIN_SQL, [orgId, accountId, accepted.role]);
      await client.query(sql.SWITCH_SQL, [sessionId, orgId, accountId]);
      if (rowCount === 1) note(joined(orgId, accountId, accepted));
      return orgId;
    });
  }

  /** For operators: needs no invitation, and ends the open ones to the address. */
  async add(
    orgId: OrgId,
    { email, role }: { readonly email: string; readonly role: Role },
    by: ChangedBy,
  ): Promise<"done" | "no_account" | "member" | "full"> {
    const emailNorm = normaliseEmail(email);
    return await this.#changes.write(by, async (client, note) => {
      await client.query(sql.LOCK_ORG_SQL, [orgId]);
      const { rows } = await client.query<{ account_id: string }>(
        `select account_id from console_account
        where email_norm = $1 and email_verified_at is not null`,
        [emailNorm],
      );
      const accountId = rows[0]?.account_id;
      if (accountId === undefined) return "no_account";
      if ((await teamSize(client, orgId)) >= TEAM_MAX) return "full";
      const { rowCount } = await client.query(sql.JOIN_SQL, [orgId, accountId, role]);
      if (rowCount === 0) return "member";
      await endInvitations(client, note, { orgId, to: emailNorm });
      note(joined(orgId, accountId, { role, email }));
      return "done";
    });
  }
}

export type TeamStore = Public<PostgresTeamStore>;

/** Makes changes of one team run one after another; false if `by` may no longer make any. */
async function lockTeam(
  client: PoolClient,
  orgId: OrgId,
  by: ChangedBy | undefined,
): Promise<boolean> {
  await client.query(sql.LOCK_ORG_SQL, [orgId]);
  if (by?.kind !== "account") return true;
  const member = await findMember(client, orgId, by.id);
  return member !== undefined && mayRole(member.role, "members");
}

/** Ends the open invitations with this id, from this account (`by`), or to this address (`to`). */
async function endInvitations(
  client: PoolClient,
  note: Note,
  of: { readonly orgId: OrgId; readonly id?: string; readonly by?: string; readonly to?: string },
): Promise<number> {
  const { orgId, id = null, by = null, to = null } = of;
  const values = [orgId, id, by, to];
  const ended = await readRows(client, invitationColumns, sql.END_INVITATIONS_SQL, values);
  for (const invitation of ended) {
    const target = invitation.invitationId;
    const before = toFacts(invitation);
    note({ action: "member.uninvite", orgId, target, before, after: null });
  }
  return ended.length;
}

/**
 * Creates an empty organization for an account that left its own organization, because
 * `console_account.org_id` must name one with this member. No second trial key is created.
 */
async function giveOwnOrg(
  client: PoolClient,
  of: { readonly accountId: string; readonly email: string; readonly name: string | null },
): Promise<readonly RecordedChange[]> {
  const { accountId, email, name } = of;
  const orgId = createOrgId();
  const orgName = chooseOrgName(name, email);
  await client.query(CREATE_ORG_SQL, [orgId, orgName, email, true]);
  await client.query(sql.SET_OWN_ORG_SQL, [accountId, orgId]);
  // The new organization's change log must not reveal who removed the member from the old one.
  const query = async (...asked: [string, unknown[]]) => (await client.query<Row>(...asked)).rows;
  return await recordChanges(client, byGateway("members"), [
    createdOrg(orgId, orgName, email),
    ...(await findNewAlerts(query, orgId)),
  ]);
}

async function findMember(
  client: PoolClient,
  orgId: OrgId,
  accountId: string,
): Promise<OneMemberRow | undefined> {
  const { rows } = await client.query<OneMemberRow>(sql.ONE_MEMBER_SQL, [orgId, accountId]);
  return rows[0];
}

async function isMember(client: PoolClient, orgId: OrgId, emailNorm: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from org_member m join console_account a using (account_id)
    where m.org_id = $1 and a.email_norm = $2 and a.email_verified_at is not null`,
    [orgId, emailNorm],
  );
  return rowCount !== 0;
}

async function teamSize(client: PoolClient, orgId: OrgId): Promise<number> {
  const { rows } = await client.query<{ size: number }>(sql.COUNT_TEAM_SQL, [orgId]);
  return rows[0]?.size ?? 0;
}

function toFacts({ email, role, expiresAtMs }: Invitation): Facts {
  const expires_at = new Date(expiresAtMs).toISOString();
  return { email: maskedEmail(email), role, expires_at };
}

function invited(orgId: OrgId, invitation: Invitation, before: Facts | null): Change {
  const after = toFacts(invitation);
  return { action: "member.invite", orgId, target: invitation.invitationId, before, after };
}

function joined(
  orgId: OrgId,
  accountId: string,
  { role, email }: { readonly role: Role; readonly email: string },
): Change {
  const after = { role, email: maskedEmail(email) };
  return { action: "member.join", orgId, target: accountId, before: null, after };
}
