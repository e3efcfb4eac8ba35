import type { Dispatcher } from "undici";

import {
  type Clock,
  type Deadline,
  type Deadlines,
  ERROR_BODY_BYTES_MAX,
  HeldBytes,
  SSE_LINE_BYTES_MAX,
} from "../kernel/index.ts";
import {
  type AnswerBridge,
  type CallRequest,
  type FailedAnswer,
  type Output,
  type UpstreamFailure,
  withoutBlame,
} from "../formats/index.ts";
import type { AttemptClassifier } from "./classifier.ts";
import type { KeptHandler } from "./provider-connections.ts";
import { isUncompressed } from "./upstream-client.ts";

export interface AttemptTimeouts {
  readonly headersMs: number;
  /** A silence of one to two times this length ends a stream; Infinity: only `totalMs` applies. */
  readonly idleMs: number;
  /** Maximum duration of the attempt, from dispatch to the end of the answer. */
  readonly totalMs: number;
  /** Maximum time to a stream's first content, however much else arrives; absent: no limit. */
  readonly firstContentMs?: number;
  /** How long to go on reading an answer after its client has disconnected. */
  readonly drainMs: number;
}

export interface OutputSink {
  /** True after the first `write` or `commit` has written the 200. */
  readonly committed: boolean;
  /** Returns false if the client is slow: the provider is then paused until `resume`. */
  write(output: Output): boolean;
  /** Writes the 200 and a keep-alive before any output, so that no proxy ends a silent stream. */
  commit(): void;
}

/** Bytes of framing and text that a stream may use per token of its output bound. */
const STREAM_BYTES_PER_TOKEN = 2_048;
/** Bytes that a stream may use in addition for each entry of log probabilities. */
const STREAM_BYTES_PER_LOGPROB = 256;
/** Bytes for any stream. They exceed the longest line, so that a longer line has its own error. */
const STREAM_BYTES_FREE = 2 * SSE_LINE_BYTES_MAX;

export function streamBytesMax({
  outputTokens,
  logprobsPerToken = 0,
}: Pick<CallRequest, "outputTokens" | "logprobsPerToken">): number {
  const perToken = STREAM_BYTES_PER_TOKEN + logprobsPerToken * STREAM_BYTES_PER_LOGPROB;
  return STREAM_BYTES_FREE + outputTokens * perToken;
}

export interface AttemptInput {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly timeouts: AttemptTimeouts;
  readonly stream: boolean;
  /** Maximum bytes of the provider's stream, computed by the function `streamBytesMax`. */
  readonly streamBytesMax: number;
  readonly sink: OutputSink;
  /** The monotonic time at which the 200 is written if the provider's stream has no content yet. */
  readonly commitDueMs: number;
  readonly openBridge: () => AnswerBridge;
  readonly classify: AttemptClassifier;
  readonly send: (handler: AttemptHandler) => void;
}

export interface AttemptResult {
  /** Present if a 2xx answer came uncompressed and, for a stream, as `text/event-stream`. */
  readonly bridge: AnswerBridge | undefined;
  /** Undefined if the answer is complete. */
  readonly failure: UpstreamFailure | undefined;
  readonly timedOut: boolean;
  /** True if a stream had output, even if its client had left. A failure's debit depends on it. */
  readonly hasOutput: boolean;
  readonly upstreamStatus: number | null;
  readonly firstByteMs: number | null;
  /** Time from dispatch to a stream's first output; null for other answers and without output. */
  readonly firstOutputMs: number | null;
  readonly durationMs: number;
}

export type AttemptHandler = KeptHandler & { onRefused(error: Error): void };

export interface RunningAttempt {
  readonly ended: Promise<AttemptResult>;
  /** Call it when the client can take more data. */
  resume(): void;
  /** Call it when the client has disconnected. Reads on for at most `drainMs`, without output. */
  detach(): void;
  abandon(): void;
}

type Phase = "headers" | "answer" | "error_body" | "ended";

/** A failed answer is classified by the part of its body that arrives within this time. */
const ERROR_BODY_TIMEOUT_MS = 5_000;
/** How long a provider may take to close a stream after its end mark. */
const TRAILING_BYTES_TIMEOUT_MS = 2_000;

/** Runs one attempt until its answer ends. If `send` throws, that counts as a failed connection. */
export function runAttempt(input: AttemptInput): RunningAttempt {
  const run = new AttemptRun(input);
  input.deadlines.watch(run);
  // The program shuts down, so the attempt has ended already.
  if (run.watchedAt === -1) return run;
  try {
    input.send(run);
  } catch (error) {
    run.onRefused(error instanceof Error ? error : new Error(String(error)));
  }
  return run;
}

class AttemptRun implements AttemptHandler, RunningAttempt, Deadline {
  dueMs: number;
  watchedAt = -1;
  isUnwanted = false;

  readonly #input: AttemptInput;
  readonly #startedMs: number;
  #resolve: (result: AttemptResult) => void = () => {};
  readonly ended = new Promise<AttemptResult>((resolve) => (this.#resolve = resolve));
  #phase: Phase = "headers";
  #controller: Dispatcher.DispatchController | undefined;
  #bridge: AnswerBridge | undefined;
  #status: number | null = null;
  #firstByteMs: number | null = null;
  #firstOutputMs: number | null = null;
  #headers: FailedAnswer["headers"] = {};
  readonly #errorBody = new HeldBytes();
  #bytes = 0;
  #hasOutput = false;
  #sawData = false;
  /** True if the provider was ever paused because the client was slow. */
  #hasWaited = false;
  #responseEnded = false;
  #totalDueMs: number;
  /** When the gateway stops reading an answer whose client has left, unless it is due before. */
  #drainDueMs = Number.POSITIVE_INFINITY;
  /** The instant at which the headers or, once they have arrived, more of the body is due. */
  #idleDueMs: number;
  readonly #contentDueMs: number;

  constructor(input: AttemptInput) {
    this.#input = input;
    this.#startedMs = input.clock.monotonicMs();
    this.#totalDueMs = this.#startedMs + input.timeouts.totalMs;
    this.#idleDueMs = this.#startedMs + input.timeouts.headersMs;
    this.#contentDueMs =
      this.#startedMs + (input.timeouts.firstContentMs ?? Number.POSITIVE_INFINITY);
    this.dueMs = this.#nextDueMs();
  }

  resume(): void {
    if (this.#controller?.paused === true) this.#controller.resume();
  }

  detach(): void {
    if (this.isUnwanted || this.#phase === "ended") return;
    this.isUnwanted = true;
    this.#drainDueMs = this.#input.clock.monotonicMs() + this.#input.timeouts.drainMs;
    this.dueMs = Math.min(this.dueMs, this.#drainDueMs);
    this.resume();
  }

  abandon(): void {
    this.#end(this.#input.classify.abandoned(this.#status));
  }

  onCut(): void {
    this.abandon();
  }

  onRefused(error: Error): void {
    this.#end(this.#input.classify.connection(error));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The attempt may have ended while the request waited for a connection.
    if (this.#phase === "ended") controller.abort(new Error("the attempt has ended"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200 || this.#phase !== "headers") return;
    const nowMs = this.#input.clock.monotonicMs();
    this.#status = status;
    this.#firstByteMs = Math.round(nowMs - this.#startedMs);
    this.#idleDueMs = nowMs + this.#input.timeouts.idleMs;
    this.#headers = headers;
    // A compressed body was not requested and cannot be read: it is classified as an empty one.
    if (!isUncompressed(headers)) return this.#end(this.#classifyErrorBody());
    // Some providers answer a stream request with a plain JSON error under a 200.
    const isOther = this.#input.stream && !isEventStream(headers["content-type"]);
    if (status >= 300 || isOther) return this.#awaitErrorBody(nowMs);
    this.#phase = "answer";
    this.#bridge = this.#input.openBridge();
    this.dueMs = this.#nextDueMs();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#sawData = true;
    if (this.#phase === "error_body") {
      this.#errorBody.add(chunk);
      if (this.#bytes > ERROR_BODY_BYTES_MAX) this.#end(this.#classifyErrorBody());
    }
    const bridge = this.#bridge;
    if (this.#phase !== "answer" || bridge === undefined) return;
    bridge.push(chunk);
    this.#afterBridge(bridge);
    if (bridge.state === "complete" || bridge.state === "failed") {
      // A stream ends at its end mark; bytes after it are ignored.
      this.#end(bridge.failure);
    } else if (this.#input.stream && this.#bytes > this.#input.streamBytesMax) {
      this.#end(this.#input.classify.endless(this.#status ?? 200));
    }
  }

  onResponseEnd(): void {
    this.#responseEnded = true;
    if (this.#phase === "ended") this.#input.deadlines.unwatch(this);
    else if (this.#phase === "error_body") this.#end(this.#classifyErrorBody());
    else if (this.#phase === "answer" && this.#bridge !== undefined) {
      this.#bridge.end();
      this.#afterBridge(this.#bridge);
      this.#end(this.#bridge.failure);
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#responseEnded = true;
    if (this.#phase === "ended") this.#input.deadlines.unwatch(this);
    else if (this.#phase === "error_body") this.#end(this.#classifyErrorBody());
    else if (this.#status === null) this.#end(this.#input.classify.connection(error));
    else this.#end(this.#input.classify.brokenBody(this.#status));
  }

  onDue(nowMs: number): void {
    if (this.#phase === "ended") {
      this.#input.deadlines.unwatch(this);
      this.#controller?.abort(new Error("the provider did not close its answer"));
      return;
    }
    if (nowMs >= this.#commitDueMs()) this.#input.sink.commit();
    const { classify } = this.#input;
    const isOverdue = this.#isOverdue(nowMs);
    if (!isOverdue && nowMs < this.#drainDueMs) this.dueMs = this.#nextDueMs();
    else if (this.#phase === "error_body") this.#end(this.#classifyErrorBody());
    // Before its own time limit, the provider is not at fault: nobody waits for the answer.
    else this.#end(classify[isOverdue ? "timeout" : "abandoned"](this.#status), true);
  }

  #nextDueMs(): number {
    const contentDueMs = this.#awaitsContent() ? this.#contentDueMs : Number.POSITIVE_INFINITY;
    const dueMs = Math.min(this.#idleDueMs, this.#totalDueMs, this.#drainDueMs);
    return Math.min(dueMs, contentDueMs, this.#commitDueMs());
  }

  #awaitsContent(): boolean {
    const isOpen = this.#phase === "headers" || this.#phase === "answer";
    return this.#input.stream && isOpen && !this.#hasOutput;
  }

  /** When the head must be sent although a stream has no content yet; Infinity if it need not. */
  #commitDueMs(): number {
    const { sink, commitDueMs } = this.#input;
    const isSilent = this.#phase === "answer" && this.#awaitsContent();
    const mayCommit = isSilent && !this.isUnwanted && !sink.committed;
    return mayCommit ? commitDueMs : Number.POSITIVE_INFINITY;
  }

  /** Bytes without content extend the silence limit, but not the limit for the first content. */
  #isOverdue(nowMs: number): boolean {
    if (nowMs >= this.#totalDueMs) return true;
    if (this.#awaitsContent() && nowMs >= this.#contentDueMs) return true;
    if (nowMs < this.#idleDueMs) return false;
    // A paused provider is silent because the client is slow. The client has its own time limit.
    if (!this.#sawData && this.#controller?.paused !== true) return true;
    this.#sawData = false;
    this.#idleDueMs = nowMs + this.#input.timeouts.idleMs;
    return false;
  }

  #afterBridge(bridge: AnswerBridge): void {
    const output = bridge.takeOutput();
    if (output === undefined) return;
    if (this.#input.stream && !this.#hasOutput) {
      this.#firstOutputMs = Math.round(this.#input.clock.monotonicMs() - this.#startedMs);
    }
    this.#hasOutput = true;
    if (this.isUnwanted) return;
    if (this.#input.sink.write(output)) return;
    this.#hasWaited = true;
    this.#controller?.pause();
  }

  #awaitErrorBody(nowMs: number): void {
    this.#phase = "error_body";
    this.#totalDueMs = Math.min(this.#totalDueMs, nowMs + ERROR_BODY_TIMEOUT_MS);
    this.#idleDueMs = Number.POSITIVE_INFINITY;
    this.dueMs = this.#totalDueMs;
  }

  #classifyErrorBody(): UpstreamFailure {
    const status = this.#status ?? 200;
    const body = this.#errorBody.joined().subarray(0, ERROR_BODY_BYTES_MAX);
    return this.#input.classify.answer({ status, headers: this.#headers, body });
  }

  #end(failure: UpstreamFailure | undefined, timedOut = false): void {
    if (this.#phase === "ended") return;
    const finished = this.#phase;
    this.#phase = "ended";
    this.#releaseProvider(failure);
    this.#resolve({
      bridge: finished === "answer" ? this.#bridge : undefined,
      failure: failure !== undefined && this.#hasWaited ? this.#excused(failure) : failure,
      timedOut,
      hasOutput: this.#hasOutput,
      upstreamStatus: this.#status,
      firstByteMs: this.#firstByteMs,
      firstOutputMs: this.#firstOutputMs,
      durationMs: Math.round(this.#input.clock.monotonicMs() - this.#startedMs),
    });
  }

  /** A provider may close a connection that was paused for long, so that is not its fault. */
  #excused(failure: UpstreamFailure): UpstreamFailure {
    const isClosed = this.#responseEnded && failure.isMalformed === true;
    return { ...withoutBlame(failure), ...(isClosed && { strike: "neutral" }) };
  }

  #releaseProvider(failure: UpstreamFailure | undefined): void {
    const controller = this.#controller;
    if (failure === undefined && !this.#responseEnded) {
      // After the end mark, waits for the end of the body, so that the socket can be reused.
      this.dueMs = this.#input.clock.monotonicMs() + TRAILING_BYTES_TIMEOUT_MS;
      if (controller?.paused === true) controller.resume();
      return;
    }
    this.#input.deadlines.unwatch(this);
    if (failure !== undefined && !this.#responseEnded && controller?.aborted === false) {
      controller.abort(new Error("the attempt has ended"));
    }
  }
}

function isEventStream(contentType: string | string[] | undefined): boolean {
  const text = Array.isArray(contentType) ? contentType[0] : contentType;
  return text !== undefined && /^\s*text\/event-stream/i.test(text);
}
