import type { PoolClient } from "pg";

import { CREATE_ORG_SQL, createdOrg } from "../../gateway/index.ts";
import { byGateway, recordChanges, type RecordedChange, newOrgId } from "../../kernel/index.ts";
import { orgNameOf } from "../identity/plain-text.ts";

/**
 * An empty organization for an account that is not in its own one any more: an account is always a
 * member of the one that `console_account` names. It gets no trial key: it had one.
 */
export async function giveOwnOrg(
  client: PoolClient,
  of: { readonly accountId: string; readonly email: string; readonly name: string | null },
): Promise<readonly RecordedChange[]> {
  const { accountId, email, name } = of;
  const orgId = newOrgId();
  const orgName = orgNameOf(name, email);
  await client.query(CREATE_ORG_SQL, [orgId, orgName, email, true]);
  await client.query("update console_account set org_id = $2 where account_id = $1", [
    accountId,
    orgId,
  ]);
  // By no person: a member of another organization is not named in this one's log.
  return await recordChanges(client, byGateway("members"), [createdOrg(orgId, orgName, email)]);
}
