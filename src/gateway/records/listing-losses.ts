import type { Pool } from "pg";

import { columns, count, micro, type MicroUsd, type Row, text } from "../../kernel/index.ts";
import type { FlaggedListing } from "../../ledger/index.ts";
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
  return (await pool.query<Row>(LOSSES_SQL, [days])).rows.map(lossColumns.read);
}

const counted = {
  providerId: text("provider_id"),
  modelId: text("model_id"),
  attempts: count("attempts"),
} as const;
const lossColumns = columns<ListingLoss>({ ...counted, lostMicroUsd: micro("lost") });

const LOSSES_SQL = `
  select provider_id, model_id, sum(losses)::bigint as attempts, sum(lost)::bigint as lost
  from (${partsSinceSql("now() - $1::integer * interval '1 day'")}) part where losses > 0
  group by 1, 2 order by sum(lost) desc, 1, 2`;

/** Listings whose providers reported what cannot be, with how often, since `days` ago. */
export async function flaggedListings(
  pool: Pool,
  days: number,
): Promise<readonly FlaggedListing[]> {
  return (await pool.query<Row>(FLAGGED_SQL, [days])).rows.map(flaggedColumns.read);
}

const flaggedColumns = columns<FlaggedListing>({ flag: text("error_class"), ...counted });

// The ids carry the time: older partitions are not read.
const FLAGGED_SQL = `
  select error_class, provider_id, model_id, count(*) as attempts from attempt
  where attempt_id >= attempt_id_at(now() - $1::integer * interval '1 day')
    and error_class = 'usage_impossible'
  group by 1, 2, 3 order by 4 desc, 2, 3`;
