import type { CustomerOrg } from "../accounts/index.ts";
import { assert } from "../core/index.ts";
import type { SignedIn } from "../identity/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";

/** The organization of a session: an account has one as long as it is there. */
export async function knownOrg(
  { customers }: Pick<ConsoleDeps, "customers">,
  { orgId }: Pick<SignedIn, "orgId">,
): Promise<CustomerOrg> {
  const org = await customers.findOrg(orgId);
  assert(org !== undefined, "a session belongs to an organization that exists");
  return org;
}
