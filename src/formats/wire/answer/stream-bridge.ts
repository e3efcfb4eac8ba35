import { ANSWER_BYTES_MAX, ERROR_BODY_BYTES_MAX, type Refusal } from "../../../kernel/index.ts";
import { classifyPlainBody } from "../failure/classify-failure.ts";
import {
  brokenOffFailure,
  FINAL,
  unusableFailure,
  withoutBlame,
  type UpstreamFailure,
} from "../failure/failures.ts";
import {
  type AnswerBridge,
  BaseBridge,
  type BridgeState,
  type ServedModelNote,
} from "./answer-bridge.ts";
import type { AnswerFacts } from "../neutral/chat-answer.ts";
import {
  GrowingBuffer,
  OutputPieces,
  SSE_CONTENT_TYPE,
  type SseEvent,
  SseReader,
} from "../sse/sse.ts";
import type { StepOutcome, StreamDriver } from "./stream-driver.ts";

/** A stream is cut at this size. An answer within its output bound is usually far smaller. */
const STREAM_BYTES_MAX = 8 * ANSWER_BYTES_MAX;

/** A line or an event is too long. */
const TOO_LONG = withoutBlame(unusableFailure());

/** The client gets no event before the first one with content, and none after a terminal one. */
export class StreamBridge extends BaseBridge implements AnswerBridge {
  override readonly contentType: string = SSE_CONTENT_TYPE;
  readonly #driver: StreamDriver;
  readonly #reader: SseReader;
  readonly #out = new OutputPieces();
  /** The first bytes of a body that has had no event yet: the body may be a plain JSON error. */
  readonly #head = new GrowingBuffer();
  #state: BridgeState = "waiting";
  #hasContent = false;
  #hasEvents = false;
  #isClosed = false;
  #bytes = 0;

  constructor(driver: StreamDriver, note: ServedModelNote) {
    super(note);
    this.#driver = driver;
    this.#reader = new SseReader((event) => this.#take(event));
  }

  get facts(): AnswerFacts {
    return this.#driver;
  }

  override get state(): BridgeState {
    return this.#state;
  }

  push(bytes: Buffer): void {
    if (!this.#isReading()) return;
    this.#bytes += bytes.length;
    const fault = this.#reader.push(bytes);
    if (!this.#hasEvents) this.#keepHead(bytes);
    else if (this.#head.length > 0) this.#head.take();
    if (!this.#isReading()) return;
    if (fault !== undefined) this.#conclude(TOO_LONG);
    else if (this.#isTooLong()) this.#conclude(withoutBlame(brokenOffFailure()));
  }

  end(): void {
    if (!this.#isReading()) return;
    const fault = this.#reader.end();
    // If the last event is unreadable, the end of the body has cut it: the answer broke off.
    if (this.failure?.isMalformed === true) this.failure = brokenOffFailure();
    if (!this.#isReading()) return;
    if (fault !== undefined) this.#conclude(TOO_LONG);
    else if (!this.#hasEvents) this.#conclude(classifyHead(this.#head.take()));
    else this.#conclude(this.#driver.endOfBody(this.#out));
  }

  override takeOutput(): string | undefined {
    const isDeliverable = this.#hasContent && !this.#isClosed && this.#state !== "failed";
    return isDeliverable ? this.#out.take() : undefined;
  }

  finish(costUsd: string): string {
    if (this.#isClosed || this.#state !== "complete") return "";
    this.#isClosed = true;
    this.#out.add(this.#driver.finishText(costUsd));
    return this.#out.take() ?? "";
  }

  fail(refusal: Refusal, costUsd: string): string {
    if (this.#isClosed) return "";
    this.#isClosed = true;
    this.#state = "failed";
    this.failure ??= { refusal, ...FINAL };
    this.#out.add(this.#driver.failText(refusal, costUsd));
    return this.#out.take() ?? "";
  }

  override keepAlive(): string | undefined {
    const isOpen = !this.#isClosed && this.#state !== "failed";
    return isOpen ? this.#driver.keepAliveText : undefined;
  }

  #isReading(): boolean {
    return this.#state === "waiting" || this.#state === "flowing";
  }

  /** Output before the first content is held, and can be larger than the events it is made of. */
  #isTooLong(): boolean {
    return this.#bytes > STREAM_BYTES_MAX || this.#out.length > ANSWER_BYTES_MAX;
  }

  #take(event: SseEvent): void {
    if (!this.#isReading()) return;
    this.#hasEvents = true;
    const outcome = this.#driver.step(event, this.#out);
    if (outcome !== "silent") this.#conclude(outcome);
  }

  #conclude(outcome: StepOutcome): void {
    if (outcome === "content") {
      this.#hasContent = true;
      this.#state = "flowing";
    } else if (outcome === "end") {
      this.#state = "complete";
    } else {
      this.#state = "failed";
      this.failure = outcome === "silent" ? brokenOffFailure() : outcome;
    }
  }

  #keepHead(bytes: Buffer): void {
    const capacity = ERROR_BODY_BYTES_MAX - this.#head.length;
    if (capacity > 0) this.#head.add(bytes.subarray(0, capacity));
  }
}

/** Classifies a 200 whose body was no event stream: an error object, an HTML page, or nothing. */
function classifyHead(head: Buffer): UpstreamFailure {
  const isText = /^\s*[{[<"]/.test(head.toString("latin1"));
  return isText ? classifyPlainBody({ status: 200, body: head }) : brokenOffFailure();
}
