export { Invitations, type InvitationsOptions, type SentInvitation } from "./invitations.ts";
export {
  type Invitation,
  type KnownPerson,
  type Member,
  type ReceivedInvitation,
  TEAM_MAX,
} from "./team-store.ts";
export { PostgresTeamStore, type TeamStore } from "./postgres-team-store.ts";
