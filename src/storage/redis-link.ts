import { Cluster, Redis } from "ioredis";

import { assert } from "../core/index.ts";

/** Scripts by the name under which the client has them as commands. */
export type RedisScripts = Readonly<Record<string, { readonly lua: string }>>;

const CONNECT_TIMEOUT_MS = 2_000;
/** A server that owes answers and says nothing for so long is connected to anew. */
const SILENCE_MS_MAX = 5_000;
const RETRY_STEP_MS = 50;
const RETRY_MS_MAX = 1_000;
const SCAN_KEYS = 1_000;

/**
 * One connection to a Redis server, or one to each server of a cluster; made anew by itself after a
 * loss. Nothing is queued while there is none, and nothing is sent twice.
 */
export class RedisLink {
  readonly #client: Redis | Cluster;
  /** The scripts are commands of the client: each connection sends the text once, in its order. */
  readonly #scripts: ScriptCommands;

  /**
   * `scripts`: every script that is run on this connection.
   *
   * `url`: `redis[s]://[user:password@]host[:port][/database]`; several addresses with commas
   * between them are servers of one cluster. Throws an Error when it is none.
   */
  constructor(url: string, scripts: RedisScripts, onFault: (fault: unknown) => void) {
    this.#client = open(url, scripts);
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

function open(url: string, scripts: RedisScripts): Redis | Cluster {
  const addresses = addressesOf(url);
  const [first] = addresses;
  if (first === undefined) throw new Error("redis_url must name a server");
  const options = {
    protocol: 2 as const,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_MS_MAX,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    maxLoadingRetryTime: RETRY_MS_MAX,
    disableClientInfo: true,
    // A server that became a replica: the current leader is found by connecting again.
    reconnectOnError: (fault: Error) => fault.message.startsWith("READONLY"),
    ...(first.username === "" ? {} : { username: decodeURIComponent(first.username) }),
    ...(first.password === "" ? {} : { password: decodeURIComponent(first.password) }),
    ...(first.protocol === "rediss:" ? { tls: {} } : {}),
  };
  const retryStrategy = (times: number): number => Math.min(times * RETRY_STEP_MS, RETRY_MS_MAX);
  const nodes = addresses.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? 6379 : Number(port),
  }));
  if (nodes.length > 1) {
    return new Cluster(nodes, {
      redisOptions: options,
      scripts,
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: retryStrategy,
    });
  }
  const database = Number(first.pathname.slice(1));
  return new Redis({
    ...options,
    ...nodes[0],
    db: database,
    scripts,
    retryStrategy,
  });
}

function addressesOf(url: string): URL[] {
  return url.split(",").map((part, at) => {
    const text = at === 0 || part.includes("://") ? part : `redis://${part}`;
    const isAddress = /^rediss?:\/\//.test(text) && URL.canParse(text);
    const address = isAddress ? new URL(text) : undefined;
    if (address === undefined || !/^\/?\d*$/.test(address.pathname)) {
      // The text may hold a password: it is not repeated.
      throw new Error("redis_url must be redis[s]://[user:password@]host[:port][/database]");
    }
    return address;
  });
}
