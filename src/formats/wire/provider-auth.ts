import type { Deployment } from "../../catalog/index.ts";
import type { Wire } from "./contract.ts";

/** The header with a provider's key: the one that its profile declares, else the one of its wire. */
export function providerAuth(
  wire: Wire,
  { wireProfile }: Pick<Deployment, "wireProfile">,
  key: string,
): readonly [name: string, value: string] {
  const auth = wireProfile?.auth;
  if (auth === undefined) return wire.authHeader(key);
  return auth === "bearer" ? ["authorization", `Bearer ${key}`] : [auth, key];
}
