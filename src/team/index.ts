export { Invitations, type InvitationsOptions, type SentInvitation } from "./invitations.ts";
export { PostgresTeamStore } from "./postgres-team-store.ts";
export {
  type Invitation,
  type KnownPerson,
  type Member,
  type ReceivedInvitation,
  TEAM_MAX,
  type TeamStore,
} from "./team-store.ts";
