import { openPostgresBackend, type PostgresBackend } from "../src/app/open-postgres-backend.ts";
import { createRequestId } from "../src/kernel/core/ids.ts";
import { microUsd, picoUsd } from "../src/kernel/core/money.ts";
import { systemClock } from "../src/kernel/core/time.ts";
import type { CloseRow, Ledger, ReserveRow } from "../src/ledger/ledger-store.ts";
import { openLedger } from "../src/ledger/open-ledger.ts";
import { startEmbeddedPostgres } from "../src/kernel/storage/embedded-server.ts";
import { share } from "./program.ts";
import type { Active } from "./sizes.ts";

export const QUIET_LOG = {
  info: (): void => undefined,
  warn: console.warn,
  error: console.error,
};

/** The database of an installation. A gateway that runs on the same folder uses the same server. */
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

/** Opens a ledger in this process, so that reserve and settle can be measured without HTTP. */
export async function openBenchLedger({ backend }: OpenBooks): Promise<Ledger> {
  return await openLedger({
    store: backend.ledgerBatchStore,
    clock: systemClock,
    log: QUIET_LOG,
    instanceName: "bench",
  });
}

/** A cycle is a durable reserve and its settlement. `perSecond` counts cycles in wall time. */
export interface Cycles {
  readonly count: number;
  readonly perSecond: number;
  readonly reserveP50Ms: number;
  readonly reserveP99Ms: number;
  readonly settleP50Ms: number;
  readonly settleP99Ms: number;
}

/** Runs cycles for `windowMs`, `inFlight` of them at a time. The callers take turns. */
export async function measureCycles(
  ledger: Ledger,
  callers: readonly Active[],
  { inFlight, windowMs }: { readonly inFlight: number; readonly windowMs: number },
): Promise<Cycles> {
  const reserveMs: number[] = [];
  const settleMs: number[] = [];
  const startMs = systemClock.monotonicMs();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (systemClock.monotonicMs() - startMs < windowMs) {
      const caller = callers[next % callers.length];
      next += 1;
      if (caller === undefined) throw new Error("a ledger is measured with a caller");
      const row = rowOf(ledger, caller);
      const askedMs = systemClock.monotonicMs();
      const outcome = await ledger.reserve(row);
      const heldMs = systemClock.monotonicMs();
      if (outcome.kind !== "reserved") throw new Error(JSON.stringify(outcome));
      await ledger.close(closeOf(row.attemptId));
      reserveMs.push(heldMs - askedMs);
      settleMs.push(systemClock.monotonicMs() - heldMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return {
    count: reserveMs.length,
    perSecond: (reserveMs.length * 1_000) / (systemClock.monotonicMs() - startMs),
    reserveP50Ms: share(reserveMs, 0.5),
    reserveP99Ms: share(reserveMs, 0.99),
    settleP50Ms: share(settleMs, 0.5),
    settleP99Ms: share(settleMs, 0.99),
  };
}

function rowOf(ledger: Ledger, caller: Active): ReserveRow {
  const { orgId, keyId, modelId, providerId, pinId } = caller;
  return {
    attemptId: ledger.newAttemptId(),
    requestId: createRequestId(systemClock.nowMs()),
    ordinal: 1,
    orgId,
    keyId,
    modelId,
    providerId,
    upstreamModelId: "upstream-a",
    pricePinId: pinId,
    route: "/v1/chat/completions",
    stream: false,
    estimatedTokens: 1_000,
    reserveMicroUsd: microUsd(2_500n),
  };
}

function closeOf(attemptId: CloseRow["attemptId"]): CloseRow {
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
