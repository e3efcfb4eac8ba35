import type { OrgSummary } from "../../gateway/index.ts";
import { assert } from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity.ts";
import type { ConsoleDeps } from "./console-deps.ts";

export async function requireOrg(
  { accounts }: Pick<ConsoleDeps, "accounts">,
  { orgId }: Pick<SignedIn, "orgId">,
): Promise<OrgSummary> {
  const org = await accounts.findOrg(orgId);
  assert(org !== undefined, "a session belongs to an organization that exists");
  return org;
}
