import type { Refusal, RequestId } from "../../kernel/index.ts";
import type { ClosedRequest, ObservedAttempt } from "../call/trace.ts";

export interface TraceRuleSettings {
  readonly telemetrySamplePerMillion: number;
  readonly telemetrySlowMs: number;
  readonly telemetryKeptPerSecond: number;
  readonly telemetryIncoming: string;
  readonly telemetryPropagate: string;
}

export interface JudgedRequest {
  readonly request: { readonly startedMs: number };
  readonly principal: object | undefined;
  readonly attempts: readonly { readonly end: ObservedAttempt | undefined }[];
  readonly end: ClosedRequest | undefined;
  readonly isChosen: boolean;
}

export class TraceRules {
  /** True if a request joins its caller's trace; otherwise it has a separate trace with a link. */
  readonly isContinued: boolean;
  readonly ceiling: KeepCeiling;
  readonly #chance: KeepChance;
  readonly #settings: TraceRuleSettings;
  readonly #propagatedTo: ReadonlySet<string>;

  constructor(settings: TraceRuleSettings) {
    this.#settings = settings;
    this.isContinued = settings.telemetryIncoming === "continue";
    this.#chance = new KeepChance(settings.telemetrySamplePerMillion);
    this.ceiling = new KeepCeiling(settings.telemetryKeptPerSecond);
    const ids = settings.telemetryPropagate.split(",").map((id) => id.trim());
    this.#propagatedTo = new Set(ids.filter((id) => id !== ""));
  }

  isPropagatedTo(providerId: string): boolean {
    return this.#propagatedTo.has(providerId) || this.#propagatedTo.has("*");
  }

  isChosen(requestId: RequestId): boolean {
    return this.#chance.hasRequest(requestId);
  }

  /**
   * True if the request failed, was slow or was sampled, and `ceiling` has room for it. Without a
   * valid key, only a failure is kept.
   */
  isKept(notes: JudgedRequest): boolean {
    const { request, principal, end } = notes;
    if (end === undefined) return false;
    const isFailure = hasFailed(notes);
    const isSlow = end.nowMs - request.startedMs > this.#settings.telemetrySlowMs;
    const isWanted = isFailure || (principal !== undefined && (isSlow || notes.isChosen));
    return isWanted && this.ceiling.take(isFailure, end.nowMs);
  }
}

/** True if the gateway or a provider failed. Callers' mistakes and cancellations do not count. */
function hasFailed({ end, attempts }: JudgedRequest): boolean {
  if (end === undefined || end.isGone) return false;
  const { refusal } = end;
  if (refusal !== undefined) return isFault(refusal);
  // A stream that broke has the status 200, so the last attempt decides.
  const failure = attempts.at(-1)?.end?.result.failure?.refusal;
  return end.status === 0 || (failure !== undefined && isFault(failure));
}

function isFault({ class: cls, origin, status }: Refusal): boolean {
  if (origin === "gateway_infrastructure") return true;
  if (cls === "gateway_error") return status >= 500;
  if (origin !== "upstream" && origin !== "upstream_quota") return false;
  return !BLAMED_ON_REQUEST.has(cls);
}

/** A provider that answers with these errors has not failed: the request is at fault. */
const BLAMED_ON_REQUEST: ReadonlySet<Refusal["class"]> = new Set([
  "invalid_request",
  "context_overflow",
  "content_policy",
  "not_found",
  "request_too_large",
] as const);

const MILLION = 1_000_000n;
/** The random part of a trace id: its last seven bytes. */
const RANDOM_DIGITS = 14;
const RANDOM_VALUES = 1n << 56n;

/**
 * Samples traces by the last seven bytes of their ids, so that every service that reads an id
 * decides alike: a trace is kept if these bytes, as a fraction, are at least 1 minus the share to
 * keep. Compares hexadecimal texts, which sort like numbers if they are of equal length.
 */
export class KeepChance {
  /** The smallest tail (`xx-xxxxxxxxxxxx`) that the id of a sampled request can have. */
  readonly #leastTail: string;

  constructor(samplePerMillion: number) {
    const least = ((MILLION - BigInt(samplePerMillion)) * RANDOM_VALUES) / MILLION;
    // For a share of 0, "g" sorts after every hexadecimal digit, so that no trace is kept.
    const digits = least === RANDOM_VALUES ? "g" : least.toString(16).padStart(RANDOM_DIGITS, "0");
    this.#leastTail = digits === "g" ? digits : `${digits.slice(0, 2)}-${digits.slice(2)}`;
  }

  /** True if the request is sampled. Applies only to traces whose id is the request id. */
  hasRequest(requestId: RequestId): boolean {
    return requestId.slice(-RANDOM_DIGITS - 1) >= this.#leastTail;
  }
}

/**
 * Bounds the traces that are kept per second. Half are reserved for failures, so that failures and
 * requests that a caller marks as sampled cannot displace each other.
 */
export class KeepCeiling {
  readonly #failures: LastSecond;
  readonly #others: LastSecond;
  refused = 0;

  constructor(keptPerSecond: number) {
    const forOthers = Math.floor(keptPerSecond / 2);
    this.#others = new LastSecond(forOthers);
    this.#failures = new LastSecond(keptPerSecond - forOthers);
  }

  take(isFailure: boolean, nowMs: number): boolean {
    const isTaken = (isFailure ? this.#failures : this.#others).take(nowMs);
    if (!isTaken) this.refused += 1;
    return isTaken;
  }
}

/** Allows at most `max` events in any period of one second. */
class LastSecond {
  /** The times of the last `max` events that were allowed, as a ring buffer. */
  readonly #takenMs: Float64Array;
  #next = 0;

  constructor(max: number) {
    this.#takenMs = new Float64Array(max).fill(Number.NEGATIVE_INFINITY);
  }

  take(nowMs: number): boolean {
    const oldestMs = this.#takenMs[this.#next] ?? Number.POSITIVE_INFINITY;
    if (nowMs - oldestMs < 1_000) return false;
    this.#takenMs[this.#next] = nowMs;
    this.#next = (this.#next + 1) % this.#takenMs.length;
    return true;
  }
}

/** Counts since the start: of spans, except `tracesAboveCeiling`. */
export interface TraceFigures {
  exported: number;
  /** Spans dropped because the queue was full or the collector failed. */
  dropped: number;
  /** Number of whole traces refused by the ceiling; their spans are not counted. */
  readonly tracesAboveCeiling: number;
}
