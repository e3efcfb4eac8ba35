import { isEmail } from "../../kernel/index.ts";
import { hashToken } from "../identity/browser-token.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import {
  type Invitation as StoredInvitation,
  type ReceivedInvitation as StoredReceived,
  TEAM_MAX,
} from "../team/team-store.ts";
import type { SentInvitation as StoredSent } from "../team/invitations.ts";
import type { ConsoleDeps, OperationDeps } from "./console-deps.ts";
import { conflict, forbidden, gone, invalidField, missing, notFound } from "./console-refusal.ts";
import type { SentInvitation, Team } from "./contract.ts";
import { Member, Invitation, ReceivedInvitation, type memberRoutes } from "./contract/members.ts";
import type { Acting, CommandedName, Handlers } from "./handler.ts";
import { requireOrg } from "./read-values.ts";
import { present } from "./present.ts";

export function memberHandlers(deps: ConsoleDeps): Handlers<keyof typeof memberRoutes> {
  const { team, identity, clock } = deps;
  return {
    ...teamHandlers(deps),
    "GET /api/console/members/:account_id/made": async ({ session, params }) => {
      const members = await team.store.members(session.orgId);
      if (!members.some(({ accountId }) => accountId === params.account_id)) {
        return CHANGE_REFUSALS.unknown;
      }
      return await team.store.madeBy(session.orgId, params.account_id);
    },
    "POST /api/console/leave": async ({ session, by }) => {
      const member = { accountId: session.accountId, why: "left" } as const;
      const done = await team.store.remove(session.orgId, member, by);
      return done === "done" ? { left: true } : CHANGE_REFUSALS[done];
    },
    "POST /api/console/invitations": async ({ session, body, by }) => {
      const email = body.email.trim();
      if (!isEmail(email)) return NO_EMAIL;
      const from = await invitingFrom(deps, session);
      const sent = await team.invitations.invite(from, { email, role: body.role }, by);
      return typeof sent === "string" ? INVITE_REFUSALS[sent] : presentSent(deps, sent);
    },
    "POST /api/console/invitations/:invitation_id/renew": async ({ session, params, by }) => {
      const from = await invitingFrom(deps, session);
      const sent = await team.invitations.renew(from, params.invitation_id, by);
      if (sent === undefined) return NO_SUCH_INVITATION;
      return sent === "full" ? INVITE_REFUSALS.full : presentSent(deps, sent);
    },
    "GET /api/console/received-invitations": async ({ session }) => {
      const received = await team.store.received(session.accountId, clock.nowMs());
      return { invitations: received.map((each) => presentReceived(each, true)) };
    },
    "POST /api/console/received-invitations/find": async ({ session, body }) => {
      const found = await team.store.findByLink(hashToken(body.token), clock.nowMs());
      if (found === undefined) return LINK_GONE;
      const own = await team.store.received(session.accountId, clock.nowMs());
      const isYours = own.some(({ invitationId }) => invitationId === found.invitationId);
      return presentReceived(found, isYours);
    },
    "POST /api/console/received-invitations/:invitation_id/accept": async (call) => {
      const { accountId, sessionId: id } = call.session;
      const asked = { accountId, sessionId: Buffer.from(id, "hex"), nowMs: clock.nowMs() };
      const orgId = await team.store.accept(call.params.invitation_id, asked, call.by);
      return orgId === undefined ? NO_SUCH_INVITATION : { org_id: orgId };
    },
    "POST /api/console/organizations/:org_id/switch": async ({ session, params }) => {
      const isSwitched = await identity.switchOrganization(session, params.org_id);
      return isSwitched ? { org_id: params.org_id } : NO_SUCH_ORG;
    },
    "POST /api/console/organizations/own": async ({ session, cookieHeader, by }) => {
      const orgId = await identity.startOwnOrganization(cookieHeader, session, by);
      return orgId === undefined ? NOTHING_DEFERRED : { org_id: orgId };
    },
  };
}

export function teamHandlers(
  deps: OperationDeps,
): Handlers<Extract<keyof typeof memberRoutes, CommandedName>> {
  const { team } = deps;
  return {
    "GET /api/console/members": ({ session }) => readTeam(deps, session),
    "PATCH /api/console/members/:account_id": async ({ session, params, body, by }) => {
      const change = { accountId: params.account_id, role: body.role };
      const done = await team.store.setRole(session.orgId, change, by);
      return done === "done" ? await readTeam(deps, session) : CHANGE_REFUSALS[done];
    },
    "POST /api/console/members/:account_id/remove": async ({ session, params, by }) => {
      const member = { accountId: params.account_id, why: "removed" } as const;
      const done = await team.store.remove(session.orgId, member, by);
      return done === "done" ? await readTeam(deps, session) : CHANGE_REFUSALS[done];
    },
    "POST /api/console/invitations/:invitation_id/revoke": async ({ session, params, by }) => {
      const isRevoked = await team.store.revoke(session.orgId, params.invitation_id, by);
      return isRevoked ? await readTeam(deps, session) : NO_SUCH_INVITATION;
    },
  };
}

/** The refusal for a caller who lost the role after the request was admitted. */
const NOT_ALLOWED = forbidden(
  "nothing was done: your role in this organization has just changed; reload the page",
);
const CHANGE_REFUSALS = {
  unknown: notFound("member"),
  last_owner: conflict(
    "an organization needs an owner, and this is the last one; make another member owner first",
  ),
  not_allowed: NOT_ALLOWED,
} as const;
const NO_SUCH_INVITATION = notFound("invitation");
const NO_SUCH_ORG = missing("your account is not a member of such an organization; check the ID");
const NO_EMAIL = invalidField("email", "email must be an e-mail address like ada@example.com");
export const INVITE_REFUSALS = {
  not_allowed: NOT_ALLOWED,
  member: conflict(
    "this e-mail address is already a member; change the role in the list of members",
  ),
  invited: conflict("this e-mail address is already invited; send that invitation again instead"),
  full: conflict(
    `an organization has at most ${TEAM_MAX} members and open invitations; remove one first`,
  ),
} as const;
const LINK_GONE = gone(
  "this invitation was used, revoked or replaced, or it has expired; ask the owner who invited you for a new one",
);
const NOTHING_DEFERRED = conflict(
  "your account already has its own organization; switch to it in the menu",
);

async function invitingFrom(deps: ConsoleDeps, session: SignedIn) {
  const { orgId, accountId, email } = session;
  const { name: orgName } = await requireOrg(deps, session);
  return { orgId, orgName, accountId, email };
}

export async function readTeam(deps: OperationDeps, session: Acting): Promise<Team> {
  const { team } = deps;
  const { orgId } = session;
  const [members, open] = await Promise.all([
    team.store.members(orgId),
    team.store.invitations(orgId),
  ]);
  return {
    members: members.map((each) =>
      present(Member, each, { is_you: each.accountId === session.accountId }),
    ),
    invitations: open.map((each) => presentInvitation(deps, each)),
    team_max: TEAM_MAX,
    can_email: team.invitations.canMail,
  };
}

function presentInvitation({ clock }: OperationDeps, invitation: StoredInvitation): Invitation {
  const is_expired = invitation.expiresAtMs <= clock.nowMs();
  return present(Invitation, invitation, { is_expired });
}

function presentSent(deps: ConsoleDeps, { invitation, link, mail }: StoredSent): SentInvitation {
  return { invitation: presentInvitation(deps, invitation), link, mail };
}

export function presentReceived(received: StoredReceived, isYours: boolean): ReceivedInvitation {
  return present(ReceivedInvitation, received, { is_yours: isYours });
}
