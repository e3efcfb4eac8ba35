import type { PoolClient } from "pg";

import { formatUsd, microUsd, type OrgId, type PauseReason } from "../../kernel/index.ts";
import type { NewEvent } from "./report-event.ts";

/**
 * Automatic purchases that were credited, where purchases are reported, and rules that were paused,
 * always: a customer must not find out from refused requests.
 */
export async function topUpEvents(client: Pick<PoolClient, "query">): Promise<NewEvent[]> {
  const charged = await client.query<ChargedRow>(CHARGED_SQL);
  const paused = await client.query<PausedRow>(PAUSED_SQL);
  return [...charged.rows.map(chargedEvent), ...paused.rows.map(pausedEvent)];
}

interface ChargedRow {
  readonly org_id: OrgId;
  readonly purchase_id: string;
  readonly micro_usd: bigint;
}

interface PausedRow {
  readonly org_id: OrgId;
  readonly reason: PauseReason;
  readonly once: string;
}

function chargedEvent({ org_id: orgId, purchase_id: id, micro_usd: amount }: ChargedRow): NewEvent {
  const facts = { purchase_id: id, amount_usd: formatUsd(microUsd(amount)) };
  return { orgId, kind: "topup.charged", facts, once: `topup.charged ${id}` };
}

function pausedEvent({ org_id: orgId, reason, once }: PausedRow): NewEvent {
  return { orgId, kind: "topup.paused", facts: { reason }, once };
}

/* As other purchases: read again for days, reported once. */
const CHARGED_SQL = `
  select p.org_id, p.purchase_id, p.micro_usd
  from top_up t join purchase p using (purchase_id) join alert_rules r on r.org_id = p.org_id
  where t.created_at > now() - interval '3 days' and p.state = 'granted'
    and r.purchases_since is not null and p.granted_at > r.purchases_since
    and not exists (select from alert_event e where e.once = 'topup.charged ' || p.purchase_id)`;

const PAUSED_SQL = `
  select org_id, paused_reason as reason, once
  from (
    select *, 'topup.paused ' || org_id || ' ' || extract(epoch from paused_at) as once
    from top_up_rule where paused_at > now() - interval '3 days'
  ) r
  where not exists (select from alert_event e where e.once = r.once)`;
