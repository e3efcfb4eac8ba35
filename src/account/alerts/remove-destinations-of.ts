import type { PoolClient } from "pg";

import type { Change, OrgId } from "../../kernel/index.ts";
import { nameDestination } from "./alert-store.ts";

/**
 * Removes a former member's e-mail address from the destinations, in the transaction of the
 * removal, because no link of a message has confirmed it. Returns the changes for its record.
 */
export async function removeMemberDestinations(
  client: Pick<PoolClient, "query">,
  orgId: OrgId,
  address: string,
): Promise<readonly Change[]> {
  const { rows } = await client.query<{ destination_id: string; address: string }>(REMOVE_SQL, [
    orgId,
    address,
  ]);
  const ids = rows.map(({ destination_id: id }) => id);
  if (ids.length > 0) await client.query(DROP_WAITING_SQL, [ids]);
  return rows.map((row) => {
    const before = nameDestination({ channel: "email", address: row.address });
    const target = row.destination_id;
    return { action: "alert.destination", orgId, target, before, after: null };
  });
}

const REMOVE_SQL = `
  update alert_destination
  set disabled_at = coalesce(disabled_at, now()), disabled_reason = 'removed'
  where org_id = $1 and channel = 'email' and lower(address) = lower($2)
    and disabled_reason is distinct from 'removed'
  returning destination_id, address`;

const DROP_WAITING_SQL = `
  update alert_delivery set state = 'failed', last_answer = 'the destination was removed'
  where destination_id = any($1) and state = 'waiting'`;
