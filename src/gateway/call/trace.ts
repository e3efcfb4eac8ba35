import type { Deployment, WireId } from "../../catalog/index.ts";
import type { CallRequest } from "../../formats/index.ts";
import type { AttemptId, MicroUsd, Refusal, RequestId } from "../../kernel/index.ts";
import type { LaneNote } from "../../ledger/index.ts";
import type { AttemptResult } from "../../upstream/index.ts";
import type { Principal } from "../accounts/principal.ts";
import type { Settlement } from "./settle.ts";

/** Starts the trace of each request; absent if no traces are exported. */
export interface Tracing {
  /** Begins the notes of a request. */
  begin(request: TracedRequest): RequestTrace;
}

export interface TracedRequest {
  readonly requestId: RequestId;
  readonly method: string;
  /** The route's path as listed. */
  readonly route: string;
  /** Monotonic, like every time that is noted. */
  readonly startedMs: number;
}

/**
 * Collects times and figures of a running request. Whether they become a trace is decided when the
 * request ends.
 */
export interface RequestTrace {
  /** The key was accepted. `traceparent` is the caller's header, which is parsed from now on. */
  accepted(principal: Principal, traceparent: string | undefined): void;
  /** A recipe runs: until `served` there may be more to note. */
  serving(): void;
  served(): void;
  /** Notes the subject of the call, once its body was read. */
  asked(call: { readonly request: CallRequest; readonly wire: WireId | undefined }): void;
  /** The caller's limits are claimed from now on. */
  claiming(): void;
  /** They were, or refused the request. */
  claimed(refused: Refusal | undefined): void;
  /** It has waited for its pace since its limits were claimed. */
  queued(): void;
  /** An attempt is about to be held. */
  attempt(held: TracedAttempt): AttemptTrace;
  /** Notes the debit of all attempts together. */
  debited(debitMicroUsd: MicroUsd): void;
  /** The client has its answer or has left. Says the trace's id when the trace is kept. */
  closed(end: ClosedRequest): string | undefined;
}

export interface TracedAttempt {
  readonly attemptId: AttemptId;
  readonly deployment: Deployment;
  readonly reserveMicroUsd: MicroUsd;
  /** True if the provider's wire differs from the client's. */
  readonly isTranslated: boolean;
  readonly startedMs: number;
}

/** The notes of one attempt, from its hold to its settlement. */
export interface AttemptTrace {
  readonly reserveLane: LaneNote;
  readonly settleLane: LaneNote;
  /** Held, to be sent at once, or refused. */
  reserved(refused: Refusal | undefined): void;
  /** It is sent. Gives the `traceparent` that its provider gets; undefined: none. */
  sent(): string | undefined;
  /** The provider's answer has ended. */
  ended(nowMs: number): void;
  /** Notes the end; absent for a job that continues. */
  observed(end: ObservedAttempt): void;
  /** Its end is in the journal, or on its way there. */
  settled(debitMicroUsd: MicroUsd): void;
}

/** The end of one attempt. */
export interface ObservedAttempt {
  readonly result: AttemptResult;
  readonly settlement: Settlement;
}

/** The end of a request as its client saw it. */
export interface ClosedRequest {
  /** 0: nothing was answered. */
  readonly status: number;
  readonly refusal: Refusal | undefined;
  /** The client left before its answer ended. */
  readonly isGone: boolean;
  readonly nowMs: number;
}
