import { readFileSync } from "node:fs";

import { Cluster, Redis, type RedisOptions } from "ioredis";

import { assert } from "../core/assert.ts";

export interface RedisServers {
  /**
   * `redis[s]://[user:password@]host[:port][/database]`, with further addresses after commas. User,
   * password and database of the first address apply to all.
   */
  readonly url: string;
  /**
   * `cluster`: the addresses are servers of one cluster. `sentinel`: they are sentinels that know
   * the master. `auto`, the default, means `cluster` for several addresses and `single` for one.
   */
  readonly mode?: string;
  readonly master?: string;
  /** PEM file of the certificate authority of `rediss:` servers; empty for public authorities. */
  readonly caFile?: string;
  /** Empty if the sentinels have no password. */
  readonly sentinelPassword?: string;
}

export type RedisScripts = Readonly<Record<string, { readonly lua: string }>>;

const CONNECT_TIMEOUT_MS = 2_000;
/** After this long without an answer to a command, the client reconnects. */
const SILENCE_MS_MAX = 5_000;
const RETRY_STEP_MS = 50;
const RETRY_MS_MAX = 1_000;

/** Returns a client that is not connected yet. Throws an Error for invalid settings. */
function createRedisClient(servers: RedisServers, scripts: RedisScripts): Redis | Cluster {
  const addresses = parseAddresses(servers.url);
  const [first] = addresses;
  if (first === undefined) throw new Error("redis_url must name a server");
  const nodes = addresses.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (servers.mode === "sentinel" ? 26_379 : 6379) : Number(port),
  }));
  const options = commonOptions(first, servers);
  const db = Number(first.pathname.slice(1));
  switch (chooseMode(servers, nodes.length)) {
    case "cluster":
      return new Cluster(nodes, {
        redisOptions: options,
        scripts,
        lazyConnect: true,
        enableOfflineQueue: false,
        clusterRetryStrategy: retryAfterMs,
      });
    case "sentinel":
      return new Redis({
        ...options,
        ...sentinelOptions(servers, nodes, options.tls),
        db,
        scripts,
      });
    default:
      return new Redis({ ...options, ...nodes[0], db, scripts, retryStrategy: retryAfterMs });
  }
}

function chooseMode({ mode = "auto" }: RedisServers, addresses: number): string {
  if (mode === "auto") return addresses > 1 ? "cluster" : "single";
  if (mode === "single" && addresses > 1) {
    throw new Error("redis.mode is single, and redis_url names several servers; name one");
  }
  return mode;
}

function commonOptions(first: URL, { caFile = "" }: RedisServers) {
  const ca = caFile === "" ? {} : { ca: readAuthority(caFile) };
  return {
    protocol: 2 as const,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_MS_MAX,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    maxLoadingRetryTime: RETRY_MS_MAX,
    disableClientInfo: true,
    // A READONLY fault means that the server is now a replica; a new connection finds the master.
    reconnectOnError: (fault: Error) => fault.message.startsWith("READONLY"),
    ...(first.username === "" ? {} : { username: decodeURIComponent(first.username) }),
    ...(first.password === "" ? {} : { password: decodeURIComponent(first.password) }),
    ...(first.protocol === "rediss:" ? { tls: ca } : {}),
  };
}

function sentinelOptions(
  { master = "", sentinelPassword = "" }: RedisServers,
  sentinels: { readonly host: string; readonly port: number }[],
  tls: RedisOptions["tls"],
) {
  if (master === "") {
    throw new Error("redis.mode is sentinel; give the name of the master in redis.master");
  }
  return {
    sentinels,
    name: master,
    role: "master" as const,
    // Leaves a master as soon as sentinels replace it, not only when it stops answering.
    failoverDetector: true,
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    sentinelRetryStrategy: retryAfterMs,
    sentinelReconnectStrategy: retryAfterMs,
    retryStrategy: retryAfterMs,
    ...(sentinelPassword === "" ? {} : { sentinelPassword }),
    ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
  };
}

function retryAfterMs(times: number): number {
  return Math.min(times * RETRY_STEP_MS, RETRY_MS_MAX);
}

function readAuthority(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new Error(`redis.ca_file: ${file} cannot be read; check its path and permissions`, {
      cause,
    });
  }
}

function parseAddresses(url: string): URL[] {
  return url.split(",").map((part, at) => {
    const text = at === 0 || part.includes("://") ? part : `redis://${part}`;
    const isAddress = /^rediss?:\/\//.test(text) && URL.canParse(text);
    const address = isAddress ? new URL(text) : undefined;
    if (address === undefined || !/^\/?\d*$/.test(address.pathname)) {
      // The text is not quoted, because it may contain a password.
      throw new Error("redis_url must be redis[s]://[user:password@]host[:port][/database]");
    }
    return address;
  });
}

const SCAN_KEYS = 1_000;

/**
 * A connection to a Redis server, to the master that sentinels name, or to each server of a
 * cluster. It reconnects automatically. While it is down, commands fail instead of waiting. A
 * command whose answer was lost is not sent again, except by the client of a cluster.
 */
export class RedisLink {
  readonly #client: Redis | Cluster;
  /** The client turns scripts into commands, and sends the text of each once per connection. */
  readonly #scripts: ScriptCommands;

  /** `scripts` must have all scripts that `run` may call. Throws an Error for invalid `servers`. */
  constructor(servers: RedisServers, scripts: RedisScripts, onFault: (fault: unknown) => void) {
    this.#client = createRedisClient(servers, scripts);
    this.#scripts = this.#client as unknown as ScriptCommands;
    // Each failed attempt to connect emits an "error", which is printed unless it has a listener.
    this.#client.on("error", onFault);
    this.#client.connect().catch(() => undefined);
  }

  /** Resolves as soon as commands can be sent, or after `withinMs`. */
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

  /** Rejects if the script failed, was not sent, or its answer was lost. */
  run(
    script: string,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const run = this.#scripts[script];
    assert(run !== undefined, `this connection was not given the script ${script}`);
    return run.call(this.#client, keys.length, ...keys, ...args);
  }

  /** Removes all keys that begin with `beginning`, on all servers. Returns how many there were. */
  async removeAll(beginning: string): Promise<number> {
    const client = this.#client;
    const servers = client instanceof Cluster ? client.nodes("master") : [client];
    let removed = 0;
    for (const server of servers) {
      const scan = { match: `${beginning}*`, count: SCAN_KEYS };
      for await (const keys of server.scanStream(scan) as AsyncIterable<string[]>) {
        // One command per key, because a cluster server's keys belong to different hash slots.
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
