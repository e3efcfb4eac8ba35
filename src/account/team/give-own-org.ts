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
 * Creates an empty organization for an account that has left its own organization, because
 * `console_account.org_id` must name an organization of which the account is a member. The account
 * gets no second trial key.
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
  // The author is the gateway: the person who removed this member belongs to another organization,
  // which this change log must not reveal.
  const query = async (...asked: [string, unknown[]]) => (await client.query<Row>(...asked)).rows;
  return await recordChanges(client, byGateway("members"), [
    createdOrg(orgId, orgName, email),
    ...(await findNewAlerts(query, orgId)),
  ]);
}
