import { type Role, rolesWith } from "../../../src/kernel/core/roles.ts";
import type { RoleName, Session } from "../../../src/account/console-api/contract.ts";

/** `"Only owners and developers can create keys. You are a viewer, and an owner can change that."` */
export function roleNote(need: Session["may"][number], what: string, role: RoleName): string {
  const who = AND.format(rolesWith(need).map((each) => NAMES[each].plural));
  return `Only ${who} can ${what}. You are ${NAMES[role].one}, and an owner can change that.`;
}

const AND = new Intl.ListFormat("en", { type: "conjunction" });
const NAMES: Readonly<Record<Role, { readonly one: string; readonly plural: string }>> = {
  owner: { one: "an owner", plural: "owners" },
  developer: { one: "a developer", plural: "developers" },
  billing: { one: "a billing member", plural: "billing members" },
  viewer: { one: "a viewer", plural: "viewers" },
};

/** The purpose of each role, where one is chosen. */
export const ROLE_MEANINGS: Readonly<Record<RoleName, string>> = {
  owner: "Everything, with members and the organization's name",
  developer: "Keys, limits, provider keys, playground and Optimize",
  billing: "Credit, the organization's cap and alerts",
  viewer: "Sees all pages and changes nothing",
};
