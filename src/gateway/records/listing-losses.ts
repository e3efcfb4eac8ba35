import type { Pool } from "pg";

import { microUsd, type MicroUsd } from "../../kernel/index.ts";
import { partsSinceSql } from "./operator-desk.ts";

/** The sales of a listing for less than its provider is owed. */
export interface ListingLoss {
  readonly providerId: string;
  readonly modelId: string;
  readonly attempts: number;
  readonly lostMicroUsd: MicroUsd;
}

/**
 * Listings that lost money in the last `days`, what lost most first: from sums, which have an hour
 * soon after it is over.
 */
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

const LOSSES_SQL = `
  select provider_id, model_id, sum(losses)::bigint as attempts, sum(lost)::text as lost
  from (${partsSinceSql("now() - $1::integer * interval '1 day'")}) part where losses > 0
  group by 1, 2 order by sum(lost) desc, 1, 2`;
