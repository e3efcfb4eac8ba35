import type { RoleName, Session } from "../../../src/account/console-api/contract.ts";

/** Which roles may do that, as a sentence has them. */
export const ROLES_FOR: Readonly<Record<Session["may"][number], string>> = {
  account: "owner, developer, billing or viewer",
  read: "owner, developer, billing or viewer",
  keys: "owner or developer",
  billing: "owner or billing",
  members: "owner",
  organization: "owner",
};

/** What each role is for, where one is chosen. */
export const ROLE_MEANINGS: Readonly<Record<RoleName, string>> = {
  owner: "Everything, with members and the organization's name",
  developer: "Keys, limits, provider keys, playground and Optimize",
  billing: "Credit, the organization's cap and alerts",
  viewer: "Sees all pages and changes nothing",
};
