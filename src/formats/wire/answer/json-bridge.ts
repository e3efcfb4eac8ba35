import {
  ANSWER_BYTES_MAX,
  type Refusal,
  type ServedModel,
  type Usage,
} from "../../../kernel/index.ts";
import { classifyEmbeddedError } from "../failure/classify-failure.ts";
import { unusableFailure, withoutBlame } from "../failure/failures.ts";
import { failedRead, type ReadAnswer, type UpstreamFailure } from "../failure/upstream-failure.ts";
import type { AnswerReader, ReadyAnswer } from "../neutral/chat-answer.ts";
import type { FinishReason } from "../neutral/chat-event.ts";
import type { ServedModelNote } from "../neutral/served-model-note.ts";
import type { AnswerBridge, BridgeState } from "./answer-bridge.ts";
import { parseAnswer } from "./parse-answer.ts";

export interface JsonBridgeOptions {
  readonly read: AnswerReader;
  /** Takes the model that the body reports. */
  readonly note: ServedModelNote;
  /** The error body of the client's wire. */
  readonly renderError: (refusal: Refusal) => Buffer;
  /** Most bytes of the provider's body. Default: what any answer may have. */
  readonly bytesMax?: number;
  /**
   * Sorts a 200 whose body holds an `error`; undefined when it is an answer all the same. Default: as
   * the chat wires do.
   */
  readonly classifyError?: (body: Readonly<Record<string, unknown>>) => UpstreamFailure | undefined;
}

/**
 * The JSON side of `AnswerBridge`: collects the provider's body, checks that it is an answer, and
 * gives the client's body whole, once the cost is known.
 */
export class JsonBridge implements AnswerBridge {
  readonly contentType: string = "application/json";
  readonly #options: JsonBridgeOptions;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #answer: ReadyAnswer | undefined;
  #failure: UpstreamFailure | undefined;
  #isClosed = false;

  constructor(options: JsonBridgeOptions) {
    this.#options = options;
  }

  get state(): BridgeState {
    if (this.#failure !== undefined) return "failed";
    return this.#answer === undefined ? "waiting" : "complete";
  }

  get usage(): Usage | undefined {
    return this.#answer?.report?.usage;
  }

  get reportedCostUsd(): string | undefined {
    return this.#answer?.report?.reportedCostUsd;
  }

  get servedModel(): ServedModel | undefined {
    return this.#options.note.served;
  }

  get usageFlaw(): string | undefined {
    return this.#answer?.report?.flaw;
  }

  get hasWrongFinish(): boolean {
    return this.#answer?.hasWrongFinish === true;
  }

  get finishReason(): FinishReason | undefined {
    return this.#answer?.finishReason;
  }

  get failure(): UpstreamFailure | undefined {
    return this.#failure;
  }

  push(bytes: Buffer): void {
    if (this.state !== "waiting") return;
    this.#bytes += bytes.length;
    this.#pieces.push(bytes);
    if (this.#bytes > (this.#options.bytesMax ?? ANSWER_BYTES_MAX)) this.#conclude(TOO_LARGE);
  }

  end(): void {
    if (this.state !== "waiting") return;
    const [first = Buffer.alloc(0)] = this.#pieces;
    const body = this.#pieces.length < 2 ? first : Buffer.concat(this.#pieces, this.#bytes);
    this.#conclude(readBody(body, this.#options));
  }

  takeOutput(): Buffer | undefined {
    return undefined;
  }

  finish(costUsd: string): string {
    if (this.#isClosed || this.state !== "complete") return "";
    this.#isClosed = true;
    return this.#answer?.bodyText(costUsd) ?? "";
  }

  fail(refusal: Refusal): Buffer {
    if (this.#isClosed) return Buffer.alloc(0);
    this.#isClosed = true;
    this.#failure ??= { refusal, failover: false, strike: "neutral" };
    return this.#options.renderError(refusal);
  }

  keepAlive(): Buffer | undefined {
    return undefined;
  }

  #conclude(result: ReadAnswer<ReadyAnswer>): void {
    this.#pieces = [];
    if (result.ok) this.#answer = result;
    else this.#failure = result.failure;
  }
}

const UNUSABLE = failedRead(unusableFailure());
/** Beyond the bounds of this gateway, which a provider need not know. */
const TOO_LARGE = failedRead(withoutBlame(unusableFailure()));

function readBody(
  body: Buffer,
  { read, note, classifyError = classifyEmbeddedError }: JsonBridgeOptions,
): ReadAnswer<ReadyAnswer> {
  const json = parseAnswer(body);
  if (json === "unusable") return UNUSABLE;
  if (json === "too large") return TOO_LARGE;
  const { value } = json;
  note.take(value["model"]);
  const { error } = value;
  const hasError = error !== undefined && error !== null && error !== false;
  const failure = hasError ? classifyError(value) : undefined;
  if (failure !== undefined) return failedRead(failure);
  const ready = read(json);
  return ready.ok
    ? { ...ready, bodyText: (costUsd) => json.restored(ready.bodyText(costUsd)) }
    : ready;
}
