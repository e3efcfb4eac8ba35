import type { Pool } from "pg";

import { microUsd, type MicroUsd } from "../../kernel/index.ts";

/** The sales of a listing for less than its provider is owed. */
export interface ListingLoss {
  readonly providerId: string;
  readonly modelId: string;
  readonly attempts: number;
  readonly lostMicroUsd: MicroUsd;
}

/** Listings that lost money in the last `days`, what lost most first. */
export async function listingLosses(pool: Pool, days: number): Promise<readonly ListingLoss[]> {
  const { rows } = await pool.query<LossRow>(LOSSES_SQL, [days]);
  return rows.map((row) => ({
    providerId: row.provider_id,
    modelId: row.model_id,
    attempts: Number(row.attempts),
    lostMicroUsd: microUsd(BigInt(row.lost)),
  }));
}

interface LossRow {
  readonly provider_id: string;
  readonly model_id: string;
  readonly attempts: bigint;
  readonly lost: string;
}

// The ids carry the time: older partitions are not read. Most attempts are owed what they cost.
const LOSSES_SQL = `
  select provider_id, model_id, count(*) as attempts,
    (-sum(margin_of(cost_pico, owed_pico)))::text as lost
  from attempt
  where attempt_id >= attempt_id_at(now() - $1::integer * interval '1 day')
    and owed_pico > cost_pico and margin_of(cost_pico, owed_pico) < 0
  group by 1, 2 order by sum(margin_of(cost_pico, owed_pico)), 1, 2`;
