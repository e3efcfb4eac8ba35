import { type Principal, principalOf } from "../../gateway/index.ts";
import { assert, type OrgId } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";

/** Whom a session's calls are made as: the organization's Playground key, which is made for the first. */
export async function playgroundPrincipal(
  deps: Pick<ConsoleDeps, "accounts" | "rules">,
  orgId: OrgId,
): Promise<Principal> {
  const record = await deps.rules.findKey(await deps.accounts.playgroundKey(orgId));
  assert(record?.orgId === orgId, "the Playground key is the organization's own");
  return principalOf(record);
}
