import type { Deployment, WireId } from "../../catalog/index.ts";
import type { CallRequest } from "../../formats/index.ts";
import type { AttemptId, MicroUsd, Refusal, RequestId } from "../../kernel/index.ts";
import type { LaneNote } from "../../ledger/index.ts";
import type { AttemptResult } from "../../upstream/index.ts";
import type { Principal } from "../accounts/principal.ts";
import type { Settlement } from "./settle.ts";

export interface Tracing {
  begin(request: TracedRequest): RequestTrace;
}

export interface TracedRequest {
  readonly requestId: RequestId;
  readonly method: string;
  readonly route: string;
  /** Monotonic milliseconds, like every time in a trace. */
  readonly startedMs: number;
}

/** Collects the times and figures of one request. `closed` decides whether they become a trace. */
export interface RequestTrace {
  accepted(principal: Principal, traceparent: string | undefined): void;
  /** The route begins to serve. Until `served`, it may call any method, even after `closed`. */
  serving(): void;
  served(): void;
  asked(call: { readonly request: CallRequest; readonly wire: WireId | undefined }): void;
  claiming(): void;
  claimed(refused: Refusal | undefined): void;
  /** Called when the pacing delay, which begins at `claimed`, is over. */
  queued(): void;
  attempt(held: TracedAttempt): AttemptTrace;
  debited(debitMicroUsd: MicroUsd): void;
  /** Called when the client has its answer or has left. Returns the trace's id if it is kept. */
  closed(end: ClosedRequest): string | undefined;
}

export interface TracedAttempt {
  readonly attemptId: AttemptId;
  readonly deployment: Deployment;
  readonly reserveMicroUsd: MicroUsd;
  readonly isTranslated: boolean;
  readonly startedMs: number;
}

export interface AttemptTrace {
  readonly reserveLane: LaneNote;
  readonly settleLane: LaneNote;
  /** Called right before the attempt is sent, or with the refusal if its cost could not be held. */
  reserved(refused: Refusal | undefined): void;
  /** Returns the `traceparent` for the provider; undefined if the provider gets none. */
  sent(): string | undefined;
  ended(nowMs: number): void;
  /** Called with the result of the attempt, except for a job that continues after the call. */
  observed(end: ObservedAttempt): void;
  /** Called when the closing row of the attempt is in the journal or queued for it. */
  settled(debitMicroUsd: MicroUsd): void;
}

export interface ObservedAttempt {
  readonly result: AttemptResult;
  readonly settlement: Settlement;
}

export interface ClosedRequest {
  /** HTTP status; 0 if nothing was answered. */
  readonly status: number;
  readonly refusal: Refusal | undefined;
  readonly isGone: boolean;
  readonly nowMs: number;
}
