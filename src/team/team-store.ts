import type { ChangedBy } from "../changes/index.ts";
import type { OrgId, Role } from "../core/index.ts";

/** Members and open invitations together, of one organization. */
export const TEAM_MAX = 50;

export interface Member {
  readonly accountId: string;
  readonly email: string;
  readonly name: string | null;
  readonly role: Role;
  readonly joinedAtMs: number;
  /** With a session in this organization; null: not in the last weeks. */
  readonly lastSeenAtMs: number | null;
}

/** Active keys and webhooks; as far back as the change log is kept. */
export interface MadeByMember {
  readonly keys: readonly { readonly id: string; readonly name: string }[];
  /** `name`: the address. */
  readonly webhooks: readonly { readonly id: string; readonly name: string }[];
}

/** An account as an organization knows it that it is or was a member of. */
export interface KnownPerson {
  /** Of a former member the address of then, or as much of it as the change log kept. */
  readonly email: string;
  readonly isMember: boolean;
}

/** By the id of the account. */
export type PeopleById = ReadonlyMap<string, KnownPerson>;

/** An invitation that was neither accepted nor revoked; it may have expired. */
export interface Invitation {
  readonly invitationId: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly mailedAtMs: number | null;
}

/** An open invitation as the one who got it sees it. */
export interface ReceivedInvitation {
  readonly invitationId: string;
  readonly orgName: string;
  readonly email: string;
  readonly role: Role;
  /** The address of the member who made the link; null: no longer here. */
  readonly invitedBy: string | null;
  readonly expiresAtMs: number;
}

/** The link of an invitation: its hash, and how long it can be used. */
export interface InvitationLink {
  readonly tokenHash: Buffer;
  readonly nowMs: number;
  readonly expiresAtMs: number;
}

export interface NewInvitation extends InvitationLink {
  readonly invitationId: string;
  readonly email: string;
  readonly role: Role;
  /** The account of the owner who invites. */
  readonly invitedBy: string;
}

/**
 * `last_owner`: an organization without an owner could not be managed any more; `not_allowed`: the
 * role of the account that asks was taken meanwhile.
 */
export type MemberChange = "done" | "unknown" | "last_owner" | "not_allowed";

/** Members and invitations. Every verb is one transaction with its record in the change log. */
export interface TeamStore {
  /** The one who joined first comes first; a bounded number. */
  members(orgId: OrgId): Promise<readonly Member[]>;
  invitations(orgId: OrgId): Promise<readonly Invitation[]>;
  /**
   * Which people the accounts in the organization's change log are, now and not from the log: it
   * keeps no address. An account that was never a member is not answered.
   */
  people(orgId: OrgId, accountIds: readonly string[]): Promise<PeopleById>;
  /** For operators: the address of each of these accounts. */
  emails(accountIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The keys and webhooks of an account, which outlive its membership; a bounded number. */
  madeBy(orgId: OrgId, accountId: string): Promise<MadeByMember>;
  setRole(
    orgId: OrgId,
    change: { readonly accountId: string; readonly role: Role },
    by: ChangedBy,
  ): Promise<MemberChange>;
  /**
   * `left`: by the member itself. Whose own organization it was gets an empty one. The invitations
   * that the member made end, as they do for one who may not invite any more, and those to it.
   */
  remove(
    orgId: OrgId,
    member: { readonly accountId: string; readonly why: "left" | "removed" },
    by: ChangedBy,
  ): Promise<MemberChange>;
  /** `member`, `invited`: the address is already; `full`: `TEAM_MAX` is reached. */
  invite(
    orgId: OrgId,
    invitation: NewInvitation,
    by: ChangedBy,
  ): Promise<Invitation | "member" | "invited" | "full" | "not_allowed">;
  /** Makes a new link; the one before does not work any more. */
  renew(
    orgId: OrgId,
    link: InvitationLink & { readonly invitationId: string; readonly invitedBy: string },
    by: ChangedBy,
  ): Promise<Invitation | undefined>;
  /**
   * Counts an e-mail of the invitation; false: enough were sent today, or in this hour by the whole
   * installation, and none may be.
   */
  claimMail(
    invitationId: string,
    when: { readonly nowMs: number; readonly perHourMax: number },
  ): Promise<boolean>;
  revoke(orgId: OrgId, invitationId: string, by: ChangedBy): Promise<boolean>;
  /** The open invitation that a link is of, for any account that opens it. */
  findByLink(tokenHash: Buffer, nowMs: number): Promise<ReceivedInvitation | undefined>;
  /** The open invitations of the account's verified address. */
  received(accountId: string, nowMs: number): Promise<readonly ReceivedInvitation[]>;
  /** Once, and by the account of the invited address alone: the session is in the organization then. */
  accept(
    invitationId: string,
    of: { readonly accountId: string; readonly sessionId: Buffer; readonly nowMs: number },
    by: ChangedBy,
  ): Promise<OrgId | undefined>;
  /** For operators: without an invitation. */
  add(
    orgId: OrgId,
    member: { readonly email: string; readonly role: Role },
    by: ChangedBy,
  ): Promise<"done" | "no_account" | "member" | "full">;
}
