/** The roles of an organization's members. */
export const ROLES = ["owner", "developer", "billing", "viewer"] as const;

export type Role = (typeof ROLES)[number];

/**
 * The right that a route can need of the role of its caller. `account`: the caller's own account
 * and membership; `read`: everything but secrets; `keys`: keys, limits, provider keys, and calls
 * that spend credit; `billing`: credit, alerts and caps of the organization; `members`;
 * `organization`: its name and rules.
 */
export const NEEDS = ["account", "read", "keys", "billing", "members", "organization"] as const;

export type Need = (typeof NEEDS)[number];

/** The one table of rights: what each role may do. */
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
