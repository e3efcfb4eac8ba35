import { openPostgresBackend, type PostgresBackend } from "../src/app/open-postgres-backend.ts";
import { type AttemptId, newRequestId } from "../src/core/ids.ts";
import { microUsd, picoUsd } from "../src/core/money.ts";
import { systemClock } from "../src/core/time.ts";
import type { CloseRow, Ledger, ReserveRow } from "../src/ledger/ledger-store.ts";
import { openLedger } from "../src/ledger/open-ledger.ts";
import { startEmbeddedPostgres } from "../src/storage/embedded-server.ts";
import type { Active } from "./growth-plan.ts";
import { median } from "./results.ts";

export const QUIET_LOG = {
  info: (): void => undefined,
  warn: console.warn,
  error: console.error,
};

/** The database of an installation, shared with the gateway that runs on it, if one does. */
export interface OpenBooks {
  readonly connectionString: string;
  readonly backend: PostgresBackend;
  close(): Promise<void>;
}

export async function openBooks(dataFolder: string): Promise<OpenBooks> {
  const server = await startEmbeddedPostgres({ dataDir: dataFolder, log: QUIET_LOG });
  const { connectionString } = server;
  const backend = openPostgresBackend({ connectionString, log: QUIET_LOG });
  return {
    connectionString,
    backend,
    close: async () => {
      await backend.close();
      await server.stop();
    },
  };
}

/** A ledger beside the gateway's, in this process: cycles of reserve and settle without HTTP. */
export async function openBenchLedger({ backend }: OpenBooks): Promise<Ledger> {
  return await openLedger({
    store: backend.ledgerBatchStore,
    clock: systemClock,
    log: QUIET_LOG,
    instanceName: "bench",
  });
}

export interface CycleTimes {
  readonly reserveP50Ms: number;
  readonly settleP50Ms: number;
}

const IN_FLIGHT = 8;

/** Cycles of the callers in turn, a few in flight. */
export async function measureCycles(
  ledger: Ledger,
  callers: readonly Active[],
  windowMs: number,
): Promise<CycleTimes> {
  const reserveMs: number[] = [];
  const settleMs: number[] = [];
  const endMs = systemClock.monotonicMs() + windowMs;
  let next = 0;
  const worker = async (): Promise<void> => {
    while (systemClock.monotonicMs() < endMs) {
      const caller = callers[next % callers.length];
      next += 1;
      if (caller === undefined) throw new Error("a ledger is measured with a caller");
      const row = rowOf(ledger.newAttemptId(), caller);
      const askedMs = systemClock.monotonicMs();
      const outcome = await ledger.reserve(row);
      const heldMs = systemClock.monotonicMs();
      if (outcome.kind !== "reserved") throw new Error(JSON.stringify(outcome));
      await ledger.close(closeOf(row.attemptId));
      reserveMs.push(heldMs - askedMs);
      settleMs.push(systemClock.monotonicMs() - heldMs);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return { reserveP50Ms: median(reserveMs), settleP50Ms: median(settleMs) };
}

export function rowOf(attemptId: AttemptId, caller: Active): ReserveRow {
  return {
    attemptId,
    requestId: newRequestId(systemClock.nowMs()),
    ordinal: 1,
    orgId: caller.orgId,
    keyId: caller.keyId,
    modelId: caller.modelId,
    providerId: caller.providerId,
    upstreamModelId: "upstream-a",
    pricePinId: caller.pinId,
    route: "/v1/chat/completions",
    stream: false,
    estimatedTokens: 1_000,
    reserveMicroUsd: microUsd(2_500n),
  };
}

export function closeOf(attemptId: AttemptId): CloseRow {
  return {
    attemptId,
    outcome: "completed",
    usage: { prompt: 100, cachedPrompt: 0, cacheWrite: 0, completion: 50, internalReasoning: 0 },
    basis: "reported",
    costPicoUsd: picoUsd(1_932_000_017n),
    upstreamStatus: 200,
    errorClass: null,
    startedAtMs: systemClock.nowMs(),
    firstByteMs: 3,
    durationMs: 5,
    final: true,
  };
}
