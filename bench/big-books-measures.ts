import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type Pool } from "pg";
import { openPostgresBackend, type PostgresBackend } from "../src/app/open-postgres-backend.ts";
import { byOperator, ChangeLog } from "../src/changes/index.ts";
import type { AttemptId } from "../src/core/ids.ts";
import { systemClock } from "../src/core/time.ts";
import type { LedgerBatchStore } from "../src/ledger/ledger-batch-store.ts";
import type { Ledger } from "../src/ledger/ledger-store.ts";
import type { AuditOutcome } from "../src/ledger/audit/audit.ts";
import {
  assertClosable,
  readCheckpoints,
  writeCheckpoint,
} from "../src/ledger/audit/checkpoint-store.ts";
import type { AuditProgress } from "../src/ledger/audit/ledger-audit.ts";
import { openSigningKey, type SigningKey } from "../src/ledger/retention/signing-key.ts";
import { openPool } from "../src/storage/connection.ts";
import type { ReportFilter } from "../src/records/usage-reports.ts";
import { laterSteps, migrateTo } from "./big-books-data.ts";
import { closeOf, rowOf } from "./growth-ledger.ts";
import type { Active } from "./growth-plan.ts";

const BENCH = byOperator("bench");

/** One thing that was measured on the filled books. */
export interface Figure {
  readonly group: "steps" | "sizes" | "load" | "reports" | "audit" | "full";
  readonly what: string;
  readonly values: Readonly<Record<string, number>>;
}

export interface Measuring {
  readonly connectionString: string;
  readonly folder: string;
  readonly callers: readonly Active[];
  readonly seconds: number;
  readonly jobs: number;
  readonly say: (line: string) => void;
}

const DAY_MS = 86_400_000;

const seconds = (sinceMs: number): number => (systemClock.monotonicMs() - sinceMs) / 1_000;

/** Each later step on the filled books, and the longest cycle of the traffic beside it. */
export async function measureSteps(of: Measuring): Promise<readonly Figure[]> {
  const { connectionString, callers, say } = of;
  const backend = openPostgresBackend({ connectionString, log: SILENT });
  const figures: Figure[] = [];
  try {
    const traffic = new RawTraffic(backend.ledgerBatchStore, callers);
    await traffic.start();
    await sleep(of.seconds * 1_000);
    figures.push({ group: "steps", what: "before", values: traffic.take() });
    for (const step of laterSteps()) {
      const sinceMs = systemClock.monotonicMs();
      const ran = await migrateTo(connectionString, step);
      const took = seconds(sinceMs);
      for (const what of ran) {
        figures.push({ group: "steps", what, values: { seconds: took, ...traffic.take() } });
        say(`${what}: ${took.toFixed(1)} s`);
      }
    }
    await sleep(of.seconds * 1_000);
    figures.push({ group: "steps", what: "after", values: traffic.take() });
    await traffic.stop();
  } finally {
    await backend.close();
  }
  return figures;
}

/** Cycles over the store's batches, which a program of the release before has too. */
class RawTraffic {
  readonly #store: LedgerBatchStore;
  readonly #callers: readonly Active[];
  readonly #end = new AbortController();
  #running: Promise<void> | undefined;
  #cyclesMs: number[] = [];

  constructor(store: LedgerBatchStore, callers: readonly Active[]) {
    this.#store = store;
    this.#callers = callers;
  }

  async start(): Promise<void> {
    const member = await this.#store.join("steps", 3_600_000);
    const INSTANCE_BITS = 12n;
    let made = 0n;
    const cycle = async (caller: Active): Promise<void> => {
      made += 1n;
      const at = BigInt(systemClock.nowMs() - Date.parse("2025-01-01T00:00:00Z"));
      const attemptId = ((at << 22n) + (1n << INSTANCE_BITS) + (made % 4_096n)) as AttemptId;
      const sinceMs = systemClock.monotonicMs();
      const row = rowOf(attemptId, caller);
      await this.#store.runBatch({ member, closings: [], holds: [row] });
      await this.#store.runBatch({ member, closings: [closeOf(attemptId)], holds: [] });
      this.#cyclesMs.push(systemClock.monotonicMs() - sinceMs);
    };
    this.#running = (async () => {
      for (let at = 0; !this.#end.signal.aborted; at += 1) {
        const caller = this.#callers[at % this.#callers.length];
        if (caller !== undefined) await cycle(caller);
      }
    })();
  }

  /** Of the cycles since the last call. */
  take(): Readonly<Record<string, number>> {
    const seen = this.#cyclesMs.splice(0);
    return { cycles: seen.length, longest_ms: Math.max(0, ...seen) };
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }
}

/** The largest tables and the whole, in megabytes. */
export async function measureSizes({ connectionString }: Measuring): Promise<readonly Figure[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ what: string; rows: string; heap: string; all: string }>(`
      select what, sum(reltuples)::bigint::text as rows,
        (sum(pg_table_size(oid)) / 1e6)::text as heap,
        (sum(pg_total_relation_size(oid)) / 1e6)::text as all
      from (
        select oid, reltuples, case when relname ~ '^attempt_\\d' then 'attempt, all days'
          when relname ~ '^transfer_' and relname <> 'transfer_ref' then 'transfer, all months'
          else relname::text end as what
        from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
      ) t group by what order by sum(pg_total_relation_size(oid)) desc limit 8`);
    return rows.map((row) => ({
      group: "sizes",
      what: row.what,
      values: {
        rows: Number(row.rows),
        table_mb: Number(row.heap),
        with_indexes_mb: Number(row.all),
      },
    }));
  } finally {
    await client.end();
  }
}

/** Reserves and settlements at several numbers in flight. */
export async function measureLoad(of: Measuring, ledger: Ledger): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const inFlight of [1, 8, 64]) {
    const reserveMs: number[] = [];
    const settleMs: number[] = [];
    const startMs = systemClock.monotonicMs();
    let next = 0;
    const worker = async (): Promise<void> => {
      while (seconds(startMs) < of.seconds) {
        const caller = of.callers[next % of.callers.length];
        next += 1;
        if (caller === undefined) return;
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
    await Promise.all(Array.from({ length: inFlight }, worker));
    figures.push({
      group: "load",
      what: `${inFlight} in flight`,
      values: {
        cycles_per_second: reserveMs.length / seconds(startMs),
        reserve_p50_ms: share(reserveMs, 0.5),
        reserve_p99_ms: share(reserveMs, 0.99),
        settle_p50_ms: share(settleMs, 0.5),
        settle_p99_ms: share(settleMs, 0.99),
      },
    });
    of.say(JSON.stringify(figures.at(-1)));
  }
  return figures;
}

/** What the console's pages and files ask, for the organization with the longest history. */
export async function measureReports(
  of: Measuring,
  { usageReports, recordStore }: PostgresBackend,
): Promise<readonly Figure[]> {
  const [caller] = of.callers;
  if (caller === undefined) throw new Error("reports are of an organization");
  const { orgId, keyId } = caller;
  const filter = (days: number): ReportFilter => {
    const toMs = systemClock.nowMs();
    return { orgId, fromMs: toMs - days * DAY_MS, toMs };
  };
  const first = async (pages: AsyncIterable<readonly unknown[]>, rows = 1): Promise<void> => {
    let seen = 0;
    for await (const page of pages) if ((seen += page.length) >= rows) return;
  };
  const looks: Readonly<Record<string, () => Promise<unknown>>> = {
    "usage: 30 days by model": () => usageReports.report(filter(30), "model"),
    "usage: 30 days by key": () => usageReports.report(filter(30), "key"),
    "usage: 30 days by day": () => usageReports.report(filter(30), "day"),
    "usage: 30 days by provider": () => usageReports.report(filter(30), "provider"),
    "usage: 30 days by status": () => usageReports.report(filter(30), "status"),
    "usage: 24 hours by model": () => usageReports.report(filter(1), "model"),
    "requests: the newest page": () => usageReports.requests(filter(30), { limit: 50 }),
    "requests: failed ones": () =>
      usageReports.requests({ ...filter(30), statuses: ["failed"] }, { limit: 50 }),
    "requests: of one key": () =>
      usageReports.requests({ ...filter(30), keyIds: [keyId] }, { limit: 50 }),
    "requests: what nothing matches": () =>
      usageReports.requests({ ...filter(30), providerIds: ["nobody"] }, { limit: 50 }),
    "keys: activity": () => usageReports.keyActivity(orgId),
    "key: its days": () => usageReports.keyDays(orgId, keyId, 30),
    "wallet: a page": () => usageReports.walletLines(orgId, { limit: 50 }),
    balance: () => recordStore.balance(orgId),
    "providers: activity": () => usageReports.providerActivity(),
    "requests.csv: first byte": () => first(usageReports.everyRequest(filter(30))),
    "requests.csv: 20,000 rows": () => first(usageReports.everyRequest(filter(30)), 20_000),
    "usage CSV: first byte": () => recordStore.usagePage({ orgId, limit: 500 }),
    "usage CSV by day: first byte": () => recordStore.usageGroups({ orgId, limit: 1_000 }, "day"),
  };
  const figures: Figure[] = [];
  for (const [what, look] of Object.entries(looks)) {
    const walls: number[] = [];
    let stopped = "";
    try {
      for (let times = 0; times < 6; times += 1) {
        const sinceMs = systemClock.monotonicMs();
        if (isUnfinished(await look())) stopped = ", stopped when time was up";
        walls.push(systemClock.monotonicMs() - sinceMs);
      }
    } catch (fault) {
      of.say(`${what}: ${fault instanceof Error ? fault.name : "failed"}`);
    }
    const [cold = Number.NaN, ...warm] = walls;
    const values = { first_ms: cold, p50_ms: share(warm, 0.5), max_ms: Math.max(...warm) };
    figures.push({ group: "reports", what: `${what}${stopped}`, values });
    of.say(`${what}${stopped}: ${JSON.stringify(values)}`);
  }
  return figures;
}

/** A page of requests that says how far back it was searched. */
function isUnfinished(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && Object.hasOwn(answer, "searchedToMs");
}

/**
 * Days are closed one after the other, from a first one that is signed unproven: the books were made
 * by this command. What it is worth is said by `measureFullAudit`, which proves it too.
 */
export async function measureAudit(
  of: Measuring,
  backend: PostgresBackend,
): Promise<readonly Figure[]> {
  const key = openSigningKey(join(of.folder, "audit-key.pem"));
  const dayAgo = (ago: number): string =>
    new Date(systemClock.nowMs() - ago * DAY_MS).toISOString().slice(0, 10);
  const FIRST_AGO = 9;
  await signFirst(of, dayAgo(FIRST_AGO), key);
  const figures: Figure[] = [];
  for (const ago of [2, 1]) {
    const day = dayAgo(ago);
    try {
      const asked = { key, jobs: of.jobs };
      const figure = await timedAudit(of, (onProgress) =>
        backend.closeDay(day, { ...asked, onProgress }, BENCH),
      );
      figures.push({ ...figure, what: `${figure.what}, ${day} closed` });
      of.say(JSON.stringify(figures.at(-1)));
    } catch (fault) {
      of.say(`${day}: ${fault instanceof Error ? fault.message : "failed"}`);
    }
  }
  return figures;
}

export async function measureFullAudit(
  of: Measuring,
  backend: PostgresBackend,
): Promise<readonly Figure[]> {
  const trustedKey = openSigningKey(join(of.folder, "audit-key.pem")).publicKey;
  const figure = await timedAudit(of, (onProgress) =>
    backend.auditBooks({ isFull: true, trustedKey, jobs: of.jobs, onProgress }),
  );
  return [{ ...figure, group: "full" }];
}

async function signFirst(of: Measuring, day: string, key: SigningKey): Promise<void> {
  const pool = openPool(of.connectionString, SILENT);
  try {
    const { endId, isClosed } = await readEnd(pool, day);
    if (isClosed) return;
    const books = { pool, changes: new ChangeLog(pool, SILENT), by: BENCH };
    await writeCheckpoint(books, { span: undefined, day, endId, before: undefined }, key);
  } finally {
    await pool.end();
  }
}

async function readEnd(
  pool: Pool,
  day: string,
): Promise<{ readonly endId: bigint; readonly isClosed: boolean }> {
  const client = await pool.connect();
  try {
    const closed = await readCheckpoints(client);
    return { ...(await assertClosable(client, day)), isClosed: closed.length > 0 };
  } finally {
    client.release();
  }
}

async function timedAudit(
  of: Measuring,
  audit: (onProgress: (at: AuditProgress) => void) => Promise<AuditOutcome>,
): Promise<Figure> {
  const onProgress = progress(of.say);
  let entries = 0;
  const sinceMs = systemClock.monotonicMs();
  const { checks, sinceDay } = await audit((each) => {
    entries = each.replayed;
    onProgress(each);
  });
  for (const check of checks) if (check.violations > 0) of.say(JSON.stringify(check));
  const took = seconds(sinceMs);
  return {
    group: "audit",
    what: sinceDay === undefined ? "everything" : `from ${sinceDay}`,
    values: {
      jobs: of.jobs,
      attempts: Math.round(entries / 2),
      seconds: took,
      attempts_per_second: entries / 2 / took,
      violations: checks.reduce((sum, check) => sum + check.violations, 0),
    },
  };
}

function progress(
  say: (line: string) => void,
): (at: { readonly replayed: number; readonly entries: number }) => void {
  let next = 0;
  return ({ replayed, entries }) => {
    if (replayed < next) return;
    next = replayed + 5_000_000;
    say(`replayed ${replayed} of ${entries} lines`);
  };
}

export function share(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

const SILENT = { info: () => undefined, warn: console.warn, error: console.error };
