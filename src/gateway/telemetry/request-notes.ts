import {
  type Clock,
  type MicroUsd,
  createSpanId,
  type Refusal,
  type RequestId,
} from "../../kernel/index.ts";
import type { Principal } from "../accounts/principal.ts";
import type {
  AttemptTrace,
  ClosedRequest,
  ObservedAttempt,
  RequestTrace,
  TracedAttempt,
  TracedRequest,
} from "../call/trace.ts";
import type { TraceRules } from "./trace-rules.ts";

type AskedCall = Parameters<RequestTrace["asked"]>[0];

export interface NotesSink {
  readonly clock: Clock;
  readonly rules: TraceRules;
  export(notes: RequestNotes): void;
}

const UNKNOWN = -1;

/** The notes of one request. They become spans only if the trace is kept. */
export class RequestNotes implements RequestTrace {
  readonly request: TracedRequest;
  readonly attempts: AttemptNotes[] = [];
  principal: Principal | undefined;
  call: AskedCall | undefined;
  claimingMs = UNKNOWN;
  claimedMs = UNKNOWN;
  claimRefused: Refusal | undefined;
  queuedMs = UNKNOWN;
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

  claiming(): void {
    this.claimingMs = this.#sink.clock.monotonicMs();
  }

  claimed(refused: Refusal | undefined): void {
    this.claimedMs = this.#sink.clock.monotonicMs();
    this.claimRefused = refused;
  }

  queued(): void {
    this.queuedMs = this.#sink.clock.monotonicMs();
  }

  attempt(held: TracedAttempt): AttemptNotes {
    const notes = new AttemptNotes(held, this, this.#sink.clock);
    this.attempts.push(notes);
    return notes;
  }

  debited(debitMicroUsd: MicroUsd): void {
    this.debitMicroUsd = debitMicroUsd;
  }

  closed(end: ClosedRequest): string | undefined {
    this.end = end;
    this.#isKept = this.#sink.rules.isKept(this);
    const traceId = this.#isKept ? this.context.traceId : undefined;
    this.#exportWhenOver();
    return traceId;
  }

  /** The context of the request's own span, created on first use, because few requests need it. */
  get context(): TraceContext {
    this.#own ??= this.#newContext();
    return this.#own;
  }

  /** The caller's span; undefined if this request does not join the caller's trace. */
  get parent(): TraceContext | undefined {
    return this.#sink.rules.isContinued ? this.#incoming : undefined;
  }

  /** The caller's span, to which a separate trace of this request links. */
  get link(): TraceContext | undefined {
    return this.#sink.rules.isContinued ? undefined : this.#incoming;
  }

  /** True if the trace is sampled, no matter how the request ends. */
  get isChosen(): boolean {
    return this.parent?.isSampled ?? this.#sink.rules.isChosen(this.request.requestId);
  }

  traceparentFor({ held, spanId }: AttemptNotes): string | undefined {
    if (!this.#sink.rules.isPropagatedTo(held.deployment.providerId)) return undefined;
    return formatTraceparent({ ...this.context, spanId });
  }

  #newContext(): TraceContext {
    const { parent } = this;
    const traceId = parent?.traceId ?? toTraceId(this.request.requestId);
    const isRandom = parent?.isRandom ?? true;
    return { traceId, spanId: createSpanId(), isSampled: this.isChosen, isRandom };
  }

  /** Exports a kept trace once the client has its answer and the call is served. */
  #exportWhenOver(): void {
    if (!this.#isKept || this.#isServing) return;
    this.#isKept = false;
    this.#sink.export(this);
  }
}

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
  readonly #clock: Clock;
  #spanId: string | undefined;

  constructor(held: TracedAttempt, request: RequestNotes, clock: Clock) {
    this.held = held;
    this.#clock = clock;
    this.#request = request;
  }

  get spanId(): string {
    this.#spanId ??= createSpanId();
    return this.#spanId;
  }

  reserved(refused: Refusal | undefined): void {
    this.reservedMs = this.#clock.monotonicMs();
    this.refused = refused;
  }

  sent(): string | undefined {
    // An attempt is sent right after its hold, so the clock is not read again.
    this.sentMs = this.reservedMs;
    return this.#request.traceparentFor(this);
  }

  ended(nowMs: number): void {
    this.endedMs = nowMs;
  }

  observed(end: ObservedAttempt): void {
    this.end = end;
  }

  settled(debitMicroUsd: MicroUsd): void {
    this.settledMs = this.#clock.monotonicMs();
    this.debitMicroUsd = debitMicroUsd;
  }
}

/** A position in a trace, as in W3C Trace Context, level 2. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  readonly isRandom: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 0x01;
const RANDOM = 0x02;
/** Longer headers are ignored. Later versions of the standard may append to the header. */
const CHARS_MAX = 256;

/** Parses a `traceparent` header; undefined if the standard does not allow its use. */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || header.length > CHARS_MAX) return undefined;
  const [, version = "ff", traceId = "", spanId = "", flagText = "", rest] =
    FORM.exec(header) ?? [];
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const flags = Number.parseInt(flagText, 16);
  return {
    traceId,
    spanId,
    isSampled: (flags & SAMPLED) !== 0,
    isRandom: (flags & RANDOM) !== 0,
  };
}

export function formatTraceparent({ traceId, spanId, isSampled, isRandom }: TraceContext): string {
  const flags = (isSampled ? SAMPLED : 0) | (isRandom ? RANDOM : 0);
  return `00-${traceId}-${spanId}-0${flags}`;
}

/** Returns the trace id of a request without a caller's trace: its request id without hyphens. */
export function toTraceId(requestId: RequestId): string {
  return requestId.replaceAll("-", "");
}
