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

export interface UsageEvent {
  readonly principal: Principal;
  readonly family: CallFamily;
  readonly clientAddress: string | undefined;
  /**
   * `refused`: by the gateway, before dispatch. `failed`: by the provider, because of the request.
   */
  readonly outcome: "served" | "refused" | "failed";
  readonly debitMicroUsd: MicroUsd;
}

/** Detects unusual use by organizations that have only trial credit, and restricts it. */
export interface AbuseMonitor {
  refuse(principal: Principal, family: CallFamily, nowMs: number): Refusal | undefined;
  /** Counts an ended request; `nowMs` is wall-clock time. Never throws; nothing waits for it. */
  note(event: UsageEvent, nowMs: number): void;
  /** Called when an organization's principals will be read again; undefined means all. */
  forget(orgId: OrgId | undefined): void;
}

/** For installations without detection: allows every request, even if restrictions are stored. */
export const NO_ABUSE_MONITOR: AbuseMonitor = Object.freeze({
  refuse: () => undefined,
  note: () => undefined,
  forget: () => undefined,
});

/** Use in the window that reaches one of these bounds is unusual. Undefined: not checked. */
export interface UnusualUsePolicy {
  readonly windowMs: number;
  /** Requests that the gateway refused before any dispatch. */
  readonly refusedRequests: number | undefined;
  /** Different client networks. */
  readonly clientAddresses: number | undefined;
  /** Percentage (1 to 100) of failures among dispatched requests. */
  readonly errorPercent: number | undefined;
  /** With fewer dispatched requests than this, `errorPercent` is not checked. */
  readonly requestsMin: number;
  readonly spendMicroUsd: MicroUsd | undefined;
}

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

/** Ignores requests that the gateway refused: they could hide that all dispatched ones fail. */
function failsTooOften(policy: UnusualUsePolicy, failed: number, dispatched: number): boolean {
  const { errorPercent, requestsMin } = policy;
  if (errorPercent === undefined || dispatched < requestsMin) return false;
  return failed * 100 >= errorPercent * dispatched;
}

export interface WatchedBounds {
  readonly windowMs: number;
  readonly clientsMax: number;
  readonly entriesMax: number;
}

/** Use by organization and family. Above `entriesMax`, the longest idle entry is dropped. */
export class WatchedUse {
  readonly #bounds: WatchedBounds;
  /** In order of the last request: the longest idle entry is first. */
  readonly #uses = new Map<string, WindowUse>();

  constructor(bounds: WatchedBounds) {
    assert(bounds.entriesMax > 0, "at least one use can be monitored");
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#uses.size;
  }

  note(key: string, request: CountedRequest, nowMs: number): WindowUse {
    const { windowMs, clientsMax, entriesMax } = this.#bounds;
    const use = this.#uses.get(key) ?? new WindowUse(windowMs, clientsMax);
    this.#uses.delete(key);
    for (const [other, { lastMs }] of this.#uses) {
      if (this.#uses.size < entriesMax && nowMs - lastMs < windowMs) break;
      this.#uses.delete(other);
    }
    this.#uses.set(key, use);
    use.note(request, nowMs);
    return use;
  }

  forget(key: string): void {
    this.#uses.delete(key);
  }
}

/** Slices per window. Each leaves as a whole, so a request may stop counting a slice too early. */
const SLICES = 60;

export interface CountedRequest extends Pick<UsageEvent, "outcome" | "debitMicroUsd"> {
  /** A digest of the client's network; undefined if networks are not counted. */
  readonly clientMark: string | undefined;
}

interface Slice {
  readonly number: number;
  /** Wall-clock time at which the first request in the slice ended, in milliseconds. */
  readonly sinceMs: number;
  served: number;
  failed: number;
  refused: number;
  debitMicroUsd: MicroUsd;
}

/**
 * The recent use by one organization of one family of requests. Every request of the last 59 slices
 * counts, and none older than the window. Memory does not depend on the number of requests.
 */
export class WindowUse {
  readonly #windowMs: number;
  readonly #clientsMax: number;
  /** The slices that contain requests, oldest first. */
  readonly #slices: Slice[] = [];
  /** By client network: the slice number of its newest request. Ordered by these numbers. */
  readonly #clients = new Map<string, number>();
  #newest = 0;
  lastMs = 0;

  constructor(windowMs: number, clientsMax: number) {
    assert(windowMs > 0, "a window is longer than nothing");
    this.#windowMs = windowMs;
    this.#clientsMax = clientsMax;
  }

  /** Wall-clock time at which the oldest counted request ended; undefined if none counts. */
  get sinceMs(): number | undefined {
    return this.#slices[0]?.sinceMs;
  }

  /** Counts a request; in the newest slice if the clock has stepped back. */
  note(request: CountedRequest, nowMs: number): void {
    this.#advance(nowMs);
    const slice = this.#newestSlice(nowMs);
    slice[request.outcome] += 1;
    slice.debitMicroUsd = microUsd(slice.debitMicroUsd + request.debitMicroUsd);
    const { clientMark } = request;
    if (clientMark === undefined) return;
    const isKnown = this.#clients.delete(clientMark);
    if (isKnown || this.#clients.size < this.#clientsMax) {
      this.#clients.set(clientMark, this.#newest);
    }
  }

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
    this.lastMs = Math.max(this.lastMs, nowMs);
    this.#newest = Math.floor((this.lastMs * SLICES) / this.#windowMs);
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
}
