import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../../src/kernel/index.ts";
import { descendantsOf } from "../../test/support/process-cost.ts";

/** A running PostgreSQL server with the settings of this gateway's embedded one. */
export interface BenchDatabase {
  readonly connectionString: string;
  processIds(): readonly number[];
  stop(): Promise<void>;
}

export async function startDatabase(folder: string): Promise<BenchDatabase> {
  const log = pino({ level: "silent" });
  const server = await startEmbeddedPostgres({ dataDir: folder, log });
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
