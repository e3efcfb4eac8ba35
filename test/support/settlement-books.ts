import type { SettlementInterval } from "../../src/ledger/provider-settlement/settlement-interval.ts";
import type { SettlementMode } from "../../src/ledger/provider-settlement/settlement-plan.ts";
import type {
  ProviderBalance,
  ProviderPeriod,
  SettlementEntry,
} from "../../src/ledger/provider-settlement/settlement-rows.ts";
import { wholePeriod } from "../../src/ledger/provider-settlement/settlement-entries.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { testOperator } from "./test-operator.ts";

export interface ClosingTerms {
  readonly id: string;
  /** Default: arrears. */
  readonly mode?: SettlementMode;
  /** Default: daily. */
  readonly every?: SettlementInterval;
}

export async function closeUntil(
  backend: PostgresBackend,
  until: string,
  { id, mode = "arrears", every = "daily" }: ClosingTerms,
): Promise<readonly ProviderPeriod[]> {
  const outcome = await backend.settlementStore.closeDuePeriods(
    {
      listed: new Map([[id, { mode, interval: every }]]),
      providerId: id,
      untilMs: Date.parse(until),
    },
    testOperator,
  );
  return outcome.closed.map(({ period }) => period);
}

export async function entriesOf(
  backend: PostgresBackend,
  period: ProviderPeriod | undefined,
): Promise<readonly SettlementEntry[]> {
  if (period === undefined) throw new Error("no such period");
  const blocks: SettlementEntry[][] = [];
  for await (const block of wholePeriod(period, backend.settlementStore.entries(period))) {
    blocks.push([...block]);
  }
  return blocks.flat();
}

export async function balanceOf(backend: PostgresBackend, id: string): Promise<ProviderBalance> {
  const [balance] = await backend.settlementStore.balances(id);
  if (balance === undefined) throw new Error(`${id} has no account`);
  return balance;
}

export function spansOf(periods: readonly ProviderPeriod[]): readonly string[] {
  const minute = (ms: number): string => new Date(ms).toISOString().slice(0, 16);
  return periods.map(({ startMs, endMs }) => `${minute(startMs)} ${minute(endMs)}`);
}
