import { mayRole, type Role } from "../../kernel/index.ts";

/**
 * The address of an alert destination as this role may see it. A webhook's address can contain a
 * token that allows anyone to post there, so roles that cannot change destinations see only its
 * scheme and host.
 */
export function presentAddress(address: string, role: Role): string {
  if (mayRole(role, "billing") || !/^https?:/i.test(address)) return address;
  return URL.canParse(address) ? `${new URL(address).origin}/…` : "…";
}

type Facts = Readonly<Record<string, unknown>>;

export function withShownAddress<T extends Facts>(facts: T | null, role: Role): T | null {
  const address = facts?.["address"];
  if (facts === null || typeof address !== "string") return facts;
  return { ...facts, address: presentAddress(address, role) };
}
