import { mayRole, type Role } from "../core/index.ts";

/**
 * Where alerts go, as a member of this role may see it. The address of a webhook can contain a token
 * that lets anyone post there: who may not change destinations sees its scheme and host alone.
 */
export function shownAddress(address: string, role: Role): string {
  if (mayRole(role, "billing") || !/^https?:/i.test(address)) return address;
  return URL.canParse(address) ? `${new URL(address).origin}/…` : "…";
}

/** The same within what a change of a destination recorded. */
export function withShownAddress<T>(facts: T, role: Role): T {
  if (typeof facts !== "object" || facts === null || !("address" in facts)) return facts;
  const { address } = facts;
  return typeof address === "string" ? { ...facts, address: shownAddress(address, role) } : facts;
}
