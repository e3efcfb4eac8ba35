export const ROLES = ["owner", "developer", "billing", "viewer"] as const;

export type Role = (typeof ROLES)[number];

interface RoleWords {
  readonly name: string;
  readonly one: string;
  readonly plural: string;
  readonly meaning: string;
}

export const ROLE_WORDS: Readonly<Record<Role, RoleWords>> = {
  owner: {
    name: "Owner",
    one: "an owner",
    plural: "owners",
    meaning: "Everything, with members and the organization's name",
  },
  developer: {
    name: "Developer",
    one: "a developer",
    plural: "developers",
    meaning: "Keys, limits, provider keys, playground and Optimize",
  },
  billing: {
    name: "Billing",
    one: "a billing member",
    plural: "billing members",
    meaning: "Credit, the organization's cap and alerts",
  },
  viewer: {
    name: "Viewer",
    one: "a viewer",
    plural: "viewers",
    meaning: "Sees all pages and changes nothing",
  },
};

/**
 * The rights that routes require of their callers' roles.
 * - `account`: the caller's own account and membership
 * - `read`: what every member may see, without secrets
 * - `keys`: keys, limits, provider keys, and calls that spend credit
 * - `billing`: credit, alerts, company data and caps of the organization
 * - `members`: the organization's members
 * - `organization`: the organization's name and rules
 */
export const NEEDS = ["account", "read", "keys", "billing", "members", "organization"] as const;

export type Need = (typeof NEEDS)[number];

export const MAY: Readonly<Record<Role, readonly Need[]>> = {
  owner: ["account", "read", "keys", "billing", "members", "organization"],
  developer: ["account", "read", "keys"],
  billing: ["account", "read", "billing"],
  viewer: ["account", "read"],
};

export function mayRole(role: Role, need: Need): boolean {
  return MAY[role].includes(need);
}

export function rolesWith(need: Need): readonly Role[] {
  return ROLES.filter((role) => mayRole(role, need));
}

export function roleNote(need: Need, what: string, role: Role): string {
  const who = AND.format(rolesWith(need).map((each) => ROLE_WORDS[each].plural));
  return `Only ${who} can ${what}. You are ${ROLE_WORDS[role].one}, and an owner can change that.`;
}

const AND = new Intl.ListFormat("en", { type: "conjunction" });
