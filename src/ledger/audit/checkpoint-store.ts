import { createHash, type KeyObject } from "node:crypto";
import type { Pool, PoolClient, QueryArrayConfig } from "pg";

import {
  assert,
  type ChangedBy,
  type ChangeLog,
  Fault,
  inTransaction,
  liftTimeLimits,
  queryOne,
  recordChanges,
  type SigningKey,
  textTypes,
} from "../../kernel/index.ts";
import type { AuditSpan } from "./audit-span.ts";
import * as sql from "./checkpoint-sql.ts";
import {
  checkpointProblem,
  type CountedRows,
  signCheckpoint,
  type SignedCheckpoint,
} from "./checkpoint.ts";
import { auditCheck, type AuditCheck, type AuditExample } from "./ledger-audit.ts";

/** Thrown for a day that cannot be closed. The message says what to do. */
export class CheckpointFault extends Fault {}

const TITLE = "every checkpoint is what was signed, and names the one before";

export async function readCheckpoints(client: PoolClient): Promise<readonly SignedCheckpoint[]> {
  return (await client.query<SignedCheckpoint>(sql.CHECKPOINTS_SQL)).rows;
}

/** Returns the newest checkpoint; undefined if an audit from it would need retired attempts. */
export async function newestUsable(
  client: PoolClient,
  checkpoints: readonly SignedCheckpoint[],
): Promise<SignedCheckpoint | undefined> {
  const [newest] = checkpoints;
  if (newest === undefined) return undefined;
  const { ids, is_later: isLater } = await queryOne<{ ids: bigint; is_later: boolean }>(
    client,
    sql.RETIRED_SINCE_SQL,
    [newest.position],
  );
  return newest.fromAttempt >= ids && !isLater ? newest : undefined;
}

/** Verifies the first `count` of `checkpoints`, the newest: signatures, stored rows and chain. */
export async function verifyCheckpoints(
  client: PoolClient,
  checkpoints: readonly SignedCheckpoint[],
  { count, trustedKey }: { readonly count: number; readonly trustedKey: KeyObject },
): Promise<AuditCheck> {
  const broken: AuditExample[] = [];
  for (const [at, stored] of checkpoints.slice(0, count).entries()) {
    const before = checkpoints[at + 1];
    const is = {
      previous: before === undefined ? "" : sha256Hex(before.document),
      ...(await countRows(client, stored.day)),
    };
    const problem = checkpointProblem(stored, is, trustedKey);
    if (problem !== undefined) {
      broken.push({
        row: `checkpoint of ${stored.day}`,
        found: problem,
        expected: "what was signed, on the one before",
      });
    }
  }
  return checkpointCheck(broken);
}

export function checkpointCheck(broken: readonly AuditExample[]): AuditCheck {
  return auditCheck({ id: "checkpoint", title: TITLE }, broken.length, broken);
}

/**
 * Returns how many of the newest checkpoints an audit must verify to begin at the newest one: those
 * of two months, whose spend the audit adds up. May exceed the number of checkpoints by one.
 */
export function neededFor(checkpoints: readonly SignedCheckpoint[]): number {
  const DAYS_OF_TWO_MONTHS = 63;
  const MS_PER_DAY = 86_400_000;
  const [newest] = checkpoints;
  if (newest === undefined) return 0;
  const from = Date.parse(newest.day) - DAYS_OF_TWO_MONTHS * MS_PER_DAY;
  // One more: the oldest of these has only the spend since the checkpoint before it.
  return checkpoints.filter(({ day }) => Date.parse(day) >= from).length + 1;
}

/** Throws a `CheckpointFault` unless the day is over and can have no open or further attempt. */
export async function assertClosable(
  client: PoolClient,
  day: string,
): Promise<{ readonly endId: bigint }> {
  const row = await queryOne<{
    readonly is_over: boolean;
    readonly open: bigint;
    readonly is_busy: boolean;
    readonly end_id: bigint;
  }>(client, sql.CLOSABLE_SQL, [day]);
  if (!row.is_over) throw new CheckpointFault(`${day} is not over yet; close an earlier day`);
  if (row.open > 0n) {
    throw new CheckpointFault(
      `${row.open} attempts of ${day} or earlier days are open; wait for their end, or see ` +
        "tokenmarket ledger recover",
    );
  }
  if (row.is_busy) {
    throw new CheckpointFault(
      `a transaction that began on ${day} is at work; run this again later`,
    );
  }
  return { endId: row.end_id };
}

export interface ChangedBooks {
  readonly pool: Pool;
  readonly changes: Pick<ChangeLog, "announce">;
  readonly by: ChangedBy;
}

/** Signs and stores the sums up to the day's last closing. The books must have been audited. */
export async function writeCheckpoint(
  books: ChangedBooks,
  of: {
    readonly span: AuditSpan;
    readonly day: string;
    readonly endId: bigint;
    readonly before: SignedCheckpoint | undefined;
  },
  key: SigningKey,
): Promise<SignedCheckpoint> {
  const { span, day, endId, before } = of;
  const { signed: made, recorded } = await inTransaction(books.pool, async (client) => {
    await liftTimeLimits(client);
    const position = await oneBigint(
      client,
      sql.lastPositionSql(span, { day, before: before?.position ?? 0n }),
    );
    const fromAttempt = await oneBigint(client, sql.firstInFlightSql(span, { position, endId }));
    await client.query(sql.insertAccountsSql(span, { day, position }));
    await client.query(sql.insertSpendSql(span, { day, position }));
    const rows = await countRows(client, day);
    const previous = before === undefined ? "" : sha256Hex(before.document);
    const signed = signCheckpoint({ day, position, fromAttempt, previous, ...rows }, key);
    const { document, signature } = signed;
    const values = [day, position, fromAttempt, document, signature];
    await client.query(sql.INSERT_CHECKPOINT_SQL, values);
    const after = { position: String(position), sha256: sha256Hex(document) };
    const change = { orgId: null, target: day, before: null, after };
    return {
      signed,
      recorded: await recordChanges(client, books.by, [{ action: "ledger.close-day", ...change }]),
    };
  });
  books.changes.announce(recorded);
  return made;
}

async function oneBigint(client: PoolClient, text: string): Promise<bigint> {
  const [value] = Object.values(await queryOne<Record<string, bigint>>(client, text));
  assert(value !== undefined, "the statement answers one number");
  return value;
}

async function countRows(
  client: PoolClient,
  day: string,
): Promise<{ readonly accounts: CountedRows; readonly spend: CountedRows }> {
  return {
    accounts: await countLines(client, sql.accountLinesSql(day)),
    spend: await countLines(client, sql.spendLinesSql(day)),
  };
}

async function countLines(client: PoolClient, text: string): Promise<CountedRows> {
  const hash = createHash("sha256");
  let rows = 0;
  for await (const block of readBlocks(client, text)) {
    rows += block.length;
    hash.update(block.map((row) => `${JSON.stringify(row)}\n`).join(""));
  }
  return { rows, sha256: hash.digest("hex") };
}

function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const BLOCK_ROWS = 5_000;

export type Text = string | null | undefined;
/** A row whose values are the texts that the server sent. */
export type TextRow = readonly Text[];

/** Reads the rows of a statement through a cursor, in blocks, so that they need little memory. */
export async function* readBlocks(
  client: PoolClient,
  lines: string,
): AsyncGenerator<readonly TextRow[]> {
  await client.query(`declare block no scroll cursor for ${lines}`);
  for (;;) {
    const rows = await readRows(client, `fetch ${BLOCK_ROWS} from block`);
    if (rows.length > 0) yield rows;
    if (rows.length < BLOCK_ROWS) break;
  }
  await client.query("close block");
}

export async function readRows(client: PoolClient, select: string): Promise<readonly TextRow[]> {
  const options: QueryArrayConfig = { text: select, rowMode: "array", types: textTypes };
  return (await client.query<(string | null)[]>(options)).rows;
}
