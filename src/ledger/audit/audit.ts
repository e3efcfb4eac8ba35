import type { Pool, PoolClient, QueryArrayConfig } from "pg";

import { AUDIT_QUERIES, type AuditQuery } from "./audit-queries.ts";
import { replayJournal } from "./audit-replay.ts";
import {
  auditCheck,
  AUDIT_EXAMPLES_MAX,
  type AuditCheck,
  type AuditProgress,
} from "./ledger-audit.ts";
import { lifeAuditQuery } from "./life-audit.ts";
import { PRICE_AUDIT_QUERIES } from "./price-audit.ts";
import { purchaseAuditQuery } from "./purchase-audit.ts";
import { settlementAuditQuery } from "./settlement-audit.ts";

const ALL_QUERIES: readonly AuditQuery[] = [
  ...AUDIT_QUERIES,
  ...PRICE_AUDIT_QUERIES,
  settlementAuditQuery,
  purchaseAuditQuery,
  lifeAuditQuery,
];

/** For each sort and hash; what needs more goes through files. */
const WORK_MEMORY = "64MB";

/**
 * Proves the books three times, on one snapshot and beside running traffic: every invariant as it
 * is stored, every account rebuilt from its transfers, and the whole journal replayed in memory.
 */
export async function auditLedger(
  pool: Pool,
  onProgress: (progress: AuditProgress) => void = () => undefined,
): Promise<readonly AuditCheck[]> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read, read only");
    await client.query(`set local statement_timeout = 0; set local work_mem = '${WORK_MEMORY}'`);
    // Before the snapshot: a day that is retired meanwhile would be missing in it, and not
    // reported.
    await client.query("lock table attempt in access share mode");
    const checks: AuditCheck[] = [];
    for (const query of ALL_QUERIES) {
      checks.push(await runQuery(client, query));
    }
    checks.push(...(await replayJournal(client, onProgress)));
    return checks.sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
  } finally {
    await client.query("rollback").catch(() => undefined);
    client.release();
  }
}

async function runQuery(client: PoolClient, query: AuditQuery): Promise<AuditCheck> {
  const sql = `select what, found, expected, count(*) over () from (${query.sql}) broken
    order by what limit ${AUDIT_EXAMPLES_MAX}`;
  const options: QueryArrayConfig = { text: sql, rowMode: "array" };
  const { rows } = await client.query<[string, string, string, bigint]>(options);
  const examples = rows.map(([row, found, expected]) => ({ row, found, expected }));
  return auditCheck(query, Number(rows[0]?.[3] ?? 0), examples);
}
