import { type Static, Type } from "typebox";

import {
  Count,
  Email,
  Fields,
  Id,
  Instant,
  List,
  nullable,
  oneOf,
  RoleName,
  setting,
} from "./shared.ts";

export const Member = Type.Object({
  account_id: Id,
  email: Type.String(),
  name: nullable(Type.String()),
  role: RoleName,
  joined_at: Instant,
  last_seen_at: nullable(Instant),
  is_you: Type.Boolean(),
});
export type Member = Static<typeof Member>;

export const Invitation = Type.Object({
  invitation_id: Id,
  email: Type.String(),
  role: RoleName,
  created_at: Instant,
  expires_at: Instant,
  is_expired: Type.Boolean(),
  mailed_at: nullable(Instant),
});
export type Invitation = Static<typeof Invitation>;

export const Team = Type.Object({
  members: Type.Array(Member),
  invitations: Type.Array(Invitation),
  team_max: Count,
  can_email: Type.Boolean(),
});
export type Team = Static<typeof Team>;

export const SentInvitation = Type.Object({
  invitation: Invitation,
  link: Type.String(),
  /** `off`: no mail server; `bound`: a limit is reached; `failed`: the mail was not accepted. */
  mail: oneOf("sent", "off", "bound", "failed"),
});
export type SentInvitation = Static<typeof SentInvitation>;

const Made = List(Type.Object({ id: Id, name: Type.String(), is_maker_known: Type.Boolean() }));

export const MadeByMember = Type.Object({
  keys: Made,
  webhooks: Made,
  has_more: Type.Boolean(),
});
export type MadeByMember = Static<typeof MadeByMember>;

export const ReceivedInvitation = Type.Object({
  invitation_id: Id,
  org_name: Type.String(),
  email: Type.String(),
  role: RoleName,
  invited_by: nullable(Type.String()),
  expires_at: Instant,
  is_yours: Type.Boolean(),
});
export type ReceivedInvitation = Static<typeof ReceivedInvitation>;

const Joined = Type.Object({ org_id: Id });

export const memberRoutes = {
  "GET /api/console/members": {
    summary: "The members of the organization, and open invitations",
    command: {
      usage: "member list",
      columns: "account_id role email joined_at invitation_id expires_at",
    },
    needs: "read",
    answer: Team,
  },
  "GET /api/console/members/:account_id/made": {
    summary:
      "The keys and webhooks that a member created or rotated, or whose maker is not known any more; they stay when the member is removed",
    needs: "members",
    answer: MadeByMember,
  },
  "PATCH /api/console/members/:account_id": {
    summary: "Changes the role of a member; the last owner stays one",
    command: { usage: "member role <account_id>" },
    changes: ["member.role", "member.uninvite"],
    ...setting("members"),
    body: Fields({ role: RoleName }),
    answer: Team,
  },
  "POST /api/console/members/:account_id/remove": {
    summary: "Removes a member: its sessions are out of the organization with their next request",
    command: { usage: "member remove <account_id>" },
    // A removed member's alerts and invitations end too. A member who is removed from their own
    // organization gets a new, empty one.
    changes: ["member.remove", "org.create", "alert.rules", "alert.destination", "member.uninvite"],
    ...setting("members"),
    answer: Team,
  },
  "POST /api/console/leave": {
    summary: "Leaves the organization; its last owner cannot",
    ...setting("account"),
    answer: Type.Object({ left: Type.Boolean() }),
  },
  "POST /api/console/invitations": {
    summary: "Invites an e-mail address; the link works for 7 days",
    ...setting("members"),
    gate: "mails",
    body: Fields({ email: Email, role: RoleName }),
    answer: SentInvitation,
  },
  "POST /api/console/invitations/:invitation_id/renew": {
    summary: "Sends an invitation again with a new link; the one before stops working",
    ...setting("members"),
    gate: "mails",
    answer: SentInvitation,
  },
  "POST /api/console/invitations/:invitation_id/revoke": {
    summary: "Revokes an invitation; its link stops working",
    command: { usage: "member uninvite <invitation_id>" },
    changes: ["member.uninvite"],
    ...setting("members"),
    answer: Team,
  },
  "GET /api/console/received-invitations": {
    summary: "Open invitations for the verified e-mail address of the account",
    needs: "account",
    answer: Type.Object({ invitations: Type.Array(ReceivedInvitation) }),
  },
  "POST /api/console/received-invitations/find": {
    summary: "The open invitation of a link, by the token in it",
    ...setting("account"),
    body: Fields({ token: Type.String({ minLength: 1, maxLength: 100 }) }),
    answer: ReceivedInvitation,
  },
  "POST /api/console/received-invitations/:invitation_id/accept": {
    summary: "Joins the organization that invites; the session is in it from then on",
    ...setting("account"),
    answer: Joined,
  },
  "POST /api/console/organizations/:org_id/switch": {
    summary: "From now on this session is in another organization of the account",
    needs: "account",
    answer: Joined,
  },
  "POST /api/console/organizations/own": {
    summary:
      "Begins an organization of one's own with its trial key, after an invitation came first",
    ...setting("account"),
    answer: Joined,
  },
} as const;
