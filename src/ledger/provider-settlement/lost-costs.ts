import type { PoolClient } from "pg";

import { assert, type MicroUsd, picoUsd, type PicoUsd } from "../../kernel/index.ts";
import type { ClaimLine } from "./settlement-file.ts";
import type { SettlementTerms } from "./settlement-plan.ts";

/**
 * The verdict on a line of a provider's statement.
 * - `borne`: owed to the provider from now on, and charged to no customer.
 * - `borne_before`: an earlier run has given it the verdict `borne`.
 * - `ours`: the journal has the attempt and its cost.
 * - `put_back`: its cost is in a period that was put back from a file.
 * - `unsure`: it may have ended in such a period, or before or after it.
 * - `retired`: its day was taken out of the journal.
 * - `outside`: its time is in no time span from which a restore has removed attempts.
 * - `impossible`: no attempt can have this id or cost this amount.
 */
export type LostVerdict =
  "borne" | "borne_before" | "ours" | "put_back" | "unsure" | "retired" | "outside" | "impossible";

export interface LostClaim {
  readonly lines: readonly ClaimLine[];
  /** The time in which every attempt ends. A period contains the attempts that ended in it. */
  readonly longestMs: number;
}

export interface LostLine {
  readonly of: ClaimLine["of"];
  readonly id: string;
  readonly costPicoUsd: PicoUsd;
  readonly verdict: LostVerdict;
}

/** A closed period's file, read back into books that were restored to a time before its end. */
export interface ClosedPeriodFile extends SettlementTerms {
  readonly providerId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly costPicoUsd: PicoUsd;
  readonly carryOutPicoUsd: PicoUsd;
  readonly payableMicroUsd: MicroUsd;
  readonly lines: readonly {
    readonly admittedDayMs: number;
    readonly modelId: string;
    readonly upstreamModelId: string;
    readonly attempts: bigint;
    readonly costPicoUsd: PicoUsd;
  }[];
}

export interface PutBackOutcome {
  /** False if the books already have this period. */
  readonly created: boolean;
  readonly lostClaims: bigint;
  readonly lostPicoUsd: bigint;
}

/** A row for `bear_lost_costs`; JSON numbers would pass through a float, so amounts are texts. */
export interface LostCost {
  readonly ref: string;
  readonly life: number;
  readonly provider_id: string;
  readonly model_id: string;
  readonly upstream_model_id: string;
  readonly attempt_id: string;
  readonly ended_at: string;
  readonly claims: string;
  readonly cost_pico: string;
}

/** The model of a lost attempt that is not in the journal: a provider's claim names no model. */
const UNKNOWN_MODEL = "lost_in_restore";
const IMPOSSIBLE: LostVerdict = "impossible";
const LARGEST_ID = 2n ** 63n - 1n;
/** A million dollars, in pico-dollars. */
const LARGEST_COST = 10n ** 18n;

/**
 * Enters the costs that the books lost in a restore, from a provider's statement. Each lost line
 * becomes, once, a debt to the provider that is charged to no customer. Other lines are only
 * reported. Call it within `inSettlement`.
 */
export async function bearLostLines(
  client: PoolClient,
  providerId: string,
  { lines, longestMs }: LostClaim,
): Promise<readonly LostLine[]> {
  const all = [...addedUp(lines).values()];
  const claims = all.filter(isPossible);
  const impossible = all.filter((claim) => !isPossible(claim));
  const { rows } = await client.query<JudgedRow>(JUDGE_SQL, [
    providerId,
    claims.map(({ of }) => of),
    claims.map(({ id }) => id),
    longestMs,
  ]);
  const costs: LostCost[] = [];
  const judged = claims.map((claim, at): LostLine => {
    const row = rows[at];
    assert(row !== undefined, "every claim is judged");
    const verdict = judgeRow(row);
    if (verdict === "borne") costs.push(toLostCost(providerId, claim, row));
    return { ...claim, verdict };
  });
  await bearLostCosts(client, costs);
  return [...judged, ...impossible.map((claim) => ({ ...claim, verdict: IMPOSSIBLE }))];
}

/** Books each cost, unless its `ref` was booked before. */
export async function bearLostCosts(client: PoolClient, costs: readonly LostCost[]): Promise<void> {
  if (costs.length === 0) return;
  await client.query("select bear_lost_costs($1)", [JSON.stringify(costs)]);
}

function addedUp(lines: readonly ClaimLine[]): ReadonlyMap<string, ClaimLine> {
  const claims = new Map<string, ClaimLine>();
  for (const line of lines) {
    const name = `${line.of} ${line.id}`;
    const known = claims.get(name)?.costPicoUsd ?? 0n;
    claims.set(name, { ...line, costPicoUsd: picoUsd(known + line.costPicoUsd) });
  }
  return claims;
}

function isPossible({ of, id, costPicoUsd }: ClaimLine): boolean {
  const isId = of === "request" || BigInt(id) <= LARGEST_ID;
  return isId && costPicoUsd >= 0n && costPicoUsd <= LARGEST_COST;
}

interface JudgedRow {
  readonly as_of: bigint;
  readonly ended_at: Date;
  readonly model_id: string | null;
  readonly upstream_model_id: string | null;
  readonly is_ours: boolean;
  readonly is_borne: boolean;
  readonly is_put_back: boolean;
  readonly ends_put_back: boolean;
  readonly spans_put_back: boolean;
  readonly is_retired: boolean;
  readonly life: number | null;
}

function judgeRow(row: JudgedRow): LostVerdict {
  if (row.is_borne) return "borne_before";
  if (row.is_ours) return "ours";
  if (row.is_put_back) return row.ends_put_back ? "put_back" : "unsure";
  if (row.is_retired) return "retired";
  if (row.life === null) return "outside";
  return row.ends_put_back || row.spans_put_back ? "unsure" : "borne";
}

function toLostCost(providerId: string, claim: ClaimLine, row: JudgedRow): LostCost {
  assert(row.life !== null, "what is borne was lost in some life");
  return {
    ref: `lost:${providerId}:${claim.of}:${claim.id}`,
    life: row.life,
    provider_id: providerId,
    model_id: row.model_id ?? UNKNOWN_MODEL,
    upstream_model_id: row.upstream_model_id ?? UNKNOWN_MODEL,
    attempt_id: row.as_of.toString(),
    ended_at: row.ended_at.toISOString(),
    claims: "1",
    cost_pico: claim.costPicoUsd.toString(),
  };
}

/**
 * $1: the provider; $2: `attempt` or `request` for each claim; $3: the id of each claim; $4: the
 * time in which every attempt ends, in milliseconds. Returns one row for each claim. `life` is the
 * number of the reopening whose restore lost the attempt. An attempt that was open at the restore
 * is in the journal as void; its `life` is the reopening that voided it. If a claim is from before
 * the provider's next period, `ended_at` is now, so that this period includes the cost.
 */
const JUDGE_SQL = `
  with claim as (
    select t.of, t.id, t.n, case t.of when 'attempt' then t.id::bigint
        else attempt_id_at(to_timestamp(request_ms(t.id::uuid) / 1000.0)) end as as_of,
      case t.of when 'attempt' then t.id::bigint end as attempt_id,
      case t.of when 'request' then t.id::uuid end as request_id
    from unnest($2::text[], $3::text[]) with ordinality as t(of, id, n)
  ), put_back as (
    select p.start_at, p.end_at from provider_period p where p.provider_id = $1
      and exists (select from lost_cost l where l.provider_id = p.provider_id
        and l.ref like concat('lost:', p.provider_id, ':period:', to_char(p.start_at
          at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), ':%'))
  ), voided as (
    select * from attempt where provider_id = $1 and outcome = 'lost_in_restore'
  ), timed as (
    select c.of, c.id, c.n, c.as_of, c.request_id,
      coalesce(c.attempt_id, v.attempt_id) as attempt_id,
      timestamptz '2025-01-01 00:00Z' + (c.as_of >> 22) * interval '1 millisecond' as at
    from claim c left join voided v on v.request_id = c.request_id
  )
  select distinct on (c.n) c.as_of, v.model_id, v.upstream_model_id,
    case when c.at >= coalesce((select through from provider_progress where provider_id = $1),
      '-infinity') then c.at else closing_time() end as ended_at,
    v.attempt_id is null and (
      exists (select from journal j where j.attempt_id = c.attempt_id)
      or exists (select from journal j where j.request_id = c.request_id and j.provider_id = $1)
    ) as is_ours,
    exists (select from lost_cost l
      where l.ref = concat('lost:', $1::text, ':', c.of, ':', c.id)) as is_borne,
    exists (select from put_back p where c.at >= p.start_at and c.at < p.end_at) as is_put_back,
    exists (select from put_back p where c.at + $4 * interval '1 millisecond' >= p.start_at
      and c.at + $4 * interval '1 millisecond' < p.end_at) as ends_put_back,
    exists (select from put_back p where c.at + $4 * interval '1 millisecond' >= p.end_at
      and c.at < p.start_at) as spans_put_back,
    exists (select from retired_day r where r.day = attempt_day(c.as_of)) as is_retired,
    (
      select max(l.life) from ledger_life l where not l.is_nothing_lost
        and case when v.attempt_id is null then c.at >= l.lost_from and c.at < l.lost_until
          else l.open_attempts = 'void' and l.lost_until <= v.closed_at end
    ) as life
  from timed c
  left join voided v on v.attempt_id = c.attempt_id
  order by c.n`;
