import type { Dispatcher } from "undici";

import type { Deployment, OwnKey } from "../catalog/index.ts";
import { assert, type AttemptId, BufferPool, EditedBytes } from "../kernel/index.ts";
import {
  type KeyCheck,
  providerAuth,
  type UpstreamRequest,
  wires,
  type WireTable,
} from "../formats/index.ts";
import { isPrivateHost, PrivateAddressError } from "./address-guard.ts";
import { type KeptHandler, type Outbound, ProviderConnections } from "./provider-connections.ts";
import { SentBodies } from "./sent-bodies.ts";

export interface UpstreamClientOptions {
  /** Allows loopback and private addresses, for development and tests. */
  readonly allowPrivateUpstreams: boolean;
  readonly providerKey: (envName: string) => string | undefined;
  /** Decrypts a customer's own provider key, or throws. Absent: such keys cannot be used. */
  readonly openKey?: (ownKey: OwnKey) => string;
  /** Wires that providers may speak. Default: all wires of the program. */
  readonly wires?: WireTable;
  /** Buffers for request bodies. Default: a new pool. */
  readonly bodyPool?: BufferPool;
  /** The routes to providers. Default: no proxy, and the default certificate authorities. */
  readonly outbound?: Outbound;
  /** Called when a request is sent again because its kept connection had been closed. */
  readonly onSentAgain?: (deployment: Deployment) => void;
}

/** `onRefused` is called if the request is refused before it reaches a connection. */
export type UpstreamHandler = KeptHandler & { onRefused(error: Error): void };

export interface SentAttempt {
  readonly attemptId?: AttemptId;
  readonly traceparent?: string | undefined;
}

/** A request without a body, such as one that reads or deletes a video job. */
export interface UpstreamQuestion {
  /** A path below the base URL, with a leading slash, or a URL of the base URL's origin. */
  readonly path: string | URL;
  /** Header names in lower case. The header with the provider's key is not among them. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Endpoint {
  readonly providerId: string;
  readonly origin: string;
  readonly basePath: string;
  /**
   * The marketplace's key in `headers`. If it is rotated, the endpoint is built again. Undefined for
   * a customer's own key, and if there is no key.
   */
  readonly marketplaceKey: string | undefined;
  /** Names and values in turn: name, value, name, value, … */
  readonly headers: readonly string[];
  /** Why nothing may be sent to this endpoint; undefined if requests may be sent. */
  readonly refused: Error | undefined;
}

/**
 * Sends encoded requests to providers over kept-alive connections: one pool for each route and
 * origin, one request per connection at a time, no redirects, no compression. A request is sent
 * again only if a kept connection ended before the first byte of an answer.
 */
export class UpstreamClient {
  readonly #options: UpstreamClientOptions;
  readonly #connections: ProviderConnections;
  readonly #bodies: SentBodies;
  // The map is weak, so that endpoints of a replaced catalog are collected with its deployments.
  readonly #endpoints = new WeakMap<Deployment, Endpoint>();

  constructor(options: UpstreamClientOptions) {
    this.#options = options;
    const { bodyPool, allowPrivateUpstreams: allowPrivate, outbound } = options;
    this.#bodies = new SentBodies(bodyPool ?? new BufferPool());
    this.#connections = new ProviderConnections({ bodies: this.#bodies, allowPrivate, outbound });
  }

  /** Sends the attempt's id, if there is one, so that a provider's records can be matched. */
  send(
    deployment: Deployment,
    request: UpstreamRequest,
    handler: UpstreamHandler,
    sent: SentAttempt = {},
  ): void {
    const { path, headers, body } = request;
    this.#dispatch(deployment, { method: "POST", path, headers, body, sent }, handler);
  }

  get(deployment: Deployment, question: UpstreamQuestion, handler: UpstreamHandler): void {
    this.#dispatch(deployment, { method: "GET", ...question }, handler);
  }

  delete(deployment: Deployment, question: UpstreamQuestion, handler: UpstreamHandler): void {
    this.#dispatch(deployment, { method: "DELETE", ...question }, handler);
  }

  /**
   * Fetches a URL that a provider named, without any key: only public addresses over https, unless
   * private upstreams are allowed. The connection is closed after the answer.
   */
  getElsewhere(
    url: URL,
    headers: Readonly<Record<string, string>>,
    handler: UpstreamHandler,
  ): void {
    const refused = this.#redirectFault(url);
    if (refused !== undefined) return handler.onRefused(refused);
    const options = {
      origin: url.origin,
      path: url.pathname + url.search,
      method: "GET",
      headers: withHeaders(COMMON_HEADERS, headers),
      ...NO_TIMEOUTS,
    } as const;
    this.#connections.elsewhere(url.origin, (dispatcher) => dispatcher.dispatch(options, handler));
  }

  /** Sends one request with the key. Resolves with the status; rejects if there is none in time. */
  async checkKey(deployment: Deployment, request: KeyCheck, timeoutMs: number): Promise<number> {
    const endpoint = this.#findEndpoint(deployment);
    if (endpoint.refused !== undefined) throw endpoint.refused;
    const { statusCode, body } = await this.#connections.kept(endpoint).request({
      origin: endpoint.origin,
      path: endpoint.basePath + request.path,
      method: "GET",
      headers: withHeaders(endpoint.headers, request.headers),
      signal: AbortSignal.timeout(timeoutMs),
    });
    await body.dump().catch(() => undefined);
    return statusCode;
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  #dispatch(deployment: Deployment, request: Dispatched, handler: UpstreamHandler): void {
    const endpoint = this.#findEndpoint(deployment);
    if (endpoint.refused !== undefined) return handler.onRefused(endpoint.refused);
    const { method, path, headers, body, sent } = request;
    const options = {
      origin: endpoint.origin,
      path: typeof path === "string" ? endpoint.basePath + path : pathOn(endpoint, path),
      method,
      headers: withHeaders(endpoint.headers, headers, sent),
      ...NO_TIMEOUTS,
    };
    const sendOn = (dispatcher: Dispatcher, to: Dispatcher.DispatchHandler): void => {
      if (body === undefined) dispatcher.dispatch(options, to);
      else if (!Buffer.isBuffer(body)) this.#bodies.dispatch(dispatcher, { ...options, body }, to);
      else if (body.length === body.buffer.byteLength)
        dispatcher.dispatch({ ...options, body }, to);
      else {
        // undici keeps a body until the answer ends, and a slice would keep all of the memory that
        // it shares. So a copy in a pooled buffer is sent instead.
        const own = new EditedBytes(body, []);
        this.#bodies.dispatch(dispatcher, { ...options, body: own }, to);
      }
    };
    const followed = this.#connections.handler(handler, () => {
      this.#options.onSentAgain?.(deployment);
      this.#connections.anew(endpoint, (dispatcher) => sendOn(dispatcher, handler));
    });
    sendOn(this.#connections.kept(endpoint), followed);
  }

  #findEndpoint(deployment: Deployment): Endpoint {
    const known = this.#endpoints.get(deployment);
    const marketplaceKey = this.#findMarketplaceKey(deployment);
    if (known !== undefined && known.marketplaceKey === marketplaceKey) return known;
    const url = new URL(deployment.baseUrl);
    const key = this.#findKey(deployment);
    const wire = (this.#options.wires ?? wires).get(deployment.wire);
    const auth = typeof key === "string" ? providerAuth(wire, deployment, key) : [];
    const endpoint: Endpoint = {
      providerId: deployment.providerId,
      origin: url.origin,
      basePath: url.pathname === "/" ? "" : url.pathname.replace(/\/$/, ""),
      marketplaceKey,
      headers: [...COMMON_HEADERS, ...auth],
      refused: key instanceof Error ? key : this.#addressFault(url),
    };
    this.#endpoints.set(deployment, endpoint);
    return endpoint;
  }

  #findMarketplaceKey({ ownKey, apiKeyEnv }: Deployment): string | undefined {
    if (ownKey !== undefined || apiKeyEnv === undefined) return undefined;
    return this.#options.providerKey(apiKeyEnv);
  }

  /** Returns an Error if a customer's key cannot be decrypted, undefined if there is no key. */
  #findKey(deployment: Deployment): string | undefined | Error {
    const { ownKey } = deployment;
    if (ownKey === undefined) return this.#findMarketplaceKey(deployment);
    const unopened = new Error("the key of the connection does not open");
    try {
      return this.#options.openKey?.(ownKey) ?? unopened;
    } catch {
      // The cause is left out, because it must not be shown to a client.
      return unopened;
    }
  }

  #redirectFault(url: URL): Error | undefined {
    const isPlain = url.protocol === "http:" && this.#options.allowPrivateUpstreams;
    if (url.protocol !== "https:" && !isPlain) return new Error("a redirect leads away from https");
    if (url.username !== "" || url.password !== "") {
      return new Error("a redirect brings credentials");
    }
    return this.#addressFault(url);
  }

  #addressFault({ hostname }: URL): PrivateAddressError | undefined {
    if (this.#options.allowPrivateUpstreams) return undefined;
    return isPrivateHost(hostname)
      ? new PrivateAddressError("the provider's address is private")
      : undefined;
  }
}

/** Some providers refuse a request without a user agent. */
const COMMON_HEADERS = ["accept-encoding", "identity", "user-agent", "tokenmarket"] as const;

/** True for headers of a body that has no encoding. */
export function isUncompressed({
  "content-encoding": encoding = "",
}: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return ["", "identity"].includes([encoding].flat().join().trim().toLowerCase());
}

/** Turns undici's time limits for answers off: attempts and fetches check their own deadlines. */
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 } as const;

interface Dispatched extends UpstreamQuestion {
  readonly method: "POST" | "GET" | "DELETE";
  readonly body?: UpstreamRequest["body"];
  readonly sent?: SentAttempt;
}

/** Returns the path and query of `url`. Throws if `url` is not at the endpoint's own origin. */
function pathOn({ origin }: Endpoint, url: URL): string {
  assert(url.origin === origin, "an address with a key is at the deployment's own origin");
  return url.pathname + url.search;
}

function withHeaders(
  own: readonly string[],
  request: Readonly<Record<string, string>>,
  { attemptId, traceparent }: SentAttempt = {},
): string[] {
  const list = own.slice();
  if (traceparent !== undefined) list.push("traceparent", traceparent);
  if (attemptId !== undefined) list.push("x-client-request-id", String(attemptId));
  for (const name in request) list.push(name, request[name] ?? "");
  return list;
}
