import { Pool, type Dispatcher } from "undici";

import type { Deployment } from "../catalog/catalog.ts";
import type { AttemptId } from "../core/ids.ts";
import { providerAuthHeader } from "../wires/provider-auth.ts";
import type { UpstreamRequest } from "../wires/chat/upstream-request.ts";
import { isPrivateAddress, PrivateAddressError, publicLookup } from "./address-guard.ts";

export interface UpstreamClientOptions {
  /** Lets provider addresses be loopback or private: development and tests. */
  readonly allowPrivateUpstreams: boolean;
  /** The provider key by the NAME of its environment variable. */
  readonly providerKey: (envName: string) => string | undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_SOCKET_MS = 10_000;
const CONNECTIONS_PER_ORIGIN_MAX = 4_096;

interface Endpoint {
  readonly pool: Pool;
  readonly basePath: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly refused: PrivateAddressError | undefined;
}

/**
 * Sends encoded requests to providers over kept-alive connections: one pool per origin, one request
 * per connection at a time, no redirect followed, no retry, no decompression asked for.
 */
export class UpstreamClient {
  readonly #options: UpstreamClientOptions;
  readonly #pools = new Map<string, Pool>();
  // Weak: a swapped catalog takes its endpoints with it.
  readonly #endpoints = new WeakMap<Deployment, Endpoint>();

  constructor(options: UpstreamClientOptions) {
    this.#options = options;
  }

  /**
   * Dispatches once; everything that happens is told to `handler`, failures included. The attempt's
   * id goes along, so that a provider's own records can be matched with the journal.
   */
  send(
    deployment: Deployment,
    request: UpstreamRequest,
    handler: Dispatcher.DispatchHandler & { onRefused(error: Error): void },
    attemptId?: AttemptId,
  ): void {
    const endpoint = this.#endpointOf(deployment);
    if (endpoint.refused !== undefined) {
      handler.onRefused(endpoint.refused);
      return;
    }
    endpoint.pool.dispatch(
      {
        path: endpoint.basePath + request.path,
        method: "POST",
        headers: withHeaders(endpoint.headers, request.headers, attemptId),
        body: request.body,
        // Time limits are the attempt's own, on one shared timer.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      handler,
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #endpointOf(deployment: Deployment): Endpoint {
    const known = this.#endpoints.get(deployment);
    if (known !== undefined) return known;
    const url = new URL(deployment.baseUrl);
    const envName = deployment.apiKeyEnv;
    const key = envName === undefined ? undefined : this.#options.providerKey(envName);
    const auth = key === undefined ? [] : [providerAuthHeader(deployment.wire, key)];
    const literalPrivate =
      !this.#options.allowPrivateUpstreams &&
      (isPrivateAddress(url.hostname) || /(^|\.)localhost\.?$/i.test(url.hostname));
    const endpoint: Endpoint = {
      pool: this.#poolOf(url.origin),
      basePath: url.pathname === "/" ? "" : url.pathname.replace(/\/$/, ""),
      headers: ["accept-encoding", "identity", ...auth.flat()],
      refused: literalPrivate
        ? new PrivateAddressError("the provider's base address is private")
        : undefined,
    };
    this.#endpoints.set(deployment, endpoint);
    return endpoint;
  }

  #poolOf(origin: string): Pool {
    const known = this.#pools.get(origin);
    if (known !== undefined) return known;
    const pool = new Pool(origin, {
      connections: CONNECTIONS_PER_ORIGIN_MAX,
      pipelining: 1,
      keepAliveTimeout: IDLE_SOCKET_MS,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        ...(this.#options.allowPrivateUpstreams ? {} : { lookup: publicLookup }),
      },
    });
    this.#pools.set(origin, pool);
    return pool;
  }
}

function withHeaders(
  own: readonly string[],
  request: Readonly<Record<string, string>>,
  attemptId: AttemptId | undefined,
): string[] {
  const list = own.slice();
  if (attemptId !== undefined) list.push("x-client-request-id", String(attemptId));
  for (const name in request) list.push(name, request[name] ?? "");
  return list;
}
