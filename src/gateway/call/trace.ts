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

/** Collects times and figures of a request; its end decides if they become a trace. */
export interface RequestTrace {
  /** Notes the accepted caller; `traceparent` is the caller's header. */
  accepted(principal: Principal, traceparent: string | undefined): void;
  /** Notes that serving has begun; more may be noted until `served`. */
  serving(): void;
  served(): void;
  /** Notes the subject of the call, once its body was read. */
  asked(call: { readonly request: CallRequest; readonly wire: WireId | undefined }): void;
  /** Notes that claiming the caller's limits begins. */
  claiming(): void;
  /** Notes that the limits were claimed, or that they refused the request. */
  claimed(refused: Refusal | undefined): void;
  /** Notes the end of the pacing delay, which began after the claim. */
  queued(): void;
  /** Begins the notes of an attempt, before it is held. */
  attempt(held: TracedAttempt): AttemptTrace;
  /** Notes the debit of all attempts together. */
  debited(debitMicroUsd: MicroUsd): void;
  /**
   * Notes that the client has its answer or has left. Returns the trace's id if the trace is kept.
   */
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
  /** Notes that the attempt was held and is sent next, or that its hold was refused. */
  reserved(refused: Refusal | undefined): void;
  /** Notes that the attempt is sent; returns its `traceparent`, undefined if none is sent. */
  sent(): string | undefined;
  /** Notes that the provider's answer has ended. */
  ended(nowMs: number): void;
  /** Notes the outcome; not called for a job that continues. */
  observed(end: ObservedAttempt): void;
  /** Notes that the closing row is in the journal or queued for it. */
  settled(debitMicroUsd: MicroUsd): void;
}

/** The end of one attempt. */
export interface ObservedAttempt {
  readonly result: AttemptResult;
  readonly settlement: Settlement;
}

/** The end of a request as its client saw it. */
export interface ClosedRequest {
  /** HTTP status; 0 if nothing was answered. */
  readonly status: number;
  readonly refusal: Refusal | undefined;
  /** True if the client left before its answer ended. */
  readonly isGone: boolean;
  readonly nowMs: number;
}
