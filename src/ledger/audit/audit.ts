import type { KeyObject } from "node:crypto";

import type { Pool, PoolClient, QueryArrayConfig } from "pg";

import type { SigningKey } from "../../kernel/index.ts";
import { planAudit } from "./audit-plan.ts";
import { attemptQueries, bookQueries } from "./audit-queries.ts";
import type { AuditQuery } from "./audit-query.ts";
import { compareShared, readJournalSize, replayRange, type ReplayedRange } from "./audit-replay.ts";
import { AuditSessions, type AuditTask } from "./audit-sessions.ts";
import type { AuditSpan } from "./audit-span.ts";
import {
  assertClosable,
  type ChangedBooks,
  checkpointCheck,
  CheckpointFault,
  neededFor,
  newestUsable,
  readCheckpoints,
  verifyCheckpoints,
  writeCheckpoint,
} from "./checkpoint-store.ts";
import { CHECKPOINT_BALANCES_SQL } from "./checkpoint-sql.ts";
import type { SignedCheckpoint } from "./checkpoint.ts";
import {
  auditCheck,
  AUDIT_EXAMPLES_MAX,
  type AuditCheck,
  type AuditProgress,
  mergeChecks,
} from "./ledger-audit.ts";
import { lifeAuditQuery, settlementAuditQuery } from "./settlement-audit.ts";
import { purchaseAuditQuery } from "./purchase-audit.ts";

export interface AuditOptions {
  /** True to check all books. By default, the audit begins at the newest usable checkpoint. */
  readonly isFull?: boolean;
  /** The public key of trusted checkpoints. Without it, the audit checks all of the books. */
  readonly trustedKey?: KeyObject | undefined;
  /** How many database connections the audit uses in parallel; 1 if absent. */
  readonly jobs?: number;
  readonly onProgress?: (progress: AuditProgress) => void;
}

export interface AuditOutcome {
  readonly checks: readonly AuditCheck[];
  /** The day of the checkpoint at which the audit began; undefined if it checked everything. */
  readonly sinceDay: string | undefined;
  /**
   * Why the audit did not begin at an existing checkpoint. Undefined if it did begin there, if
   * there is none, or if a full audit was wanted and the checkpoints are as signed.
   */
  readonly reason: string | undefined;
  /** The closed day's checkpoint; undefined if no day was to be closed or a check failed. */
  readonly checkpoint?: SignedCheckpoint | undefined;
}

export async function auditLedger(
  pool: Pool,
  onProgress: (progress: AuditProgress) => void = () => undefined,
): Promise<readonly AuditCheck[]> {
  return (await auditBooks(pool, { isFull: true, onProgress })).checks;
}

/**
 * Proves the books in three ways, on one snapshot and during traffic: it checks every invariant of
 * the stored rows, rebuilds every account from its transfers, and replays the journal in memory. An
 * audit that begins at a checkpoint trusts the signed totals of that checkpoint.
 */
export async function auditBooks(pool: Pool, options: AuditOptions): Promise<AuditOutcome> {
  const sessions = await AuditSessions.open(pool, options.jobs ?? 1);
  try {
    const start = await chooseStart(sessions.first, options);
    const checks = await prove(sessions, start, options);
    if (start.check !== undefined) checks.push(start.check);
    return { checks: mergeChecks(checks), sinceDay: start.span?.day, reason: start.reason };
  } finally {
    await sessions.close();
  }
}

/** Proves the books and, if they are right, signs the balances at the end of an ended day. */
export async function closeDay(
  books: ChangedBooks,
  day: string,
  options: AuditOptions & { readonly key: SigningKey },
): Promise<AuditOutcome> {
  const { pool } = books;
  const { newest, endId } = await readClosing(pool, day);
  const trustedKey = options.key.publicKey;
  const outcome = await auditBooks(pool, { ...options, trustedKey });
  if (outcome.checks.some(({ violations }) => violations > 0)) return outcome;
  const span = outcome.sinceDay === undefined ? undefined : newest;
  const made = { span, day, endId, before: newest };
  return { ...outcome, checkpoint: await writeCheckpoint(books, made, options.key) };
}

async function readClosing(
  pool: Pool,
  day: string,
): Promise<{ readonly newest: SignedCheckpoint | undefined; readonly endId: bigint }> {
  const client = await pool.connect();
  try {
    const [newest] = await readCheckpoints(client);
    if (newest !== undefined && newest.day >= day) {
      throw new CheckpointFault(`${newest.day} was closed before; only a later day can be`);
    }
    return { newest, ...(await assertClosable(client, day)) };
  } finally {
    client.release();
  }
}

interface Start {
  readonly span: AuditSpan;
  readonly check: AuditCheck | undefined;
  readonly reason: string | undefined;
}

async function chooseStart(client: PoolClient, options: AuditOptions): Promise<Start> {
  const { isFull = false, trustedKey } = options;
  const checkpoints = await readCheckpoints(client);
  if (checkpoints.length === 0) return { span: undefined, check: undefined, reason: undefined };
  if (trustedKey === undefined) {
    const reason = "the key that checkpoints are signed with is not here";
    return { span: undefined, check: undefined, reason };
  }
  const usable = isFull ? undefined : await newestUsable(client, checkpoints);
  const count = usable === undefined ? checkpoints.length : neededFor(checkpoints);
  const check = await verifyCheckpoints(client, checkpoints, { count, trustedKey });
  if (check.violations > 0) {
    return { span: undefined, check, reason: "a checkpoint is not what was signed" };
  }
  const reason =
    usable === undefined && !isFull
      ? "the last checkpoint does not hold all of the days that were retired"
      : undefined;
  return { span: usable, check, reason };
}

async function prove(
  sessions: AuditSessions,
  { span, check }: Start,
  { jobs = 1, onProgress = () => undefined }: AuditOptions,
): Promise<AuditCheck[]> {
  const { first } = sessions;
  const { lines, bounds } = await readJournalSize(first, span);
  const plan = await planAudit(first, span, { lines, jobs });
  const checks: AuditCheck[] = [];
  const ranges: ReplayedRange[] = [];
  let replayed = 0;
  const onLines = (count: number): void => {
    replayed += count;
    onProgress({ replayed, entries: lines });
  };
  const replays = plan.orgs.map((orgs): AuditTask => async (client) => {
    ranges.push(await replayRange(client, { span, orgs, bounds }, onLines));
  });
  const whole = wholeQueries(span, check !== undefined);
  const queries = [...whole, ...plan.pieces.flatMap((r) => attemptQueries(span, r))];
  const proofs = queries.map((query): AuditTask => async (client) => {
    checks.push(await runQuery(client, query));
  });
  // Replays take longest, so they begin first.
  await sessions.run([...replays, ...proofs]);
  onProgress({ replayed, entries: replayed });
  checks.push(await compareShared(first, span, ranges));
  return [...checks, ...ranges.flatMap((range) => range.checks)];
}

function wholeQueries(span: AuditSpan, hasCheckpoints: boolean): readonly AuditQuery[] {
  const { id, title } = checkpointCheck([]);
  const balances = { id, title, sql: CHECKPOINT_BALANCES_SQL };
  return [
    ...bookQueries(span),
    settlementAuditQuery(span),
    purchaseAuditQuery,
    lifeAuditQuery,
    ...(span === undefined && hasCheckpoints ? [balances] : []),
  ];
}

async function runQuery(client: PoolClient, query: AuditQuery): Promise<AuditCheck> {
  const sql = `select what, found, expected, count(*) over () from (${query.sql}) broken
    order by what limit ${AUDIT_EXAMPLES_MAX}`;
  const options: QueryArrayConfig = { text: sql, rowMode: "array" };
  const { rows } = await client.query<[string, string, string, bigint]>(options);
  const examples = rows.map(([row, found, expected]) => ({ row, found, expected }));
  return auditCheck(query, Number(rows[0]?.[3] ?? 0), examples);
}
