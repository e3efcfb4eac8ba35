import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { format } from "prettier";
import { newRequestId, type ModelId, type ProviderId } from "../src/core/ids.ts";
import { microUsd, picoUsd } from "../src/core/money.ts";
import { systemClock } from "../src/core/time.ts";
import type { Ledger, ReserveRow } from "../src/ledger/ledger-store.ts";
import { openLedger } from "../src/ledger/open-ledger.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../src/storage/embedded-server.ts";
import { openPostgresBackend } from "../src/app/open-postgres-backend.ts";
import { testOperator } from "../test/support/test-operator.ts";

/**
 * Cycles of reserve + close per second through the ledger on the embedded PostgreSQL, durable, for
 * one hot organization. Run: `npm run bench:ledger -- [--seconds 5] [--days 1] [--save]`. The journal
 * has a partition per day, so the days it goes back are part of the question. `--save` measures 1 and
 * 90 days and writes docs/ledger-performance.md.
 */
const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    days: { type: "string", default: "1" },
    save: { type: "boolean", default: false },
  },
});
const secondsPerLine = Number(flags.seconds);
/** The bar of the row with 64 concurrent: client and database on the same two cores. */
const GOAL = { concurrent: 64, reach: 25_000, stretch: 35_000 };
const PAGE = fileURLToPath(new URL("../docs/ledger-performance.md", import.meta.url));
const quiet = { info: () => undefined, warn: console.warn, error: console.error };

interface Line {
  readonly concurrent: number;
  readonly cyclesPerSecond: number;
  readonly reserveP50Ms: number;
  readonly closeP50Ms: number;
  readonly clientCpuMicroseconds: number;
  /** Of all processes of the database, per cycle; Linux only. */
  readonly serverCpuMicroseconds: number;
}

interface Run {
  readonly days: number;
  readonly lines: readonly Line[];
}

const LOAD_AT_START = loadavg()[0] ?? 0;
const RUNS: Run[] = [];
for (const days of flags.save ? [1, 90] : [Number(flags.days)]) {
  RUNS.push({ days, lines: await onOwnServer((server) => run(server, days)) });
}
if (flags.save) writeFileSync(PAGE, await format(page(RUNS), { parser: "markdown" }));

async function onOwnServer<T>(work: (server: EmbeddedPostgres) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "ledger-cycles-"));
  chmodSync(folder, 0o755); // as root the database runs as another user, who must get in
  const server = await startEmbeddedPostgres({ dataDir: folder, log: quiet });
  try {
    return await work(server);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(server: EmbeddedPostgres, days: number): Promise<Line[]> {
  const backend = openPostgresBackend({ connectionString: server.connectionString, log: quiet });
  await backend.migrate();
  await makeOldPartitions(server, days);
  const rowOf = await seed(backend);
  const ledger = await openLedger({
    store: backend.ledgerBatchStore,
    clock: systemClock,
    log: quiet,
    instanceName: "bench",
  });
  const lineOf = (concurrent: number): Promise<Line> =>
    measure({ server, ledger, rowOf, concurrent });
  await lineOf(GOAL.concurrent);
  const lines: Line[] = [];
  for (const concurrent of [1, 8, 64, 256, 512]) lines.push(await lineOf(concurrent));
  console.table(lines);
  await ledger.shutDown();
  const broken = (await backend.audit()).filter((check) => check.violations > 0);
  if (broken.length > 0) throw new Error(`the books are broken: ${JSON.stringify(broken)}`);
  await backend.close();
  return lines;
}

function page(measured: readonly Run[]): string {
  const rows = measured.flatMap(({ days, lines }) =>
    lines.map((line) => {
      const { concurrent, cyclesPerSecond, reserveP50Ms, closeP50Ms } = line;
      const { clientCpuMicroseconds, serverCpuMicroseconds } = line;
      const cpu = `${clientCpuMicroseconds} | ${serverCpuMicroseconds}`;
      return `| ${days} | ${concurrent} | ${cyclesPerSecond} | ${reserveP50Ms} | ${closeP50Ms} | ${cpu} |`;
    }),
  );
  const goal = measured[0]?.lines.find((line) => line.concurrent === GOAL.concurrent);
  const reached = goal?.cyclesPerSecond ?? 0;
  const met =
    reached >= GOAL.stretch ? "the stretch" : reached >= GOAL.reach ? "reached" : "missed";
  return `# Performance of the ledger

Written by \`npm run bench:ledger -- --save\` from what it measured; change it in \`bench/ledger-cycles.ts\`.

Measured on ${new Date(systemClock.nowMs()).toISOString().slice(0, 10)} with Node ${process.versions.node} on
${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), load average at start ${LOAD_AT_START.toFixed(2)}.
One cycle is a durable hold and its settlement with the finished attempt, transfers and spend, each in one
commit. Client and the embedded PostgreSQL (fsync on) share the machine; all cycles are of one
organization and one key, the worst case for locks. The audit was clean after every run.

Goal at ${GOAL.concurrent} concurrent: at least ${GOAL.reach} cycles a second, stretch ${GOAL.stretch}: ${met}.

| Days of journal | Concurrent | Cycles/s | Reserve p50 ms | Close p50 ms | Client CPU us | Database CPU us |
| --- | --- | --- | --- | --- | --- | --- |
${rows.join("\n")}
`;
}

async function makeOldPartitions(server: EmbeddedPostgres, days: number): Promise<void> {
  const client = new Client({ connectionString: server.connectionString });
  await client.connect();
  const sql = "select ensure_attempt_partition(current_date - n) from generate_series(2, $1) as n";
  await client.query(sql, [days]);
  await client.end();
}

/** CPU time of the postmaster's children so far, in ticks of 10 ms. */
function serverTicks(server: EmbeddedPostgres): number {
  const pidFile = join(server.dataDir, "cluster", "postmaster.pid");
  const [postmaster] = readFileSync(pidFile, "utf8").split("\n");
  let ticks = 0;
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    const stat = statOf(name);
    if (stat[1] === postmaster) ticks += Number(stat[11]) + Number(stat[12]);
  }
  return ticks;
}

/** The fields of `/proc/<pid>/stat` behind the name; none when the process is gone. */
function statOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
  } catch {
    return [];
  }
}

type RowOf = (ledger: Ledger) => ReserveRow;

async function seed(backend: ReturnType<typeof openPostgresBackend>): Promise<RowOf> {
  const org = await backend.accountStore.createOrg(
    { name: "Bench", email: "bench@example.com" },
    testOperator,
  );
  const key = await backend.accountStore.createKey(
    {
      orgId: org.orgId,
      name: "bench",
      origin: "console",
      digest: Buffer.alloc(32, 1),
      label: "tm-bench-000",
      requestsPerMinuteCeiling: 300,
      capMicroUsd: null,
    },
    testOperator,
  );
  await backend.creditStore.grant(
    {
      orgId: org.orgId,
      amountMicroUsd: microUsd(1_000_000_000_000n),
      ref: "bench",
    },
    testOperator,
  );
  await backend.ledgerBatchStore.ensurePricePins([
    {
      pinId: "pin",
      providerId: "simulator" as ProviderId,
      modelId: "simulator/small" as ModelId,
      promptPico: 1n,
      cachedPromptPico: 1n,
      cacheWritePico: 1n,
      completionPico: 1n,
      internalReasoningPico: 1n,
    },
  ]);
  return (ledger) => ({
    attemptId: ledger.newAttemptId(),
    requestId: newRequestId(systemClock.nowMs()),
    ordinal: 1,
    orgId: org.orgId,
    keyId: key.keyId,
    modelId: "simulator/small" as ModelId,
    providerId: "simulator" as ProviderId,
    upstreamModelId: "small",
    pricePinId: "pin",
    route: "/v1/chat/completions",
    stream: false,
    estimatedTokens: 1_000,
    reserveMicroUsd: microUsd(2_500n),
  });
}

interface Measuring {
  readonly server: EmbeddedPostgres;
  readonly ledger: Ledger;
  readonly rowOf: RowOf;
  readonly concurrent: number;
}

async function measure({ server, ledger, rowOf, concurrent }: Measuring): Promise<Line> {
  const reserveMs: number[] = [];
  const closeMs: number[] = [];
  const cpu = process.cpuUsage();
  const ticks = serverTicks(server);
  const startMs = systemClock.monotonicMs();
  const endMs = startMs + secondsPerLine * 1_000;
  const worker = async (): Promise<void> => {
    while (systemClock.monotonicMs() < endMs) {
      const row = rowOf(ledger);
      const askedMs = systemClock.monotonicMs();
      const outcome = await ledger.reserve(row);
      const heldMs = systemClock.monotonicMs();
      if (outcome.kind !== "reserved") throw new Error(JSON.stringify(outcome));
      await ledger.close({
        attemptId: row.attemptId,
        outcome: "completed",
        usage: {
          prompt: 100,
          cachedPrompt: 0,
          cacheWrite: 0,
          completion: 50,
          internalReasoning: 0,
        },
        basis: "reported",
        costPicoUsd: picoUsd(1_932_000_017n),
        upstreamStatus: 200,
        errorClass: null,
        startedAtMs: systemClock.nowMs(),
        firstByteMs: 3,
        durationMs: 5,
        final: true,
      });
      reserveMs.push(heldMs - askedMs);
      closeMs.push(systemClock.monotonicMs() - heldMs);
    }
  };
  await Promise.all(Array.from({ length: concurrent }, worker));
  const seconds = (systemClock.monotonicMs() - startMs) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    concurrent,
    cyclesPerSecond: Math.round(reserveMs.length / seconds),
    reserveP50Ms: median(reserveMs),
    closeP50Ms: median(closeMs),
    clientCpuMicroseconds: Math.round((user + system) / reserveMs.length),
    serverCpuMicroseconds: Math.round(((serverTicks(server) - ticks) * 10_000) / reserveMs.length),
  };
}

function median(values: number[]): number {
  values.sort((a, b) => a - b);
  return Math.round((values[values.length >> 1] ?? 0) * 100) / 100;
}
