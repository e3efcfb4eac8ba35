import { chmodSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AttemptId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { Ledger } from "../../src/ledger/ledger-store.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { startEmbeddedPostgres } from "../../src/kernel/storage/embedded-server.ts";
import { openPool } from "../../src/kernel/storage/connection.ts";
import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { closeRow, orgWithKey, pinPrices, reserveRow } from "../support/ledger-rows.ts";
import { silentLog } from "../support/silent-log.ts";
import { newFolder } from "../support/run-folder.ts";

const WORKERS = 32;
const RESERVE = 100n;

test("kill -9 of the database under load loses no confirmed write and leaves nothing held", async () => {
  const dataDir = newFolder("crash");
  chmodSync(dataDir, 0o755);
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
  const { connectionString } = server;
  const backend = openPostgresBackend({ connectionString, log: silentLog });
  await backend.migrate();
  await pinPrices(backend);
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000_000n });
  const ledger = await openLedger({
    store: backend.ledgerBatchStore,
    clock: systemClock,
    log: silentLog,
    instanceName: "crash",
  });
  const load = new Load(ledger, org);
  await load.until(() => load.closed.size >= 300);
  const pidFile = join(server.dataDir, "cluster", "postmaster.pid");
  process.kill(Number.parseInt(readFileSync(pidFile, "utf8"), 10), "SIGKILL");
  await load.until(() => load.refused > 0);
  const again = await startEmbeddedPostgres({ dataDir, log: silentLog });
  expect(again).toMatchObject({ started: true, connectionString });
  const target = load.closed.size + 300;
  await load.until(() => load.closed.size >= target);
  await load.stop();
  await ledger.shutDown();

  const pool = openPool(connectionString, silentLog);
  const read = "select attempt_id, state, debit from journal";
  const { rows } = await pool.query<{ attempt_id: bigint; state: string; debit: bigint }>(read);
  await pool.end();
  const journal = new Map(rows.map((row) => [row.attempt_id, row]));
  for (const [attemptId, cost] of load.closed) {
    const settled = { attempt_id: attemptId, state: "settled", debit: cost };
    expect(journal.get(attemptId)).toEqual(settled);
  }
  expect(rows.filter((row) => row.state === "open")).toEqual([]);
  const charged = rows.reduce((sum, row) => sum + row.debit, 0n);
  expect(await backend.recordStore.balance(org.orgId)).toEqual({
    settledMicroUsd: 1_000_000_000n - charged,
    heldMicroUsd: 0n,
  });
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
  await backend.close();
  await again.stop();
  await server.stop();
  rmSync(dataDir, { recursive: true });
});

/** Workers that reserve and close until they are stopped, and record each confirmed closing. */
class Load {
  /** The cost of every attempt whose closing was confirmed, even if only as `pending`. */
  readonly closed: Map<AttemptId, bigint> = new Map();
  refused = 0;
  #isStopped = false;
  #waiting: (() => void)[] = [];
  readonly #workers: Promise<void>[];

  constructor(ledger: Ledger, org: Awaited<ReturnType<typeof orgWithKey>>) {
    this.#workers = Array.from({ length: WORKERS }, () => this.#work(ledger, org));
  }

  async until(isReached: () => boolean): Promise<void> {
    while (!isReached()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#workers);
  }

  async #work(ledger: Ledger, org: Awaited<ReturnType<typeof orgWithKey>>): Promise<void> {
    while (!this.#isStopped) {
      const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, RESERVE);
      const outcome = await ledger.reserve(row);
      if (outcome.kind === "reserved") {
        const cost = row.attemptId % RESERVE;
        await ledger.close(closeRow(row.attemptId, cost));
        this.closed.set(row.attemptId, cost);
      } else {
        this.refused += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
      for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }
}
