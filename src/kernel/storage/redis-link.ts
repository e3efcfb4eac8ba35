import { Cluster, type Redis } from "ioredis";

import { assert } from "../core/assert.ts";
import { newRedisClient, type RedisScripts, type RedisServers } from "./redis-client.ts";

/** Asked for at once. */
const SCAN_KEYS = 1_000;

/**
 * One connection to a Redis server, to the master that sentinels name, or one to each server of a
 * cluster; reconnects by itself after a loss. Nothing is queued while there is none, and nothing is
 * sent twice.
 */
export class RedisLink {
  readonly #client: Redis | Cluster;
  /** The scripts are commands of the client: each connection sends the text once, in its order. */
  readonly #scripts: ScriptCommands;

  /**
   * `scripts`: every script that is run on this connection.
   *
   * Throws an Error where `servers` are not named rightly.
   */
  constructor(servers: RedisServers, scripts: RedisScripts, onFault: (fault: unknown) => void) {
    this.#client = newRedisClient(servers, scripts);
    this.#scripts = this.#client as unknown as ScriptCommands;
    // Every failed attempt to connect comes by here; without a listener it would be printed.
    this.#client.on("error", onFault);
    this.#client.connect().catch(() => undefined);
  }

  /** Resolves as soon as commands can be sent, or after `withinMs` without that. */
  async ready(withinMs: number): Promise<void> {
    if (this.#client.status === "ready") return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#client.once("ready", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Runs a script; rejects when it failed, was not sent, or its answer was lost. */
  run(
    script: string,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const run = this.#scripts[script];
    assert(run !== undefined, `this connection was not given the script ${script}`);
    return run.call(this.#client, keys.length, ...keys, ...args);
  }

  /** Removes every key with this beginning, on all servers; how many it were. */
  async removeAll(beginning: string): Promise<number> {
    const client = this.#client;
    const servers = client instanceof Cluster ? client.nodes("master") : [client];
    let removed = 0;
    for (const server of servers) {
      const scan = { match: `${beginning}*`, count: SCAN_KEYS };
      for await (const keys of server.scanStream(scan) as AsyncIterable<string[]>) {
        // One by one: keys of a cluster's server are of different slots.
        removed += (await Promise.all(keys.map((key) => server.unlink(key)))).length;
      }
    }
    return removed;
  }

  close(): void {
    this.#client.disconnect();
  }
}

type ScriptCommands = Readonly<
  Record<string, (keys: number, ...words: (string | number)[]) => Promise<unknown>>
>;
