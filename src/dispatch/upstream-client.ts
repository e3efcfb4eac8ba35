import { Pool, type Dispatcher } from "undici";

import type { Deployment, OwnKey } from "../catalog/catalog.ts";
import type { AttemptId } from "../core/ids.ts";
import type { CheckKeyRequest } from "../wires/check-key-request.ts";
import { providerAuthHeader } from "../wires/provider-auth.ts";
import type { UpstreamRequest } from "../wires/chat/upstream-request.ts";
import { isPrivateAddress, PrivateAddressError, publicLookup } from "./address-guard.ts";

export interface UpstreamClientOptions {
  /** Lets provider addresses be loopback or private: development and tests. */
  readonly allowPrivateUpstreams: boolean;
  /** The provider key by the NAME of its environment variable. */
  readonly providerKey: (envName: string) => string | undefined;
  /** A customer's own provider key; throws when it does not open. Absent: none opens. */
  readonly openKey?: (ownKey: OwnKey) => string;
}

const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_SOCKET_MS = 10_000;
const CONNECTIONS_PER_ORIGIN_MAX = 4_096;

interface Endpoint {
  readonly pool: Pool;
  readonly basePath: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  /** Why nothing is ever sent there. */
  readonly refused: Error | undefined;
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

  /**
   * Asks once with the deployment's key, aside from any call. Resolves with the status of the
   * answer; rejects when there is none in time.
   */
  async checkKey(
    deployment: Deployment,
    request: CheckKeyRequest,
    timeoutMs: number,
  ): Promise<number> {
    const endpoint = this.#endpointOf(deployment);
    if (endpoint.refused !== undefined) throw endpoint.refused;
    const { statusCode, body } = await endpoint.pool.request({
      path: endpoint.basePath + request.path,
      method: "GET",
      headers: withHeaders(endpoint.headers, request.headers, undefined),
      signal: AbortSignal.timeout(timeoutMs),
    });
    // The status says it all; how the body ends does not matter.
    await body.dump().catch(() => undefined);
    return statusCode;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #endpointOf(deployment: Deployment): Endpoint {
    const known = this.#endpoints.get(deployment);
    if (known !== undefined) return known;
    const url = new URL(deployment.baseUrl);
    const key = this.#keyOf(deployment);
    const auth = typeof key === "string" ? [providerAuthHeader(deployment.wire, key)] : [];
    const endpoint: Endpoint = {
      pool: this.#poolOf(url.origin),
      basePath: url.pathname === "/" ? "" : url.pathname.replace(/\/$/, ""),
      headers: ["accept-encoding", "identity", ...auth.flat()],
      refused: key instanceof Error ? key : this.#whyUnreachable(url),
    };
    this.#endpoints.set(deployment, endpoint);
    return endpoint;
  }

  /** A customer's own key, the marketplace's, none, or an own key that does not open. */
  #keyOf({ ownKey, apiKeyEnv }: Deployment): string | undefined | Error {
    if (ownKey === undefined) {
      return apiKeyEnv === undefined ? undefined : this.#options.providerKey(apiKeyEnv);
    }
    const unopened = new Error("the key of the connection does not open");
    try {
      return this.#options.openKey?.(ownKey) ?? unopened;
    } catch {
      // Without the reason: whoever tells this error on must not tell what was tried.
      return unopened;
    }
  }

  #whyUnreachable({ hostname }: URL): PrivateAddressError | undefined {
    if (this.#options.allowPrivateUpstreams) return undefined;
    return isPrivateAddress(hostname) || /(^|\.)localhost\.?$/i.test(hostname)
      ? new PrivateAddressError("the provider's base address is private")
      : undefined;
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
