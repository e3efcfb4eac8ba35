import type { Pool } from "pg";
import { assert } from "../core/assert.ts";
import type { AttemptId } from "../core/ids.ts";
import { partitionDaysAhead } from "../core/constants.ts";
import type {
  AdoptedAttempt,
  CloseVerdict,
  LedgerBatchStore,
  Membership,
  ReserveEntry,
} from "./ledger-batch-store.ts";
import type { Logger } from "../core/log.ts";
import type {
  CloseRow,
  PricePin,
  RefusedCount,
  RefusedRequest,
  ReserveOutcome,
  ReserveRow,
} from "./ledger-store.ts";
import { adoptedAttempt, type AdoptedRow } from "./adopted-rows.ts";
import { queryInTime } from "../storage/connection.ts";
import { joinInstance, takeOverDeadInstances } from "./join-instance.ts";
import { LaneConnection } from "./lane-connection.ts";
import { runCloseBatch, runReserveBatch } from "./ledger-batches.ts";
import { recordRefused } from "./refused-rows.ts";

const RESERVE_STATEMENT_TIMEOUT_MS = 1_000;
const RESERVE_LOCK_TIMEOUT_MS = 500;
const CLOSE_STATEMENT_TIMEOUT_MS = 10_000;
const CLOSE_LOCK_TIMEOUT_MS = 5_000;
const RECOVERY_BLOCK_ROWS = 500;

/** The ledger's books in PostgreSQL: one connection for reserves, one for closings. */
export class PostgresLedgerBatchStore implements LedgerBatchStore {
  readonly #pool: Pool;
  readonly #reserves: LaneConnection;
  readonly #closings: LaneConnection;

  constructor(pool: Pool, connectionString: string, log: Logger) {
    this.#pool = pool;
    this.#reserves = new LaneConnection({
      connectionString,
      log,
      name: "reserve",
      statementTimeoutMs: RESERVE_STATEMENT_TIMEOUT_MS,
      lockTimeoutMs: RESERVE_LOCK_TIMEOUT_MS,
    });
    this.#closings = new LaneConnection({
      connectionString,
      log,
      name: "close",
      statementTimeoutMs: CLOSE_STATEMENT_TIMEOUT_MS,
      lockTimeoutMs: CLOSE_LOCK_TIMEOUT_MS,
    });
  }

  reserveBatch(
    member: Membership,
    entries: readonly ReserveEntry[],
  ): Promise<readonly ReserveOutcome[]> {
    return runReserveBatch(this.#reserves, member, entries);
  }

  closeBatch(rows: readonly CloseRow[]): Promise<readonly CloseVerdict[]> {
    return runCloseBatch(this.#closings, rows);
  }

  async annul(rows: readonly ReserveRow[]): Promise<void> {
    for (const row of rows) {
      // A commit that is still under way is waited for; one that comes later finds the id taken.
      const values = [
        row.attemptId,
        row.requestId,
        row.ordinal,
        row.orgId,
        row.keyId,
        row.modelId,
        row.providerId,
        row.upstreamModelId,
        row.pricePinId,
        row.route,
        row.stream,
        row.estimatedTokens,
        row.reserveMicroUsd,
      ];
      await queryInTime(this.#pool, { text: annulSql, values });
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
    const column = <T>(read: (pin: PricePin) => T): T[] => pins.map(read);
    await this.#pool.query(ensurePinsSql, [
      column((pin) => pin.pinId),
      column((pin) => pin.providerId),
      column((pin) => pin.modelId),
      column((pin) => String(pin.promptPico)),
      column((pin) => String(pin.cachedPromptPico)),
      column((pin) => String(pin.cacheWritePico)),
      column((pin) => String(pin.completionPico)),
      column((pin) => String(pin.internalReasoningPico)),
    ]);
  }

  join(name: string, leaseMs: number): Promise<Membership> {
    return joinInstance(this.#pool, name, leaseMs);
  }

  async renewLease(member: Membership, leaseMs: number): Promise<number | undefined> {
    const result = await queryInTime<{ now: Date }>(this.#pool, {
      text: renewLeaseSql,
      values: [member.instanceId, String(member.epoch), leaseMs],
    });
    return result.rows[0]?.now.getTime();
  }

  async leave(member: Membership): Promise<void> {
    await this.renewLease(member, 0);
  }

  takeOverDeadInstances(): Promise<readonly string[]> {
    return takeOverDeadInstances(this.#pool);
  }

  async recoverOpenAttempts(): Promise<number> {
    let recovered = 0;
    for (;;) {
      const result = await this.#pool.query<{ closed: number; seen: number }>(recoverSql, [
        RECOVERY_BLOCK_ROWS,
      ]);
      const row = result.rows[0];
      assert(row !== undefined, "recover_attempts answers one row");
      recovered += row.closed;
      if (row.seen < RECOVERY_BLOCK_ROWS) return recovered;
    }
  }

  async attachJob(attemptId: AttemptId, providerJobId: string): Promise<boolean> {
    const result = await this.#pool.query<{ attached: boolean }>(
      "select attach_job($1, $2) as attached",
      [attemptId, providerJobId],
    );
    return result.rows[0]?.attached === true;
  }

  async adoptAttempts(member: Membership, limit: number): Promise<readonly AdoptedAttempt[]> {
    const result = await this.#pool.query<AdoptedRow>("select * from adopt_attempts($1, $2, $3)", [
      member.instanceId,
      member.epoch,
      limit,
    ]);
    return result.rows.map(adoptedAttempt);
  }

  async maintain(): Promise<void> {
    await this.#pool.query("select ensure_attempt_partitions($1)", [partitionDaysAhead]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#reserves.close(), this.#closings.close()]);
  }
}

const annulSql = `select annul_attempt($1, $2, $3::smallint, $4, $5, $6, $7, $8, $9, $10, $11, $12,
  $13)`;

const ensurePinsSql = `
  insert into price_pin (pin_id, provider_id, model_id, prompt_pico, cached_prompt_pico,
    cache_write_pico, completion_pico, internal_reasoning_pico)
  select * from unnest($1::text[], $2::text[], $3::text[], $4::numeric[], $5::numeric[],
    $6::numeric[], $7::numeric[], $8::numeric[])
  on conflict do nothing`;

const renewLeaseSql = `
  update instance_lease l set lease_until = now() + $3 * interval '1 millisecond'
  from instance i
  where i.instance_id = l.instance_id and l.instance_id = $1 and i.epoch = $2
  returning clock_timestamp() as now`;

const recoverSql = "select closed, seen from recover_attempts($1)";
