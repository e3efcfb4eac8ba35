import type { ClosedRequest, ObservedAttempt } from "../call/trace.ts";
import type { Refusal, RequestId } from "../../kernel/index.ts";
import { KeepCeiling, KeepChance } from "./keep-rule.ts";

export interface TraceRuleSettings {
  readonly telemetrySamplePerMillion: number;
  readonly telemetrySlowMs: number;
  readonly telemetryKeptPerSecond: number;
  readonly telemetryIncoming: string;
  readonly telemetryPropagate: string;
}

/** What is known of a request when it is decided whether its trace is kept. */
export interface JudgedRequest {
  readonly startedMs: number;
  /** Was its key accepted? */
  readonly isAccepted: boolean;
  readonly end: ClosedRequest | undefined;
  readonly lastAttempt: ObservedAttempt | undefined;
  readonly isChosen: boolean;
}

/** What the operator has decided about traces. */
export class TraceRules {
  /** Is a request part of its caller's trace? Otherwise it has its own, with a link. */
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
   * Is the trace of a request that has ended kept? Failures of the gateway or a provider always,
   * slow ones always, others by chance; all of them within the ceiling. Of callers without a key
   * only what failed is.
   */
  isKept(notes: JudgedRequest): boolean {
    const { end, startedMs, isAccepted } = notes;
    if (end === undefined) return false;
    const isFailure = hasFailed(notes);
    const isSlow = end.nowMs - startedMs > this.#settings.telemetrySlowMs;
    const isWanted = isFailure || (isAccepted && (isSlow || notes.isChosen));
    return isWanted && this.ceiling.take(isFailure, end.nowMs);
  }
}

/** Did the gateway or a provider fail it? What a caller did wrong, or gave up, does not count. */
function hasFailed({ end, lastAttempt }: JudgedRequest): boolean {
  if (end === undefined || end.isGone) return false;
  const { refusal } = end;
  if (refusal !== undefined) return isFault(refusal);
  // A stream that has begun ends with an event: what was written first was a 200.
  const failure = lastAttempt?.result.failure?.refusal;
  return end.status === 0 || (failure !== undefined && isFault(failure));
}

function isFault({ class: cls, origin }: Refusal): boolean {
  if (origin === "gateway_infrastructure" || cls === "gateway_error") return true;
  if (origin !== "upstream" && origin !== "upstream_quota") return false;
  return !BLAMED_ON_REQUEST.has(cls);
}

/** A provider that refuses the request itself has not failed. */
const BLAMED_ON_REQUEST: ReadonlySet<Refusal["class"]> = new Set([
  "invalid_request",
  "context_overflow",
  "content_policy",
  "not_found",
  "request_too_large",
] as const);
