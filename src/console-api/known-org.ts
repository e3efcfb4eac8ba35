import type { OrgSummary } from "../accounts/index.ts";
import { assert } from "../core/index.ts";
import type { SignedIn } from "../identity/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";

/** The organization of a session: an account has one as long as it is there. */
export async function knownOrg(
  { accounts }: Pick<ConsoleDeps, "accounts">,
  { orgId }: Pick<SignedIn, "orgId">,
): Promise<OrgSummary> {
  const org = await accounts.findOrg(orgId);
  assert(org !== undefined, "a session belongs to an organization that exists");
  return org;
}
