import type { PoolClient } from "pg";

import { assert, attemptIdFrom } from "../../kernel/index.ts";
import {
  bearLostCosts,
  type ClosedPeriodFile,
  type LostCost,
  type PutBackOutcome,
} from "./lost-costs.ts";
import { type DueProvider, findProvider, readFacts, writePlans } from "./settlement-close.ts";
import { planPeriods, type SettlementLine, sumLines, toLineKey } from "./settlement-plan.ts";
import { describePeriod, SettlementFault } from "./settlement-store.ts";

/**
 * After a restore, closes a settlement period again from its signed file. Costs that the journal
 * has lost are still owed to the provider, and charged to no customer. Payable, exact cost and
 * carry-over must match the file, or nothing changes. Call it within `inSettlement`.
 */
export async function putBackPeriod(
  client: PoolClient,
  file: ClosedPeriodFile,
): Promise<PutBackOutcome> {
  if (await isKnown(client, file)) return { created: false, lostClaims: 0n, lostPicoUsd: 0n };
  const life = await lifeAfter(client, file);
  const { mode, interval } = file;
  const provider = await findProvider(client, file.providerId, { mode, interval });
  const ours = sumLines(await readFacts(client, provider, file.endMs));
  await bearLostCosts(client, lostCosts(file, provider, life, ours));
  const facts = await readFacts(client, provider, file.endMs);
  const { terms, last } = provider;
  const plan = planPeriods({ terms, last, facts, throughMs: file.endMs });
  const [period, ...more] = plan.periods;
  const isSame =
    period !== undefined &&
    more.length === 0 &&
    period.startMs === file.startMs &&
    period.endMs === file.endMs &&
    period.payableMicroUsd === file.payableMicroUsd &&
    period.sums.costPicoUsd === file.costPicoUsd &&
    period.carryOutPicoUsd === file.carryOutPicoUsd;
  if (!isSame) throw toFault(file, "put back the provider's earlier periods first, in their order");
  await writePlans(client, [{ provider, plan }]);
  const { lostClaims, lostPicoUsd } = period.sums;
  return { created: true, lostClaims, lostPicoUsd };
}

async function isKnown(client: PoolClient, file: ClosedPeriodFile): Promise<boolean> {
  const { providerId, payableMicroUsd, costPicoUsd } = file;
  const span = [new Date(file.startMs), new Date(file.endMs)];
  const values = [providerId, ...span, payableMicroUsd, costPicoUsd];
  const [known] = (await client.query<{ same: boolean }>(KNOWN_SQL, values)).rows;
  if (known === undefined) return false;
  if (known.same) return true;
  throw toFault(file, "the books have another period of this provider at that time");
}

const KNOWN_SQL = `
  select (start_at, end_at, payable, cost_pico) = ($2, $3, $4::bigint, $5::numeric) as same
  from provider_period where provider_id = $1 and start_at < $3 and end_at > $2`;

async function lifeAfter(client: PoolClient, file: ClosedPeriodFile): Promise<number> {
  const { rows } = await client.query<{ life: number }>(LIFE_SQL, [new Date(file.endMs)]);
  const life = rows[0]?.life;
  if (life !== undefined) return life;
  throw toFault(file, "the books were not reopened since; run `tokenmarket ledger reopen` first");
}

const LIFE_SQL = `
  select life from ledger_life where lost_until >= $1 and not is_nothing_lost
  order by life desc limit 1`;

function lostCosts(
  file: ClosedPeriodFile,
  provider: DueProvider,
  life: number,
  ours: readonly SettlementLine[],
): LostCost[] {
  const known = new Map(ours.map((line) => [toLineKey(line), line.sums]));
  // A cost dated before the time up to which the provider is settled would be in no period.
  const endedMs = Math.max(file.startMs, provider.progressMs ?? file.startMs);
  const lost = file.lines.flatMap((line): LostCost[] => {
    const have = known.get(toLineKey(line));
    known.delete(toLineKey(line));
    const claims = line.attempts - (have?.attempts ?? 0n);
    const cost = line.costPicoUsd - (have?.costPicoUsd ?? 0n);
    if (claims < 0n || cost < 0n) throw toFault(file, MORE);
    if (claims === 0n && cost === 0n) return [];
    const start = new Date(file.startMs).toISOString();
    const day = new Date(line.admittedDayMs).toISOString().slice(0, 10);
    return [
      {
        ref: `lost:${file.providerId}:period:${start}:${day}:${line.modelId}:${line.upstreamModelId}`,
        life,
        provider_id: file.providerId,
        model_id: line.modelId,
        upstream_model_id: line.upstreamModelId,
        attempt_id: String(attemptIdFrom(line.admittedDayMs)),
        ended_at: new Date(endedMs).toISOString(),
        claims: claims.toString(),
        cost_pico: cost.toString(),
      },
    ];
  });
  if (known.size > 0) throw toFault(file, MORE);
  assert(endedMs < file.endMs, "what was lost ends within its period");
  return lost;
}

const MORE = "the journal has attempts of that time that are not in it: it is of other books";

function toFault(file: ClosedPeriodFile, why: string): SettlementFault {
  return new SettlementFault("not_put_back", `${describePeriod(file)} was not put back: ${why}`);
}
