import {
  type ModelNames,
  type Refusal,
  type ServedModel,
  readServedModel,
  type Usage,
} from "../../../kernel/index.ts";
import type { UpstreamFailure } from "../failure/failures.ts";
import type { FinishReason } from "../neutral/chat-event.ts";

/** Bytes for the client. A string is sent as UTF-8, which saves a copy. */
export type Output = Buffer | string;

/** A whole answer, in pieces if it is too large to copy. */
export type WholeBody = Output | readonly Buffer[];

export function isPieces(body: WholeBody): body is readonly Buffer[] {
  return Array.isArray(body);
}

/**
 * The state of a bridge. `waiting`: no content yet, the call can still fail over. `flowing`: the
 * client has output, so no other provider can take over. `complete`: the provider's end mark was
 * read, and only `finish` is left. `failed`: the answer is unusable or broke off; see `failure`.
 */
export type BridgeState = "waiting" | "flowing" | "complete" | "failed";

/**
 * Carries one provider answer (2xx) to the client's wire: provider bytes in, client bytes out. The
 * same interface serves JSON answers and streams, relays and translations. Pure: no I/O, no clock.
 * A bridge that has failed or finished ignores further calls.
 */
export interface AnswerBridge {
  readonly state: BridgeState;
  /** Content type of the client's answer. */
  readonly contentType: string;
  /** The last usage the provider reported; undefined while it reported none. */
  readonly usage?: Usage | undefined;
  /** The usage that the listing declares for a complete answer that reports none; absent: none. */
  readonly declaredUsage?: Usage | undefined;
  /** The provider's own cost in USD as raw number text, for `reported_cost` listings. */
  readonly reportedCostUsd?: string | undefined;
  /** The model that the provider reported; undefined while it reported none. */
  readonly servedModel?: ServedModel | undefined;
  /** Why the counts of the usage cannot be right; undefined if they can or there are none. */
  readonly usageFlaw?: string | undefined;
  /**
   * True if the finish reason of a `complete` answer is certainly wrong: it is missing, or it names
   * a tool call that the answer does not contain.
   */
  readonly hasWrongFinish: boolean;
  /** Why the model stopped, in neutral terms; undefined if that is unknown. */
  readonly finishReason?: FinishReason | undefined;
  /** Set exactly when `state` is `failed`. */
  readonly failure: UpstreamFailure | undefined;
  /** Takes the next bytes of the provider's body. */
  push(bytes: Buffer): void;
  /** Ends the provider's body. The state is then `complete` or `failed`. */
  end(): void;
  /** Takes the output for the client since the last call; undefined if there is none. */
  takeOutput(): Output | undefined;
  /**
   * Returns the last bytes of a `complete` answer, which are sent after the settlement has
   * committed. `costUsd` is the request's whole debit as JSON number text.
   */
  finish(costUsd: string): WholeBody;
  /** Returns the last bytes of a stream that failed after output: usage, then the error. */
  fail(refusal: Refusal, costUsd: string): Output;
  /** Returns bytes that keep a silent stream open; undefined if the wire has none. */
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
