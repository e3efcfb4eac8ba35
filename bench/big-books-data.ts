import { chmodSync, existsSync, mkdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { systemClock } from "../src/kernel/core/time.ts";
import { startEmbeddedPostgres } from "../src/kernel/storage/embedded-server.ts";
import { QUIET_LOG } from "./books.ts";
import { fillBooks } from "./fill-books.ts";
import type { Say } from "./program.ts";
import type { Sizes } from "./sizes.ts";

/** Filling stops when the disk has fewer free bytes. */
const FREE_BYTES_MIN = 12_000_000_000;
const LOOK_EVERY_MS = 5_000;
/** For filling only: after a crash, the books are filled again. */
const FILLING: Readonly<Record<string, string>> = {
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "3GB",
  checkpoint_timeout: "15min",
  shared_buffers: "1GB",
  autovacuum: "off",
};

export interface Filled {
  readonly sizes: Sizes;
  readonly seconds: number;
}

/** Undefined until the books of the folder are complete. */
export function readFilled(folder: string): Filled | undefined {
  const file = join(folder, "filled.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Filled) : undefined;
}

/** Fills the books of an empty folder, once. */
export async function fillBigBooks(folder: string, sizes: Sizes, say: Say): Promise<Filled> {
  const dataDir = join(folder, "data");
  if (existsSync(dataDir)) throw new Error(`${dataDir} is half filled; remove it and begin again`);
  mkdirSync(dataDir, { recursive: true });
  for (const each of [folder, dataDir]) chmodSync(each, 0o755); // the database runs as another user
  const startMs = systemClock.monotonicMs();
  await configure(
    dataDir,
    Object.entries(FILLING).map(([name, value]) => `${name} = '${value}'`),
  );
  const server = await startEmbeddedPostgres({ dataDir, log: QUIET_LOG });
  const guard = setInterval(() => {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize > FREE_BYTES_MIN) return;
    say("the disk is nearly full: the filling is stopped");
    void server.stop().finally(() => process.exit(1));
  }, LOOK_EVERY_MS);
  try {
    await fillBooks(dataDir, sizes, say);
  } finally {
    clearInterval(guard);
    await server.stop();
  }
  await configure(
    dataDir,
    Object.keys(FILLING).map((name) => `${name} = default`),
  );
  const filled = { sizes, seconds: (systemClock.monotonicMs() - startMs) / 1_000 };
  writeFileSync(join(folder, "filled.json"), JSON.stringify(filled));
  return filled;
}

async function configure(dataDir: string, settings: readonly string[]): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, log: QUIET_LOG });
  const session = new Client({ connectionString: server.adminConnectionString });
  try {
    await session.connect();
    for (const setting of settings) await session.query(`alter system set ${setting}`);
  } finally {
    await session.end();
    await server.stop();
  }
}
