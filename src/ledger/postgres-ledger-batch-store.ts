import type { Pool } from "pg";

import {
  byGateway,
  type ChangeLog,
  type AttemptId,
  PARTITION_DAYS_AHEAD,
  batchValues,
  columns,
  type Columns,
  count,
  marks,
  openPool,
  orAbsent,
  type PoolUse,
  poolUse,
  queryInTime,
  type Row,
  text,
  word,
} from "../kernel/index.ts";
import {
  type AdoptedAttempt,
  adoptedColumns,
  holdColumns,
  priceColumns,
} from "./attempt-columns.ts";
import {
  joinInstance,
  recoverOpenAttempts,
  renewMembership,
  stopReason,
  takeOverDeadInstances,
} from "./join-instance.ts";
import { LaneConnection, type LaneOptions, runBatch, runCloseBatch } from "./ledger-batches.ts";
import type {
  BatchAnswer,
  CloseVerdict,
  LedgerBatch,
  LedgerBatchStore,
  Membership,
  Renewal,
} from "./ledger-batch-store.ts";
import type {
  CloseRow,
  PinnedSheet,
  PricePin,
  RefusedCount,
  RefusedRequest,
  ReserveRow,
} from "./ledger-store.ts";
import { priceChanges } from "./price-changes.ts";
import { StuckAttempts } from "./books-figures.ts";
import { recordRefused } from "./refused-lane.ts";

/** Short, because customers wait for the holds of a batch. */
const BATCH_STATEMENT_TIMEOUT_MS = 1_000;
const BATCH_LOCK_TIMEOUT_MS = 500;
const LATE_STATEMENT_TIMEOUT_MS = 10_000;
const LATE_LOCK_TIMEOUT_MS = 5_000;

const PARTITION_MONTHS_AHEAD = 2;

export class PostgresLedgerBatchStore implements LedgerBatchStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;
  readonly #batches: LaneConnection;
  readonly #late: LaneConnection;
  /** Renewals have their own connection: a process that cannot renew a lease refuses all calls. */
  readonly #lease: Pool;
  #prove: () => Promise<void> = () => Promise.resolve();

  constructor(
    pool: Pool,
    changes: ChangeLog,
    lanes: Pick<LaneOptions, "connectionString" | "log" | "onRenewed">,
  ) {
    this.#pool = pool;
    this.#changes = changes;
    this.#batches = new LaneConnection({
      ...lanes,
      name: "ledger",
      statementTimeoutMs: BATCH_STATEMENT_TIMEOUT_MS,
      lockTimeoutMs: BATCH_LOCK_TIMEOUT_MS,
      prove: () => this.#prove(),
    });
    this.#late = new LaneConnection({
      ...lanes,
      name: "late closings",
      statementTimeoutMs: LATE_STATEMENT_TIMEOUT_MS,
      lockTimeoutMs: LATE_LOCK_TIMEOUT_MS,
    });
    this.#lease = openPool(lanes.connectionString, lanes.log, 1);
  }

  get connections(): PoolUse {
    const uses = [this.#batches.use, this.#late.use];
    const lease = poolUse(this.#lease);
    const busy = uses.filter((use) => use === "busy").length + lease.busy;
    const idle = uses.filter((use) => use === "idle").length + lease.idle;
    return { busy, idle, waiting: 0 };
  }

  runBatch(batch: LedgerBatch): Promise<BatchAnswer> {
    return runBatch(this.#batches, batch);
  }

  closeBatch(rows: readonly CloseRow[]): Promise<readonly CloseVerdict[]> {
    return runCloseBatch(this.#late, rows);
  }

  async annul(rows: readonly ReserveRow[]): Promise<void> {
    for (const row of rows) {
      // If the transaction of the reserve is about to commit, `annul_attempt` waits for it. A
      // reserve that comes later finds the attempt's id taken and fails.
      const values = Object.values(holdColumns.record(row));
      await queryInTime(this.#pool, { text: ANNUL_SQL, values });
    }
  }

  recordRefusedBatch(
    requests: readonly RefusedRequest[],
    counts: readonly RefusedCount[],
  ): Promise<void> {
    return recordRefused(this.#pool, requests, counts);
  }

  async ensurePricePins(pins: readonly PricePin[]): Promise<void> {
    if (pins.length === 0) return;
    const sheets = pins.flatMap(({ pinId, sheets: own = [] }) =>
      own.map((sheet) => ({ ...sheet, ofPinId: pinId })),
    );
    await this.#changes.write(CATALOG, async (client, note) => {
      const ensuring = batchValues(pinColumns, pins);
      const { rows } = await client.query<{ pin_id: string }>(ENSURE_PINS_SQL, ensuring);
      const added = new Set(rows.map(({ pin_id }) => pin_id));
      for (const change of await priceChanges(client, pins, added)) note(change);
      if (sheets.length === 0) return;
      await client.query(ENSURE_SHEETS_SQL, batchValues(sheetColumns, sheets));
    });
  }

  join(name: string, leaseMs: number): Promise<Membership> {
    return joinInstance(this.#pool, name, leaseMs);
  }

  renewLease(renewal: Parameters<LedgerBatchStore["renewLease"]>[0]): Promise<Renewal> {
    return renewMembership(this.#lease, renewal);
  }

  onReconnect(prove: () => Promise<void>): void {
    this.#prove = prove;
  }

  stopReason(): Promise<string | undefined> {
    return stopReason(this.#pool);
  }

  async leave(member: Membership): Promise<void> {
    await queryInTime(this.#pool, {
      text: LEAVE_SQL,
      values: [member.instanceId, String(member.epoch)],
    });
  }

  takeOverDeadInstances(): Promise<readonly string[]> {
    return takeOverDeadInstances(this.#pool);
  }

  recoverOpenAttempts(stuck?: StuckAttempts): Promise<number> {
    return recoverOpenAttempts(this.#pool, stuck ?? new StuckAttempts(throwFault));
  }

  async attachJob(attemptId: AttemptId, providerJobId: string): Promise<boolean> {
    const result = await this.#pool.query<{ attached: boolean }>(
      "select attach_job($1, $2) as attached",
      [attemptId, providerJobId],
    );
    return result.rows[0]?.attached === true;
  }

  async adoptAttempts(member: Membership, limit: number): Promise<readonly AdoptedAttempt[]> {
    const result = await this.#pool.query<Row>(ADOPT_SQL, [member.instanceId, member.epoch, limit]);
    return result.rows.map(adoptedColumns.read);
  }

  async maintain(): Promise<void> {
    await this.#pool.query("select ensure_attempt_partitions($1)", [PARTITION_DAYS_AHEAD]);
    await this.#pool.query("select ensure_transfer_partitions($1)", [PARTITION_MONTHS_AHEAD]);
    await this.#pool.query("select drop_old_annulments()");
  }

  async close(): Promise<void> {
    await Promise.all([this.#batches.close(), this.#late.close(), this.#lease.end()]);
  }
}

const ANNUL_SQL = `select annul_attempt(${marks(holdColumns.cells.length)})`;

const ADOPT_SQL = `select ${adoptedColumns.sql} from adopt_attempts($1, $2, $3)`;

const pinColumns: Columns<Omit<PricePin, "sheets">> = columns<Omit<PricePin, "sheets">>({
  pinId: word("pin_id"),
  providerId: text("provider_id"),
  modelId: text("model_id"),
  prices: priceColumns,
  purchasePinId: orAbsent(word("purchase_pin_id")),
});

const ENSURE_PINS_SQL = `
  insert into price_pin (${pinColumns.sql})
  select * from unnest(${pinColumns.arraysSql}) on conflict do nothing returning pin_id`;

const CATALOG = byGateway("catalog");

const sheetColumns: Columns<PinnedSheet & { readonly ofPinId: string }> = columns({
  ofPinId: word("pin_id"),
  abovePromptTokens: count("above_prompt_tokens"),
  pinId: word("sheet_pin_id"),
});

const ENSURE_SHEETS_SQL = `
  insert into price_sheet (${sheetColumns.sql})
  select * from unnest(${sheetColumns.arraysSql}) on conflict do nothing`;

const LEAVE_SQL = `
  update instance_lease l set lease_until = least(l.lease_until, now())
  from instance i
  where i.instance_id = l.instance_id and l.instance_id = $1 and i.epoch = $2`;

function throwFault(_: unknown, fault: unknown): never {
  throw fault;
}
