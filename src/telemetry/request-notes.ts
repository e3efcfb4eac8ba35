import type { Principal } from "../accounts/index.ts";
import type {
  AttemptTrace,
  ClosedRequest,
  ObservedAttempt,
  RequestTrace,
  TracedAttempt,
  TracedRequest,
} from "../call/index.ts";
import { type MicroUsd, newSpanId, type Refusal } from "../core/index.ts";
import type { TraceRules } from "./trace-rules.ts";
import { parseTraceparent, type TraceContext, traceIdOf, traceparentOf } from "./trace-context.ts";

/** A time between two monotonic instants. */
export interface Interval {
  readonly startedMs: number;
  readonly endedMs: number;
}

type AskedCall = Parameters<RequestTrace["asked"]>[0];

/** What waits for the end of a request whose trace is kept. */
export interface NotesSink {
  readonly rules: TraceRules;
  export(notes: RequestNotes): void;
}

/** Of a lane that has not said. */
const UNKNOWN = -1;

/** What one request has noted: fields that are written once, and read only if its trace is kept. */
export class RequestNotes implements RequestTrace {
  readonly request: TracedRequest;
  readonly attempts: AttemptNotes[] = [];
  principal: Principal | undefined;
  call: AskedCall | undefined;
  claim: (Interval & { readonly refused: Refusal | undefined }) | undefined;
  queue: Interval | undefined;
  debitMicroUsd: MicroUsd | undefined;
  end: ClosedRequest | undefined;
  readonly #sink: NotesSink;
  #incoming: TraceContext | undefined;
  #own: TraceContext | undefined;
  #isServing = false;
  #isKept = false;

  constructor(request: TracedRequest, sink: NotesSink) {
    this.request = request;
    this.#sink = sink;
  }

  accepted(principal: Principal, traceparent: string | undefined): void {
    this.principal = principal;
    if (traceparent !== undefined) this.#incoming = parseTraceparent(traceparent);
  }

  serving(): void {
    this.#isServing = true;
  }

  served(): void {
    this.#isServing = false;
    this.#exportWhenOver();
  }

  asked(call: AskedCall): void {
    this.call = call;
  }

  claimed(startedMs: number, endedMs: number, refused: Refusal | undefined): void {
    this.claim = { startedMs, endedMs, refused };
  }

  queued(startedMs: number, endedMs: number): void {
    this.queue = { startedMs, endedMs };
  }

  attempt(held: TracedAttempt): AttemptNotes {
    const notes = new AttemptNotes(held, this);
    this.attempts.push(notes);
    return notes;
  }

  debited(debitMicroUsd: MicroUsd): void {
    this.debitMicroUsd = debitMicroUsd;
  }

  get startedMs(): number {
    return this.request.startedMs;
  }

  get isAccepted(): boolean {
    return this.principal !== undefined;
  }

  get lastAttempt(): ObservedAttempt | undefined {
    return this.attempts.at(-1)?.end;
  }

  closed(end: ClosedRequest): string | undefined {
    this.end = end;
    this.#isKept = this.#sink.rules.isKept(this);
    const traceId = this.#isKept ? this.context.traceId : undefined;
    this.#exportWhenOver();
    return traceId;
  }

  /** Where this request is: its own span. Made when it is asked for, which is seldom. */
  get context(): TraceContext {
    this.#own ??= this.#newContext();
    return this.#own;
  }

  /** The caller's span, where this request is part of the caller's trace. */
  get parent(): TraceContext | undefined {
    return this.#sink.rules.isContinued ? this.#incoming : undefined;
  }

  /** The caller's span, where this request has a trace of its own. */
  get link(): TraceContext | undefined {
    return this.#sink.rules.isContinued ? undefined : this.#incoming;
  }

  /** Was it marked for keeping before anything was known of its end? */
  get isChosen(): boolean {
    return this.parent?.isSampled ?? this.#sink.rules.isChosen(traceIdOf(this.request.requestId));
  }

  traceparentFor({ held, spanId }: AttemptNotes): string | undefined {
    if (!this.#sink.rules.isPropagatedTo(held.deployment.providerId)) return undefined;
    return traceparentOf({ ...this.context, spanId });
  }

  #newContext(): TraceContext {
    const { parent } = this;
    const traceId = parent?.traceId ?? traceIdOf(this.request.requestId);
    const isRandom = parent?.isRandom ?? true;
    return { traceId, spanId: newSpanId(), isSampled: this.isChosen, isRandom };
  }

  /** A client that left is not waited for by what is settled for it. */
  #exportWhenOver(): void {
    if (!this.#isKept || this.#isServing) return;
    this.#isKept = false;
    this.#sink.export(this);
  }
}

/** What one attempt has noted. A time that is `UNKNOWN` has not come. */
export class AttemptNotes implements AttemptTrace {
  readonly held: TracedAttempt;
  readonly reserveLane = { waitMs: UNKNOWN, batchRows: UNKNOWN };
  readonly settleLane = { waitMs: UNKNOWN, batchRows: UNKNOWN };
  refused: Refusal | undefined;
  reservedMs = UNKNOWN;
  sentMs = UNKNOWN;
  endedMs = UNKNOWN;
  settledMs = UNKNOWN;
  debitMicroUsd: MicroUsd | undefined;
  end: ObservedAttempt | undefined;
  readonly #request: RequestNotes;
  #spanId: string | undefined;

  constructor(held: TracedAttempt, request: RequestNotes) {
    this.held = held;
    this.#request = request;
  }

  get spanId(): string {
    this.#spanId ??= newSpanId();
    return this.#spanId;
  }

  reserved(nowMs: number, refused: Refusal | undefined): void {
    this.reservedMs = nowMs;
    this.refused = refused;
  }

  sent(nowMs: number): string | undefined {
    this.sentMs = nowMs;
    return this.#request.traceparentFor(this);
  }

  ended(nowMs: number): void {
    this.endedMs = nowMs;
  }

  observed(end: ObservedAttempt): void {
    this.end = end;
  }

  settled(nowMs: number, debitMicroUsd: MicroUsd): void {
    this.settledMs = nowMs;
    this.debitMicroUsd = debitMicroUsd;
  }
}
