import { mayRole, type Role } from "../../kernel/index.ts";

/**
 * Where alerts go, as a member of this role may see it. The address of a webhook can have a token
 * that lets any program post there: who may not change destinations sees its scheme and host alone.
 */
export function shownAddress(address: string, role: Role): string {
  if (mayRole(role, "billing") || !/^https?:/i.test(address)) return address;
  return URL.canParse(address) ? `${new URL(address).origin}/…` : "…";
}

type Facts = Readonly<Record<string, unknown>>;

/** The same within what a change of a destination recorded. */
export function withShownAddress<T extends Facts>(facts: T | null, role: Role): T | null {
  const address = facts?.["address"];
  if (facts === null || typeof address !== "string") return facts;
  return { ...facts, address: shownAddress(address, role) };
}
