import type { Pool } from "pg";

import type { FlaggedListing } from "../../ledger/index.ts";

/** Listings whose providers reported what cannot be, with how often, since `days` ago. */
export async function flaggedListings(
  pool: Pool,
  days: number,
): Promise<readonly FlaggedListing[]> {
  const { rows } = await pool.query<FlaggedRow>(FLAGGED_SQL, [days]);
  return rows.map((row) => ({
    flag: row.error_class,
    providerId: row.provider_id,
    modelId: row.model_id,
    attempts: Number(row.attempts),
  }));
}

interface FlaggedRow {
  readonly error_class: string;
  readonly provider_id: string;
  readonly model_id: string;
  readonly attempts: bigint;
}

// The ids carry the time: older partitions are not read.
const FLAGGED_SQL = `
  select error_class, provider_id, model_id, count(*) as attempts from attempt
  where attempt_id >= attempt_id_at(now() - $1::integer * interval '1 day')
    and error_class = 'usage_impossible'
  group by 1, 2, 3 order by 4 desc, 2, 3`;
