import type { CallFamily } from "../../formats/index.ts";
import {
  assert,
  formatUsd,
  type MicroUsd,
  microUsd,
  type OrgId,
  type Refusal,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import type { Principal } from "../accounts/principal.ts";

/** The facts of an ended request that matter for unusual use. */
export interface UsageEvent {
  readonly principal: Principal;
  readonly family: CallFamily;
  /** The client's address; undefined if it is not known. */
  readonly clientAddress: string | undefined;
  /**
   * `refused`: by the gateway, before any dispatch. `failed`: by the provider, because of the
   * request.
   */
  readonly outcome: "served" | "refused" | "failed";
  readonly debitMicroUsd: MicroUsd;
}

/** Detects unusual use of organizations that have only trial credit, and acts on it. */
export interface AbuseMonitor {
  /** The refusal of this kind of request for this account; undefined if it is allowed. */
  refuse(principal: Principal, family: CallFamily, nowMs: number): Refusal | undefined;
  /** Counts a request that ended; wall-clock time. Never throws and is never waited for. */
  note(event: UsageEvent, nowMs: number): void;
  /** Called when the principals of an organization, or of all if undefined, are read again. */
  forget(orgId: OrgId | undefined): void;
}

/** Used when detection is off: no request is refused, even if the store still has restrictions. */
export const NO_ABUSE_MONITOR: AbuseMonitor = Object.freeze({
  refuse: () => undefined,
  note: () => undefined,
  forget: () => undefined,
});

/** The bounds of use within the window; undefined: not checked. */
export interface UnusualUsePolicy {
  /** Length of the rolling window, in milliseconds. */
  readonly windowMs: number;
  /** The number of requests refused before any dispatch. */
  readonly refusedRequests: number | undefined;
  /** The number of different client networks. */
  readonly clientAddresses: number | undefined;
  /**
   * The share of failed requests among the dispatched ones that counts as unusual, in percent from
   * 1 to 100.
   */
  readonly errorPercent: number | undefined;
  /** The number of dispatched requests below which the share of failures means nothing. */
  readonly requestsMin: number;
  readonly spendMicroUsd: MicroUsd | undefined;
}

/** The use of one organization within the window, for one kind of request. */
export interface UseInWindow {
  readonly servedRequests: number;
  readonly failedRequests: number;
  readonly refusedRequests: number;
  readonly clientAddresses: number;
  readonly debitMicroUsd: MicroUsd;
}

/** A bound of the policy that was reached, by the name of its setting, with the observed value. */
export interface ReachedLine {
  readonly line: "refused_requests" | "client_addresses" | "error_percent" | "spend_usd";
  readonly seen: string;
}

/** Returns every bound that this use reaches; undefined if it reaches none. */
export function findUnusualUse(
  policy: UnusualUsePolicy,
  use: UseInWindow,
): readonly ReachedLine[] | undefined {
  const lines: ReachedLine[] = [];
  if (reaches(use.refusedRequests, policy.refusedRequests)) {
    lines.push({ line: "refused_requests", seen: `${use.refusedRequests}` });
  }
  if (reaches(use.clientAddresses, policy.clientAddresses)) {
    lines.push({ line: "client_addresses", seen: `${use.clientAddresses}` });
  }
  const dispatched = use.servedRequests + use.failedRequests;
  if (failsTooOften(policy, use.failedRequests, dispatched)) {
    lines.push({ line: "error_percent", seen: `${use.failedRequests} of ${dispatched}` });
  }
  if (reaches(use.debitMicroUsd, policy.spendMicroUsd)) {
    lines.push({ line: "spend_usd", seen: formatUsd(use.debitMicroUsd) });
  }
  return lines.length === 0 ? undefined : lines;
}

function reaches<T extends number | bigint>(seen: T, line: T | undefined): boolean {
  return line !== undefined && seen >= line;
}

/* Counts dispatched requests only, so that refused requests cannot hide that all others fail. */
function failsTooOften(policy: UnusualUsePolicy, failed: number, dispatched: number): boolean {
  const { errorPercent, requestsMin } = policy;
  if (errorPercent === undefined || dispatched < requestsMin) return false;
  return failed * 100 >= errorPercent * dispatched;
}

/** The bounds for each watched key, and for the number of keys. */
export interface WatchedBounds {
  readonly windowMs: number;
  readonly clientsMax: number;
  readonly entriesMax: number;
}

/**
 * The use of all organizations with requests in the window. Silent organizations are dropped after
 * the window; beyond the bound, the ones that have been silent longest are dropped first.
 */
export class WatchedUse {
  readonly #bounds: WatchedBounds;
  /** In the order of their newest requests. */
  readonly #uses = new Map<string, WindowUse>();

  constructor(bounds: WatchedBounds) {
    assert(bounds.entriesMax > 0, "at least one use can be monitored");
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#uses.size;
  }

  /** Counts one request and returns the use of `key`. */
  note(key: string, request: CountedRequest, nowMs: number): WindowUse {
    const { windowMs, clientsMax } = this.#bounds;
    const use = this.#uses.get(key) ?? new WindowUse(windowMs, clientsMax);
    this.#uses.delete(key);
    this.#dropSilent(nowMs);
    this.#uses.set(key, use);
    use.note(request, nowMs);
    return use;
  }

  /** Drops the use of `key`. */
  forget(key: string): void {
    this.#uses.delete(key);
  }

  #dropSilent(nowMs: number): void {
    const { windowMs, entriesMax } = this.#bounds;
    for (const [key, use] of this.#uses) {
      if (this.#uses.size < entriesMax && nowMs - use.lastMs < windowMs) return;
      this.#uses.delete(key);
    }
  }
}

/** The number of slices of a window. A request may leave the window one slice too early. */
const SLICES = 60;

/** The counted facts of an ended request. */
export interface CountedRequest extends Pick<UsageEvent, "outcome" | "debitMicroUsd"> {
  /** A digest of the client's network; undefined if networks are not counted. */
  readonly clientMark: string | undefined;
}

interface Slice {
  readonly number: number;
  /** The end of the first request in the slice. */
  readonly sinceMs: number;
  served: number;
  failed: number;
  refused: number;
  debitMicroUsd: MicroUsd;
}

/**
 * The recent use of one organization, for one kind of request. Everything in the last 59 of 60
 * slices counts, and nothing that is older than the window. Its size does not depend on the number
 * of requests.
 */
export class WindowUse {
  readonly #windowMs: number;
  readonly #clientsMax: number;
  /** Oldest first, without empty slices. */
  readonly #slices: Slice[] = [];
  /** The last slice of each client, in the order of these slices. */
  readonly #clients = new Map<string, number>();
  #newest = 0;
  #lastMs = 0;

  /** `clientsMax` is the number of different clients that are distinguished. */
  constructor(windowMs: number, clientsMax: number) {
    assert(windowMs > 0, "a window is longer than nothing");
    this.#windowMs = windowMs;
    this.#clientsMax = clientsMax;
  }

  /** The end of the newest request. */
  get lastMs(): number {
    return this.#lastMs;
  }

  /** The end of the oldest request that still counts; undefined if there is none. */
  get sinceMs(): number | undefined {
    return this.#slices[0]?.sinceMs;
  }

  /** Counts one request. A clock that steps back counts in the newest slice. */
  note(request: CountedRequest, nowMs: number): void {
    this.#advance(nowMs);
    const slice = this.#newestSlice(nowMs);
    slice[request.outcome] += 1;
    slice.debitMicroUsd = microUsd(slice.debitMicroUsd + request.debitMicroUsd);
    if (request.clientMark !== undefined) this.#see(request.clientMark);
  }

  /** The use that counts now. */
  inWindow(nowMs: number): UseInWindow {
    this.#advance(nowMs);
    let [servedRequests, failedRequests, refusedRequests] = [0, 0, 0];
    let debitMicroUsd = ZERO_MICRO_USD;
    for (const slice of this.#slices) {
      servedRequests += slice.served;
      failedRequests += slice.failed;
      refusedRequests += slice.refused;
      debitMicroUsd = microUsd(debitMicroUsd + slice.debitMicroUsd);
    }
    const clientAddresses = this.#clients.size;
    return { servedRequests, failedRequests, refusedRequests, clientAddresses, debitMicroUsd };
  }

  #advance(nowMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, nowMs);
    this.#newest = Math.floor((this.#lastMs * SLICES) / this.#windowMs);
    const left = this.#newest - SLICES;
    while ((this.#slices[0]?.number ?? this.#newest) <= left) this.#slices.shift();
    for (const [mark, slice] of this.#clients) {
      if (slice > left) return;
      this.#clients.delete(mark);
    }
  }

  #newestSlice(nowMs: number): Slice {
    const last = this.#slices.at(-1);
    if (last?.number === this.#newest) return last;
    const slice: Slice = {
      number: this.#newest,
      sinceMs: nowMs,
      served: 0,
      failed: 0,
      refused: 0,
      debitMicroUsd: ZERO_MICRO_USD,
    };
    this.#slices.push(slice);
    return slice;
  }

  #see(mark: string): void {
    const isKnown = this.#clients.delete(mark);
    if (isKnown || this.#clients.size < this.#clientsMax) this.#clients.set(mark, this.#newest);
  }
}
