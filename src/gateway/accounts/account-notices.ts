import { randomUUID } from "node:crypto";

import type { Client, Pool } from "pg";

import {
  type Logger,
  type OrgId,
  type DatabaseAddress,
  openClient,
  queryInTime,
} from "../../kernel/index.ts";

/** PostgreSQL channel on which the triggers of `functions.sql` announce changed organizations. */
export const ACCOUNT_CHANNEL = "tokenmarket_account";
const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT_MS = 500;
const APPLIED_WITHIN_MS = 250;
const FENCE = "fence:";

/** Called with the organization that changed; undefined if any organization may have changed. */
export type AccountListener = (orgId: OrgId | undefined) => void;

/**
 * Listens on a separate connection for changes of organizations by this and other processes. The
 * database sends the notice with the commit of the change. While the connection is down, notices
 * are lost and cached records stay until they expire; once it is back, the listener is told that
 * any organization may have changed.
 */
export class AccountNotices {
  readonly #pool: Pool;
  readonly #address: DatabaseAddress;
  readonly #log: Logger;
  readonly #fences: Map<string, () => void> = new Map();
  #listener: AccountListener | undefined;
  #client: Client | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(pool: Pool, address: DatabaseAddress, log: Logger) {
    this.#pool = pool;
    this.#address = address;
    this.#log = log;
  }

  /** Resolves after the first attempt to connect, even if it failed; further attempts follow. */
  async start(listener: AccountListener): Promise<void> {
    this.#listener = listener;
    await this.#connect();
  }

  /**
   * Resolves once this process has received every change that was committed before the call. It
   * sends a notice and waits for it, because notices arrive in commit order. If the notice does not
   * arrive in time, the listener is told that any organization may have changed.
   */
  async applied(): Promise<void> {
    if (this.#listener === undefined) return;
    if (this.#client !== undefined && (await this.#receivedFence())) return;
    this.#listener(undefined);
  }

  /** Replaces an open connection: after a failover, its server may no longer be the primary. */
  renew(): void {
    if (this.#client === undefined) return;
    this.#drop(this.#client);
    void this.#connect();
  }

  close(): void {
    this.#listener = undefined;
    clearTimeout(this.#retry);
    this.#drop(this.#client);
  }

  async #receivedFence(): Promise<boolean> {
    const fence = FENCE + randomUUID();
    let timer: NodeJS.Timeout | undefined;
    const received = new Promise<boolean>((resolve) => {
      this.#fences.set(fence, () => resolve(true));
      timer = setTimeout(() => resolve(false), APPLIED_WITHIN_MS);
    });
    const sent = this.#pool.query("select pg_notify($1, $2)", [ACCOUNT_CHANNEL, fence]);
    const failed = sent.then(
      () => received,
      () => false,
    );
    const isReceived = await Promise.race([received, failed]);
    clearTimeout(timer);
    this.#fences.delete(fence);
    return isReceived;
  }

  async #connect(): Promise<void> {
    const client = openClient(this.#address, {
      application_name: "tokenmarket notices",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    client.on("notification", ({ payload = "" }) => this.#receive(payload));
    try {
      await client.connect();
      await queryInTime(client, { text: `listen ${ACCOUNT_CHANNEL}` });
    } catch (err) {
      this.#log.warn({ err }, "notifications of other processes are not received at the moment");
      this.#drop(client);
      this.#retryLater();
      return;
    }
    if (this.#listener === undefined) return this.#drop(client);
    this.#client = client;
    // Changes committed without a connection were missed, so any organization may have changed.
    this.#listener(undefined);
  }

  #receive(payload: string): void {
    if (payload.startsWith(FENCE)) this.#fences.get(payload)?.();
    else this.#listener?.(payload as OrgId);
  }

  #lost(client: Client): void {
    if (this.#client !== client) return;
    this.#log.warn({}, "the connection for notifications was lost; reconnecting");
    this.#client = undefined;
    this.#drop(client);
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#listener === undefined) return;
    this.#retry = setTimeout(() => void this.#connect(), RECONNECT_MS).unref();
  }

  #drop(client: Client | undefined): void {
    if (this.#client === client) this.#client = undefined;
    // Unlike `end`, `destroy` does not wait for a server that may be silent.
    client?.connection.stream.destroy();
  }
}

/** Makes each method in `verbs` resolve only after this process was notified of its change. */
export function noticed<T extends object>(
  store: T,
  notices: Pick<AccountNotices, "applied">,
  verbs: readonly (keyof T)[],
): T {
  for (const verb of verbs) {
    const run = (store[verb] as (...args: unknown[]) => Promise<unknown>).bind(store);
    const whenReceived = async (...args: unknown[]): Promise<unknown> => {
      const answer = await run(...args);
      await notices.applied();
      return answer;
    };
    store[verb] = whenReceived as T[keyof T];
  }
  return store;
}
