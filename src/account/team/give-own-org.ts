import type { PoolClient } from "pg";

import { CREATE_ORG_SQL, createdOrg } from "../../gateway/index.ts";
import {
  byGateway,
  recordChanges,
  type RecordedChange,
  createOrgId,
  type Row,
} from "../../kernel/index.ts";
import { findNewAlerts } from "../alerts/postgres-alert-store.ts";
import { chooseOrgName } from "../identity/plain-text.ts";

/**
 * Creates an empty organization for an account that has left its own one, since an account must be
 * a member of the organization that `console_account` names. It gets no trial key, as it already
 * had one.
 */
export async function giveOwnOrg(
  client: PoolClient,
  of: { readonly accountId: string; readonly email: string; readonly name: string | null },
): Promise<readonly RecordedChange[]> {
  const { accountId, email, name } = of;
  const orgId = createOrgId();
  const orgName = chooseOrgName(name, email);
  await client.query(CREATE_ORG_SQL, [orgId, orgName, email, true]);
  await client.query("update console_account set org_id = $2 where account_id = $1", [
    accountId,
    orgId,
  ]);
  // Recorded without a person: this log must not name a member of another organization.
  const query = async (...asked: [string, unknown[]]) => (await client.query<Row>(...asked)).rows;
  return await recordChanges(client, byGateway("members"), [
    createdOrg(orgId, orgName, email),
    ...(await findNewAlerts(query, orgId)),
  ]);
}
