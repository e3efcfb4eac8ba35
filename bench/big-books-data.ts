import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Client } from "pg";
import { openPool } from "../src/storage/connection.ts";
import { startEmbeddedPostgres } from "../src/storage/embedded-server.ts";
import { migrateDatabase } from "../src/storage/migrate.ts";
import { MIGRATIONS_FOLDER } from "../src/storage/migration-files.ts";
import { fillInstallation, settleDatabase } from "./growth-fill.ts";
import { QUIET_LOG } from "./growth-ledger.ts";
import type { Sizes } from "./growth-plan.ts";

/** A filling that would leave less than this is stopped. */
const FREE_BYTES_MIN = 12_000_000_000;
const LOOK_EVERY_MS = 5_000;
/**
 * While the books are filled: a crash would be answered by filling them again. Every other setting
 * is that of the embedded server, before and after.
 */
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

/** What the books of a folder were filled with; undefined: they are not filled, or not whole. */
export function readFilled(folder: string): Filled | undefined {
  const file = join(folder, "filled.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Filled) : undefined;
}

export interface Filling {
  readonly folder: string;
  readonly sizes: Sizes;
  readonly say: (line: string) => void;
  readonly nowMs: () => number;
}

/** Fills the books of an empty folder, once. */
export async function fillBooks({ folder, sizes, say, nowMs }: Filling): Promise<Filled> {
  const dataDir = join(folder, "data");
  if (existsSync(dataDir)) throw new Error(`${dataDir} is half filled; remove it and begin again`);
  mkdirSync(dataDir, { recursive: true });
  for (const each of [folder, dataDir]) chmodSync(each, 0o755); // the database runs as another user
  const startMs = nowMs();
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
    await migrateTo(server.connectionString, FIRST_RELEASE);
    await fillInstallation(server.connectionString, sizes, say);
    say("vacuum");
    await settleDatabase(server.connectionString);
  } finally {
    clearInterval(guard);
    await server.stop();
  }
  await configure(
    dataDir,
    Object.keys(FILLING).map((name) => `${name} = default`),
  );
  const filled = { sizes, seconds: (nowMs() - startMs) / 1_000 };
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

/** The newest step of the release whose books are filled: the later ones run on what is there. */
export const FIRST_RELEASE = "0011";

/** The steps of this program up to one, as an older program has them; which of them ran. */
export async function migrateTo(
  connectionString: string,
  last: string,
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-steps-"));
  const pool = openPool(connectionString, QUIET_LOG);
  try {
    const filter = (path: string): boolean =>
      !path.endsWith(".sql") || basename(path).slice(0, last.length) <= last;
    cpSync(MIGRATIONS_FOLDER, folder, { recursive: true, filter });
    return await migrateDatabase(pool, { folder });
  } finally {
    await pool.end();
    rmSync(folder, { recursive: true });
  }
}

/** The numbers of the steps after that release. */
export function laterSteps(): readonly string[] {
  return readdirSync(MIGRATIONS_FOLDER)
    .map((file) => file.slice(0, FIRST_RELEASE.length))
    .filter((step) => step > FIRST_RELEASE)
    .sort();
}
