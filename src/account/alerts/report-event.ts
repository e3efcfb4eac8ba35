import type { PoolClient } from "pg";

import { newRecordId } from "../../kernel/index.ts";
import type { AlertFacts } from "./alert-event.ts";
import type { AlertKind } from "./alert-kinds.ts";

/** What is to be stored of something that was noticed. */
export interface NewEvent {
  readonly orgId: string;
  readonly kind: AlertKind;
  readonly facts: AlertFacts;
  /** What happens once and is reported once, in all organizations: begin it with its kind. */
  readonly once?: string;
}

/**
 * Stores an event and a delivery for each destination that wants its kind, in the caller's
 * transaction. False: it was reported before. Folders below this one call the same function in SQL.
 */
export async function reportEvent(
  client: Pick<PoolClient, "query">,
  { orgId, kind, facts, once }: NewEvent,
): Promise<boolean> {
  const event = [newRecordId("evt"), orgId, kind, JSON.stringify(facts), once ?? null];
  const { rows } = await client.query<{ is_new: boolean }>(REPORT_SQL, event);
  return rows[0]?.is_new === true;
}

const REPORT_SQL = "select alert_report($1, $2, $3, $4::jsonb, $5) as is_new";
