import type { Pool, PoolClient } from "pg";

import {
  type Change,
  type ChangedBy,
  type ChangeLog,
  formatUsd,
  picoUsd,
  queryOne,
  type Row,
} from "../../kernel/index.ts";
import { amountColumns, factColumns, FACTS_SQL, sumColumns } from "./settlement-rows.ts";
import { boundaryAfter, halfDayAtOrBefore } from "./settlement-interval.ts";
import {
  inSettlement,
  moveBetweenPlatformAccounts,
  type PlatformMove,
} from "./settlement-moves.ts";
import {
  planPeriods,
  type LastPeriod,
  type SettlementFact,
  type PlannedPeriod,
  type SettlementPlan,
  type SettlementTerms,
} from "./settlement-plan.ts";
import type {
  ClosingOutcome,
  ClosingRequest,
  SettlementStatement,
  UnlistedProvider,
} from "./settlement-store.ts";

/** The terms of a provider without a manifest that was never settled before. */
const DEFAULT_TERMS: SettlementTerms = { mode: "arrears", interval: "monthly" };

/**
 * Closes every period that is over. First moves the settlement horizon forward, before which no
 * attempt can then end any more; then writes the periods in one transaction.
 */
export async function closeDuePeriods(
  { pool, changes }: { readonly pool: Pool; readonly changes: ChangeLog },
  request: ClosingRequest,
  by: ChangedBy,
): Promise<ClosingOutcome> {
  const throughMs = await moveHorizon(pool, request.untilMs);
  return await inSettlement(changes, by, async (client, note, nowMs) => {
    const providers = await dueProviders(client, request, throughMs);
    const plans = await planProviders(client, providers, throughMs);
    await writePlans(client, plans);
    plans.flatMap(toChanges).forEach(note);
    const hasClosed = plans.filter(({ plan }) => plan.periods.length > 0);
    return {
      closed: hasClosed.flatMap((each) => toStatements(each, nowMs)),
      throughMs,
      unlisted: hasClosed.flatMap(({ provider: { providerId, termsFrom } }) =>
        termsFrom === "manifest" ? [] : { providerId, termsFrom },
      ),
    };
  });
}

function toChanges({ provider: { providerId }, plan }: ProviderPlan): Change[] {
  return plan.periods.map((period) => ({
    action: "settlement.close",
    orgId: null,
    target: `${providerId} ${instantText(period.startMs)}`,
    before: null,
    after: {
      end: instantText(period.endMs),
      mode: period.mode,
      payable_usd: formatUsd(period.payableMicroUsd),
    },
  }));
}

export async function writePlans(
  client: PoolClient,
  plans: readonly ProviderPlan[],
): Promise<void> {
  await writePeriods(client, plans);
  await writeProgress(client, plans);
  await moveBetweenPlatformAccounts(client, plans.flatMap(planMoves));
}

/** Reads the time up to which a provider is settled. `terms` are those of its next period. */
export async function findProvider(
  client: PoolClient,
  providerId: string,
  terms: SettlementTerms,
): Promise<DueProvider> {
  const [row] = (await client.query<ProviderRow>(PROVIDERS_SQL, [providerId])).rows;
  if (row !== undefined) return dueProvider(row, terms);
  return { providerId, terms, termsFrom: "manifest", last: undefined, progressMs: undefined };
}

/** Reads the sums of the attempts that ended between `provider.progressMs` and `throughMs`. */
export async function readFacts(
  client: PoolClient,
  provider: DueProvider,
  throughMs: number,
): Promise<readonly SettlementFact[]> {
  return (await factsOfEach(client, [provider], throughMs)).get(provider.providerId) ?? [];
}

/** Moves the horizon on to the last noon or midnight UTC by `untilMs`, and returns this time. */
async function moveHorizon(pool: Pool, untilMs: number | undefined): Promise<number> {
  const { now } = await queryOne<{ now: Date }>(pool, "select clock_timestamp() as now");
  const nowMs = now.getTime();
  const throughMs = halfDayAtOrBefore(Math.min(nowMs, untilMs ?? nowMs));
  await pool.query("select advance_settlement_horizon($1)", [new Date(throughMs)]);
  return throughMs;
}

export interface DueProvider {
  readonly providerId: string;
  readonly terms: SettlementTerms;
  readonly termsFrom: "manifest" | UnlistedProvider["termsFrom"];
  readonly last: LastPeriod | undefined;
  /** The instant up to which the provider is settled; undefined if it never was. */
  readonly progressMs: number | undefined;
}

interface ProviderRow {
  readonly provider_id: string;
  readonly through: Date | null;
  readonly end_at: Date | null;
  readonly carry_out_pico: bigint | null;
  readonly mode: SettlementTerms["mode"] | null;
  readonly every: SettlementTerms["interval"] | null;
}

// Selects providers with prices or accounts: a provider that is owed something has an account, and
// a provider with only failed attempts has only prices.
const PROVIDERS_SQL = `
  select provider_id, g.through, l.end_at, l.carry_out_pico, l.mode, l.every
  from (
    select provider_id from price_pin
    union
    select split_part(account_id, ':', 2) from account
    where account_id like 'accrual:%' or account_id like 'unknown:%'
  ) p
  left join provider_progress g using (provider_id)
  left join lateral (
    select end_at, carry_out_pico, mode, every from provider_period o
    where o.provider_id = p.provider_id order by start_at desc limit 1
  ) l on true
  where $1::text is null or provider_id = $1 order by provider_id`;

async function dueProviders(
  client: PoolClient,
  { listed, providerId }: ClosingRequest,
  throughMs: number,
): Promise<readonly DueProvider[]> {
  const { rows } = await client.query<ProviderRow>(PROVIDERS_SQL, [providerId ?? null]);
  return rows
    .map((row) => dueProvider(row, listed.get(row.provider_id)))
    .filter(
      ({ progressMs, terms }) =>
        progressMs === undefined || boundaryAfter(progressMs, terms.interval) <= throughMs,
    );
}

function dueProvider(row: ProviderRow, listed: SettlementTerms | undefined): DueProvider {
  const { mode, every, end_at, carry_out_pico } = row;
  const earlier = mode === null || every === null ? undefined : { mode, interval: every };
  return {
    providerId: row.provider_id,
    terms: listed ?? earlier ?? DEFAULT_TERMS,
    termsFrom:
      listed !== undefined ? "manifest" : earlier !== undefined ? "last_period" : "default",
    last:
      end_at === null || carry_out_pico === null
        ? undefined
        : { endMs: end_at.getTime(), carryOutPicoUsd: picoUsd(carry_out_pico) },
    progressMs: row.through?.getTime(),
  };
}

export interface ProviderPlan {
  readonly provider: DueProvider;
  readonly plan: SettlementPlan;
}

async function planProviders(
  client: PoolClient,
  providers: readonly DueProvider[],
  throughMs: number,
): Promise<readonly ProviderPlan[]> {
  if (providers.length === 0) return [];
  await client.query(SUMMARIZE_SQL);
  const facts = await factsOfEach(client, providers, throughMs);
  return providers.map((provider) => {
    const { terms, last, providerId } = provider;
    const own = facts.get(providerId) ?? [];
    return { provider, plan: planPeriods({ terms, last, facts: own, throughMs }) };
  });
}

async function factsOfEach(
  client: PoolClient,
  providers: readonly DueProvider[],
  throughMs: number,
): Promise<ReadonlyMap<string, readonly SettlementFact[]>> {
  const froms = providers.map(({ progressMs }) => progressMs);
  const known = froms.filter((from) => from !== undefined);
  const result = await client.query<Row & { readonly provider_id: string }>(FACTS_SQL, [
    providers.map(({ providerId }) => providerId),
    froms.map(instantText),
    instantText(known.length < froms.length ? undefined : Math.min(...known)),
    instantText(throughMs),
  ]);
  const facts = new Map<string, SettlementFact[]>(providers.map((each) => [each.providerId, []]));
  for (const row of result.rows) facts.get(row.provider_id)?.push(factColumns.read(row));
  return facts;
}

// Adds new rows to the index of closings. Without this, each closing of periods would read all new
// rows until the next vacuum.
const SUMMARIZE_SQL = `
  select brin_summarize_new_values(relid) from pg_partition_tree('attempt_by_closing')
  where isleaf`;

function instantText(atMs: number | undefined): string {
  return atMs === undefined ? "-infinity" : new Date(atMs).toISOString();
}

const INSERT_PERIODS_SQL = `
  insert into provider_period (provider_id, start_at, end_at, after_end_at, mode, every,
    ${amountColumns.sql})
  select * from jsonb_to_recordset($1) as t(provider_id text, start_at timestamptz,
    end_at timestamptz, after_end_at timestamptz, mode text, every text,
    ${amountColumns.typesSql})`;

const INSERT_LINES_SQL = `
  insert into provider_period_line (provider_id, start_at, admitted_on, model_id,
    upstream_model_id, ${sumColumns.sql})
  select * from jsonb_to_recordset($1) as t(provider_id text, start_at timestamptz,
    admitted_on date, model_id text, upstream_model_id text, ${sumColumns.typesSql})`;

async function writePeriods(client: PoolClient, plans: readonly ProviderPlan[]): Promise<void> {
  const periods = plans.flatMap(({ provider, plan }) =>
    plan.periods.map((period) => ({ providerId: provider.providerId, period })),
  );
  if (periods.length === 0) return;
  await client.query(INSERT_PERIODS_SQL, [toJson(periods.map(periodColumns))]);
  await client.query(INSERT_LINES_SQL, [toJson(periods.flatMap(lineColumns))]);
}

interface NamedPeriod {
  readonly providerId: string;
  readonly period: PlannedPeriod;
}

function periodColumns({ providerId, period }: NamedPeriod): object {
  return {
    provider_id: providerId,
    start_at: instantText(period.startMs),
    end_at: instantText(period.endMs),
    after_end_at: period.afterMs === undefined ? null : instantText(period.afterMs),
    mode: period.mode,
    every: period.interval,
    ...amountColumns.record(period),
  };
}

function lineColumns({ providerId, period }: NamedPeriod): object[] {
  return period.lines.map((line) => ({
    provider_id: providerId,
    start_at: instantText(period.startMs),
    admitted_on: instantText(line.admittedDayMs).slice(0, 10),
    model_id: line.modelId,
    upstream_model_id: line.upstreamModelId,
    ...sumColumns.record(line.sums),
  }));
}

/** Writes rows as JSON with amounts as texts, because JSON numbers would pass through a float. */
function toJson(rows: readonly object[]): string {
  return JSON.stringify(rows, (_key, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value,
  );
}

const WRITE_PROGRESS_SQL = `
  insert into provider_progress (provider_id, through)
  select * from unnest($1::text[], $2::timestamptz[])
  on conflict (provider_id) do update set through = excluded.through`;

async function writeProgress(client: PoolClient, plans: readonly ProviderPlan[]): Promise<void> {
  await client.query(WRITE_PROGRESS_SQL, [
    plans.map(({ provider }) => provider.providerId),
    plans.map(({ plan }) => instantText(plan.throughMs)),
  ]);
}

function planMoves({ provider: { providerId }, plan }: ProviderPlan): PlatformMove[] {
  const accrual = `accrual:${providerId}`;
  return plan.periods.flatMap((period) => {
    const ref = `period:${providerId}:${instantText(period.startMs)}`;
    const owed = period.mode === "prepaid" ? `deposit:${providerId}` : `payable:${providerId}`;
    const kind = "period" as const;
    const { roundingMicroUsd: rounding, payableMicroUsd: payable } = period;
    return [
      { kind, debit: "rounding", credit: accrual, amount: rounding, ref: `${ref}:rounding` },
      { kind, debit: accrual, credit: owed, amount: payable, ref: `${ref}:payable` },
    ].filter(({ amount }) => amount > 0n);
  });
}

function toStatements({ provider, plan }: ProviderPlan, closedAtMs: number): SettlementStatement[] {
  const { providerId } = provider;
  return plan.periods.map(({ lines, ...period }) => ({
    period: { ...period, providerId, closedAtMs, payment: null },
    lines,
    claims: [],
  }));
}
