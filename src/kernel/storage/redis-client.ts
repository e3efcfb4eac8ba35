import { readFileSync } from "node:fs";

import { Cluster, Redis, type RedisOptions } from "ioredis";

import { assert } from "../core/assert.ts";

/** The servers of Redis, and how to connect to them. */
export interface RedisServers {
  /**
   * `redis[s]://[user:password@]host[:port][/database]`, with further addresses after commas. User,
   * password and database are taken from the first one.
   */
  readonly url: string;
  /**
   * `cluster`: the addresses are servers of one cluster. `sentinel`: they are sentinels that know
   * the master. `auto`, the default, means `cluster` for several addresses and `single` for one.
   */
  readonly mode?: string;
  /** Name that the sentinels know the master by. */
  readonly master?: string;
  /** PEM file of the certificate authority of `rediss:` servers. Empty: the public ones. */
  readonly caFile?: string;
  /** The password of the sentinels themselves. Empty if they have none. */
  readonly sentinelPassword?: string;
}

/** Scripts by the name under which the client has them as commands. */
export type RedisScripts = Readonly<Record<string, { readonly lua: string }>>;

const CONNECT_TIMEOUT_MS = 2_000;
/** A server that owes answers and says nothing for this long is connected to again. */
const SILENCE_MS_MAX = 5_000;
const RETRY_STEP_MS = 50;
const RETRY_MS_MAX = 1_000;

/** A client that is not connected yet; throws an Error where the servers are not named rightly. */
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
    // A server that became a replica: the current leader is found by connecting again.
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
    // A master that was replaced is left at once, and not when it stops answering.
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
      // The text may hold a password: it is not repeated.
      throw new Error("redis_url must be redis[s]://[user:password@]host[:port][/database]");
    }
    return address;
  });
}

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
    this.#client = createRedisClient(servers, scripts);
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
