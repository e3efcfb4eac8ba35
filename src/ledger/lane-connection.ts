import { setTimeout as sleep } from "node:timers/promises";

import { type Client, DatabaseError, type CustomTypesConfig, type QueryArrayConfig } from "pg";

import { type Logger, beginSession, type DatabaseAddress, openClient } from "../kernel/index.ts";
import { BatchFault, type BatchFaultKind } from "./ledger-batch-store.ts";

export interface LaneOptions {
  readonly connectionString: DatabaseAddress;
  /** Shown in the server's list of sessions. */
  readonly name: string;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly log: Logger;
  /** Before the first statement on a new connection; one that rejects is not used. */
  readonly prove?: () => Promise<void>;
  /** After a connection that took the place of a lost one. */
  readonly onRenewed?: (() => void) | undefined;
}

export interface LaneStatement {
  readonly name: string;
  readonly text: string;
}

const CONNECT_TIMEOUT_MS = 2_000;
/** On top of the server's own time limit, before a silent server counts as lost. */
const SILENCE_MS = 900;
const READ_ONLY_TRANSACTION = "25006";

/**
 * One dedicated connection with prepared statements, reopened on demand after a loss. Values go
 * out as text and come back as text: the batches do their own reading.
 */
export class LaneConnection {
  readonly #options: LaneOptions;
  #client: Client | undefined;
  #closed = false;
  #running = 0;
  #wasConnected = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Runs one statement; rejects with a `BatchFault` that says whether it may have committed. */
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
      throw new BatchFault(kind, errorMessage(error), error);
    } finally {
      this.#running -= 1;
    }
  }

  /** Undefined: it is not connected. */
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
    // A silent server never says goodbye.
    client.connection.stream.destroy();
  }

  async #connect(): Promise<Client> {
    if (this.#closed) throw new BatchFault("busy", "the ledger is shut down", undefined);
    const { connectionString, name, statementTimeoutMs, lockTimeoutMs } = this.#options;
    const client = openClient(connectionString, {
      application_name: `tokenmarket ${name}`,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    client.on("error", (error) => {
      this.#options.log.warn({ err: error, lane: name }, "a ledger connection was lost");
      this.#drop(client);
    });
    try {
      await client.connect();
      await beginSession(client, { statementTimeoutMs, lockTimeoutMs });
    } catch (error) {
      // Not `end`: it waits for the answer of a server that may be silent.
      client.connection.stream.destroy();
      throw new BatchFault("busy", errorMessage(error), error);
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
    // Not `end`: it waits for the answer of a server that may be silent.
    client.connection.stream.destroy();
  }
}

const textTypes: CustomTypesConfig = {
  getTypeParser: (() => (text: string) => text) as CustomTypesConfig["getTypeParser"],
};

function faultKind(error: unknown): BatchFaultKind {
  if (!(error instanceof DatabaseError)) return "ambiguous";
  // A session that the server ends may or may not have committed first.
  if (error.severity === "FATAL" || error.severity === "PANIC") return "ambiguous";
  const sqlClass = error.code?.slice(0, 2) ?? "";
  const isData = ["22", "23", "42", "P0", "TM"].includes(sqlClass);
  return isData ? "rejected" : "busy";
}

/** A session stays as it began: it would permanently refuse what the database accepts again. */
function isReadOnly(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === READ_ONLY_TRANSACTION;
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
