import type { Role } from "../../kernel/index.ts";

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
