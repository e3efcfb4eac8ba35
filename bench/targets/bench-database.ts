import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../../src/kernel/index.ts";
import { descendantsOf } from "../../test/support/process-cost.ts";

/** A PostgreSQL of a peer's own, with the settings that this gateway's embedded one has. */
export interface BenchDatabase {
  readonly connectionString: string;
  processIds(): readonly number[];
  stop(): Promise<void>;
}

export async function startDatabase(folder: string): Promise<BenchDatabase> {
  const log = pino({ level: "silent" });
  const server = await startEmbeddedPostgres({ dataDir: folder, log });
  const [first] = readFileSync(join(server.dataDir, "cluster", "postmaster.pid"), "utf8").split(
    "\n",
  );
  const processId = Number(first);
  return {
    connectionString: server.connectionString,
    processIds: () => [processId, ...descendantsOf(processId)],
    stop: () => server.stop(),
  };
}
