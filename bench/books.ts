import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openPostgresBackend, type PostgresBackend } from "../src/app/open-postgres-backend.ts";
import { systemClock } from "../src/kernel/core/time.ts";
import type { Ledger } from "../src/ledger/ledger-store.ts";
import { openLedger } from "../src/ledger/open-ledger.ts";
import { startEmbeddedPostgres } from "../src/kernel/storage/embedded-server.ts";
import { closeRow, reserveRow } from "../test/support/ledger-rows.ts";
import { descendantsOf } from "../test/support/process-cost.ts";
import { share } from "./program.ts";
import type { Active } from "./sizes.ts";

export const QUIET_LOG = {
  info: (): void => undefined,
  warn: console.warn,
  error: console.error,
};

/** A running PostgreSQL server with the settings of this gateway's embedded one. */
export interface BenchDatabase {
  readonly connectionString: string;
  processIds(): readonly number[];
  stop(): Promise<void>;
}

/** A gateway that runs on the same folder uses the same server. */
export async function startDatabase(folder: string): Promise<BenchDatabase> {
  const server = await startEmbeddedPostgres({ dataDir: folder, log: QUIET_LOG });
  return {
    connectionString: server.connectionString,
    processIds: () => serverProcessIds(join(server.dataDir, "cluster")),
    stop: () => server.stop(),
  };
}

/** Returns the process ids of the server on this data folder and of its sessions. */
export function serverProcessIds(dataFolder: string): readonly number[] {
  const [first] = readFileSync(join(dataFolder, "postmaster.pid"), "utf8").split("\n");
  const processId = Number(first);
  return [processId, ...descendantsOf(processId)];
}

/** The database of an installation, with the stores on it. */
export interface OpenBooks extends BenchDatabase {
  readonly backend: PostgresBackend;
}

export async function openBooks(dataFolder: string): Promise<OpenBooks> {
  const database = await startDatabase(dataFolder);
  const { connectionString } = database;
  const backend = openPostgresBackend({ connectionString, log: QUIET_LOG });
  return {
    ...database,
    backend,
    stop: async () => {
      await backend.close();
      await database.stop();
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

const RESERVE_MICRO_USD = 2_500n;
const COST_MICRO_USD = 1_932n;

/**
 * Runs cycles for `windowMs`, `inFlight` of them at a time: a durable reserve and its settlement.
 * The callers take turns. `perSecond` counts cycles in wall time.
 */
export async function measureCycles(
  ledger: Ledger,
  callers: readonly Active[],
  { inFlight, windowMs }: { readonly inFlight: number; readonly windowMs: number },
) {
  const reserveMs: number[] = [];
  const settleMs: number[] = [];
  const startMs = systemClock.monotonicMs();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (systemClock.monotonicMs() - startMs < windowMs) {
      const caller = callers[next % callers.length];
      next += 1;
      if (caller === undefined) throw new Error("a ledger is measured with a caller");
      const { orgId, keyId, modelId, providerId, pinId: pricePinId } = caller;
      const attemptId = ledger.newAttemptId();
      const of = { orgId, keyId, attemptId };
      const row = reserveRow(of, RESERVE_MICRO_USD, { modelId, providerId, pricePinId });
      const askedMs = systemClock.monotonicMs();
      const outcome = await ledger.reserve(row);
      const heldMs = systemClock.monotonicMs();
      if (outcome.kind !== "reserved") throw new Error(JSON.stringify(outcome));
      await ledger.close(closeRow(attemptId, COST_MICRO_USD));
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
