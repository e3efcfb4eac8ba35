import { asText, mayRole, type Role } from "../../kernel/index.ts";
import { shortAddress } from "../alerts/alert-store.ts";

/** The address of an alert destination, whole only for roles that can change destinations. */
export function presentAddress(address: string, role: Role): string {
  return mayRole(role, "billing") ? address : shortAddress(address);
}

type Facts = Readonly<Record<string, unknown>>;

export function withShownAddress<T extends Facts>(facts: T | null, role: Role): T | null {
  const address = asText(facts?.["address"]);
  if (facts === null || address === undefined) return facts;
  return { ...facts, address: presentAddress(address, role) };
}
