import type { PoolClient } from "pg";

import { queryOne } from "../../kernel/index.ts";
import {
  type AuditSpan,
  type IdRange,
  monthsSql,
  type OrgRange,
  type Range,
} from "./audit-span.ts";

/**
 * An audit divides the organizations into ranges of about this many journal lines at most, because
 * it sorts and replays a whole range at once. An attempt's hold is one line, its closing another.
 */
const REPLAY_LINES_MAX = 20_000_000;
/** Ranges of fewer attempts are not worth a statement of their own. */
const PIECE_ATTEMPTS_MIN = 20_000;
const DAY_OF_IDS = 86_400_000n << 22n;

export interface AuditPlan {
  readonly pieces: readonly IdRange[];
  readonly orgs: readonly OrgRange[];
}

export async function planAudit(
  client: PoolClient,
  span: AuditSpan,
  { lines, jobs }: { readonly lines: number; readonly jobs: number },
): Promise<AuditPlan> {
  const attempts = lines / 2;
  const pieces = await splitSpan(client, span, Math.ceil(attempts / PIECE_ATTEMPTS_MIN));
  const ranges = attempts < PIECE_ATTEMPTS_MIN ? 1 : jobs;
  const count = Math.max(ranges, Math.ceil(lines / REPLAY_LINES_MAX));
  return { pieces, orgs: splitOrgs(await weights(client, span), count) };
}

/**
 * Divides the attempt ids into ranges, each between an eighth of a day and a day long. Returns one
 * range if the span has few attempts. The first range has no lower and the last no upper bound, so
 * that together they cover all ids, also those of earlier attempts that were corrected later.
 */
async function splitSpan(
  client: PoolClient,
  span: AuditSpan,
  countMax: number,
): Promise<readonly IdRange[]> {
  const PIECES_PER_DAY = 8n;
  const { first, last } = await queryOne<{ first: bigint | null; last: bigint | null }>(
    client,
    "select min(attempt_id) as first, max(attempt_id) as last from attempt where attempt_id >= $1",
    [span?.fromAttempt ?? 0n],
  );
  if (first === null || last === null || countMax <= 1) return [{}];
  const finest = DAY_OF_IDS / PIECES_PER_DAY;
  const coarse = (last - first) / BigInt(countMax) + 1n;
  const step = coarse > DAY_OF_IDS ? DAY_OF_IDS : coarse > finest ? coarse : finest;
  const bounds: bigint[] = [];
  for (let bound = first + step; bound <= last; bound += step) bounds.push(bound);
  return between(bounds);
}

interface Weight {
  readonly org: string;
  readonly weight: number;
}

/** Reads the spend of each organization, as a rough measure of how many journal lines it has. */
async function weights(client: PoolClient, span: AuditSpan): Promise<readonly Weight[]> {
  const { rows } = await client.query<{ org: string; weight: string }>(`
    select id as org, sum(settled)::text as weight from spend
    where scope = 'org' and ${monthsSql(span, "month")} group by id order by id collate "C"`);
  return rows.map(({ org, weight }) => ({ org, weight: Number(weight) }));
}

export function splitOrgs(orgs: readonly Weight[], count: number): readonly OrgRange[] {
  const all = orgs.reduce((sum, { weight }) => sum + weight, 0);
  const bounds: string[] = [];
  let sum = 0;
  for (const { org, weight } of orgs) {
    if (sum > 0 && sum >= (all * (bounds.length + 1)) / count) bounds.push(org);
    sum += weight;
  }
  return between(bounds);
}

function between<T>(bounds: readonly T[]): readonly Range<T>[] {
  return [...bounds, undefined].map((until, at) => ({ from: bounds[at - 1], until }));
}
