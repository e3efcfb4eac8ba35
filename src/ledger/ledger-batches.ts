import { setTimeout as sleep } from "node:timers/promises";

import { type Client, DatabaseError, type QueryArrayConfig } from "pg";

import {
  assert,
  AssertionFault,
  batchValues,
  beginSession,
  type DatabaseAddress,
  type Logger,
  marks,
  microUsd,
  openClient,
  parseCapPeriod,
  readPlainColumn,
  toReason,
  textTypes,
} from "../kernel/index.ts";
import { closeColumns, holdColumns } from "./attempt-columns.ts";
import {
  type BatchAnswer,
  BatchFault,
  type BatchFaultKind,
  type CloseVerdict,
  type LedgerBatch,
} from "./ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome } from "./ledger-store.ts";

const CLOSE_PARAMETERS = closeColumns.cells.length;
const BATCH_PARAMETERS = 2 + CLOSE_PARAMETERS + holdColumns.cells.length;

const batchStatement: LaneStatement = {
  name: "ledger_batch",
  text: `select closed_row, closed_code, debited, over, refused_row, refused_code, a, b, c, period,
    period_reset_ms
    from ledger_batch(${marks(BATCH_PARAMETERS)})`,
};
const closeStatement: LaneStatement = {
  name: "close_batch",
  text: `select closed_row, closed_code, debited, over from close_batch(${marks(CLOSE_PARAMETERS)})`,
};

export async function runBatch(lane: LaneConnection, batch: LedgerBatch): Promise<BatchAnswer> {
  const { member, closings, holds } = batch;
  const [answer] = await lane.run(batchStatement, [
    member.instanceId,
    String(member.epoch),
    ...batchValues(closeColumns, closings),
    ...batchValues(holdColumns, holds),
  ]);
  assert(answer !== undefined, "ledger_batch answers one row");
  return {
    verdicts: readVerdicts(answer, closings.length),
    outcomes: readOutcomes(answer, holds.length),
  };
}

/** The verdicts are in the order of the rows. */
export async function runCloseBatch(
  lane: LaneConnection,
  rows: readonly CloseRow[],
): Promise<readonly CloseVerdict[]> {
  const [answer] = await lane.run(closeStatement, batchValues(closeColumns, rows));
  assert(answer !== undefined, "close_batch answers one row");
  return readVerdicts(answer, rows.length).map((verdict) => {
    assert(verdict !== undefined, "close_batch decides every closing");
    return verdict;
  });
}

function readVerdicts(
  answer: readonly (string | null)[],
  rows: number,
): (CloseVerdict | undefined)[] {
  const [at = [], codes, debits, overruns] = answer.slice(0, 4).map(readPlainColumn);
  assert(at.length === rows, "a batch answers every closing");
  const verdicts = Array.from<CloseVerdict | undefined>({ length: rows });
  at.forEach((n, i) => {
    if (codes?.[i] === NOT_OPEN) return;
    const kind = CLOSE_KINDS[codes?.[i] ?? ""];
    assert(kind !== undefined, `a closing has a known code, not ${codes?.[i]}`);
    verdicts[Number(n) - 1] = {
      kind,
      debitMicroUsd: BigInt(debits?.[i] ?? 0),
      overrunMicroUsd: BigInt(overruns?.[i] ?? 0),
    };
  });
  return verdicts;
}

/** `ledger_batch` returns only the refused holds: all others are reserved. */
function readOutcomes(answer: readonly (string | null)[], rows: number): ReserveOutcome[] {
  const outcomes: ReserveOutcome[] = Array.from({ length: rows }, () => RESERVED);
  const [at = [], codes, a, b, c, period, reset] = answer.slice(4, 11).map(readPlainColumn);
  at.forEach((n, i) => {
    const numbers = [a?.[i], b?.[i], c?.[i], period?.[i], reset?.[i]];
    outcomes[Number(n) - 1] = toReserveOutcome(codes?.[i], numbers);
  });
  return outcomes;
}

const RESERVED: ReserveOutcome = { kind: "reserved" };

/** `code` is the code of `ledger_batch` for a refused hold. */
function toReserveOutcome(
  code: string | undefined,
  [a = "0", b = "0", c = "0", period, resetMs]: readonly (string | undefined)[],
): ReserveOutcome {
  switch (code) {
    case "1":
      return {
        kind: "low_balance",
        availableMicroUsd: microUsd(BigInt(a)),
        heldMicroUsd: microUsd(BigInt(b)),
      };
    case "2":
    case "3":
      return {
        kind: "cap",
        scope: code === "2" ? "org" : "key",
        period: parseCapPeriod(period),
        capMicroUsd: microUsd(BigInt(a)),
        settledMicroUsd: microUsd(BigInt(b)),
        inFlightMicroUsd: microUsd(BigInt(c)),
        resetAtMs: Number(resetMs),
      };
    case "4":
      return { kind: "unavailable", reason: "the ledger knows no such key of this organization" };
    case "9":
      return { kind: "unavailable", reason: "fenced" };
    case undefined:
    default:
      throw new AssertionFault(`a refused hold has a known code, not ${code}`);
  }
}

/** The code of `ledger_batch` for a closing that it leaves to `close_batch`. */
const NOT_OPEN = "0";
const CLOSE_KINDS: Readonly<Record<string, CloseVerdict["kind"]>> = {
  1: "closed",
  2: "already_closed",
  3: "unknown",
  4: "corrected",
};

export interface LaneOptions {
  readonly connectionString: DatabaseAddress;
  readonly name: string;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly log: Logger;
  /** Called on a new connection. If it rejects, the connection is closed and nothing is sent. */
  readonly prove?: () => Promise<void>;
  readonly onRenewed?: (() => void) | undefined;
}

interface LaneStatement {
  readonly name: string;
  readonly text: string;
}

const CONNECT_TIMEOUT_MS = 2_000;
/** How long a server may be silent after a statement's time limit before it counts as lost. */
const SILENCE_MS = 900;
const READ_ONLY_TRANSACTION = "25006";

/** A connection for one kind of batch. If it is lost, the next statement opens a new one. */
export class LaneConnection {
  readonly #options: LaneOptions;
  #client: Client | undefined;
  #closed = false;
  #running = 0;
  #wasConnected = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Rejects with a `BatchFault`, whose kind tells whether the statement may have committed. */
  async run(statement: LaneStatement, values: readonly string[]): Promise<string[][]> {
    const client = this.#client ?? (await this.#connect());
    this.#running += 1;
    try {
      const result = await client.query({
        ...statement,
        values: values as string[],
        rowMode: "array",
        types: textTypes,
        query_timeout: this.#options.statementTimeoutMs + SILENCE_MS,
      } as QueryArrayConfig);
      return result.rows as string[][];
    } catch (error) {
      const kind = faultKind(error);
      if (kind === "ambiguous" || isReadOnly(error)) this.#drop(client);
      throw new BatchFault(kind, toReason(error), error);
    } finally {
      this.#running -= 1;
    }
  }

  get use(): "busy" | "idle" | undefined {
    if (this.#client === undefined) return undefined;
    return this.#running > 0 ? "busy" : "idle";
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    const ended = client.end().catch(() => undefined);
    await Promise.race([ended, sleep(SILENCE_MS, undefined, { ref: false })]);
    // A server that does not answer would never end the connection, so the socket is destroyed.
    client.connection.stream.destroy();
  }

  async #connect(): Promise<Client> {
    if (this.#closed) throw new BatchFault("busy", "the ledger is shut down", undefined);
    const { connectionString, name, statementTimeoutMs, lockTimeoutMs } = this.#options;
    const client = openClient(connectionString, {
      application_name: `tokenmarket ${name}`,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
    client.on("error", (error) => {
      this.#options.log.warn({ err: error, lane: name }, "a ledger connection was lost");
      this.#drop(client);
    });
    try {
      await client.connect();
      await beginSession(client, { statementTimeoutMs, lockTimeoutMs });
    } catch (error) {
      // Not `client.end()`, which would wait for an answer of a server that may be silent.
      client.connection.stream.destroy();
      throw new BatchFault("busy", toReason(error), error);
    }
    try {
      await this.#options.prove?.();
    } catch (error) {
      this.#drop(client);
      throw error;
    }
    this.#client = client;
    if (this.#wasConnected) this.#options.onRenewed?.();
    this.#wasConnected = true;
    return client;
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = undefined;
    // Not `client.end()`, which would wait for an answer of a server that may be silent.
    client.connection.stream.destroy();
  }
}

function faultKind(error: unknown): BatchFaultKind {
  if (!(error instanceof DatabaseError)) return "ambiguous";
  // The statement may have committed before the server ended the session.
  if (error.severity === "FATAL" || error.severity === "PANIC") return "ambiguous";
  const sqlClass = error.code?.slice(0, 2) ?? "";
  const isData = ["22", "23", "42", "P0", "TM"].includes(sqlClass);
  return isData ? "rejected" : "busy";
}

/** Replace such a session: it stays read-only when the database accepts writes again. */
function isReadOnly(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === READ_ONLY_TRANSACTION;
}
