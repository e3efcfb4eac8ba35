import {
  type ModelNames,
  type Refusal,
  type ServedModel,
  readServedModel,
  type Usage,
} from "../../../kernel/index.ts";
import type { UpstreamFailure } from "../failure/failures.ts";
import type { FinishReason } from "../neutral/chat-event.ts";

/** Bytes for the client. A text is UTF-8: the server sends it without a copy of its own. */
export type Output = Buffer | string;

/** A whole answer; one that is too large to be copied comes in pieces. */
export type WholeBody = Output | readonly Buffer[];

export function isPieces(body: WholeBody): body is readonly Buffer[] {
  return Array.isArray(body);
}

/**
 * - `waiting`: nothing content-bearing yet; everything can still fail over.
 * - `flowing`: output for the client exists; from here on there is one provider.
 * - `complete`: the provider's end mark was read; only `finish` is left.
 * - `failed`: the answer is unusable or died; see `failure`.
 */
export type BridgeState = "waiting" | "flowing" | "complete" | "failed";

/**
 * Carries one provider answer (2xx) to the client's wire: provider bytes in, client bytes out.
 * One shape for a JSON answer and for a stream, for a same-wire relay and for a translation.
 * Pure: no I/O, no clock. A closed bridge swallows everything.
 */
export interface AnswerBridge {
  readonly state: BridgeState;
  /** Content type of the client's answer. */
  readonly contentType: string;
  /** The last usage the provider reported; undefined while it reported none. */
  readonly usage: Usage | undefined;
  /** The usage that the listing declares for a complete answer that reports none; absent: none. */
  readonly declaredUsage?: Usage | undefined;
  /** The provider's own cost in USD as raw number text, for `reported_cost` listings. */
  readonly reportedCostUsd: string | undefined;
  /** The model that the provider reported; undefined while it reported none. */
  readonly servedModel: ServedModel | undefined;
  /** Why the counts of the usage cannot be right; undefined if they can, or if there are none. */
  readonly usageFlaw: string | undefined;
  /**
   * True if the finish reason of a `complete` answer is certainly wrong: it is missing, or it names
   * a tool call that the answer does not contain.
   */
  readonly hasWrongFinish: boolean;
  /** Why the model stopped, in neutral terms; undefined where it is not known. */
  readonly finishReason?: FinishReason | undefined;
  /** Set exactly when `state` is `failed`. */
  readonly failure: UpstreamFailure | undefined;
  /** Takes the next bytes of the provider's body. */
  push(bytes: Buffer): void;
  /** The provider's body ended (cleanly). Leaves `complete` or `failed`. */
  end(): void;
  /** The output that became ready for the client since the last call; undefined when there is none. */
  takeOutput(): Output | undefined;
  /**
   * The last bytes of a `complete` answer, sent after the settlement committed.
   * `costUsd` is the request's whole debit as JSON number text.
   */
  finish(costUsd: string): WholeBody;
  /**
   * The last bytes of a stream that failed after output: known usage, then the one terminal error
   * event of the wire.
   */
  fail(refusal: Refusal, costUsd: string): Output;
  /**
   * Bytes that keep a silent connection open (stream only), also before the first output;
   * undefined when the wire has none.
   */
  keepAlive(): Output | undefined;
}

/**
 * Notes the model names that one answer reports. A stream may report one in every event: the first
 * is kept, unless a later one is a substitution.
 */
export class ServedModelNote {
  readonly #names: ModelNames;
  #last: unknown;
  #served: ServedModel | undefined;

  constructor(names: ModelNames) {
    this.#names = names;
  }

  get served(): ServedModel | undefined {
    return this.#served;
  }

  take(reported: unknown): void {
    if (reported === this.#last) return;
    this.#last = reported;
    const served = readServedModel(this.#names, reported);
    if (served === undefined || this.#served?.isSubstituted === true) return;
    if (this.#served === undefined || served.isSubstituted) this.#served = served;
  }
}
