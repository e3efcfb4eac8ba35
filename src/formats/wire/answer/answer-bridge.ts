import {
  type ModelNames,
  type Refusal,
  type ServedModel,
  readServedModel,
  type Usage,
} from "../../../kernel/index.ts";
import type { UpstreamFailure } from "../failure/failures.ts";
import type { AnswerFacts } from "../neutral/chat-answer.ts";
import type { FinishReason } from "../neutral/chat-event.ts";

/** Bytes for the client. A string, which is sent as UTF-8, saves a copy into a buffer. */
export type Output = Buffer | string;

/** The last bytes of a stream, or a whole body: a list of buffers if it is too large to copy. */
export type WholeBody = Output | readonly Buffer[];

export function isPieces(body: WholeBody): body is readonly Buffer[] {
  return Array.isArray(body);
}

/**
 * `waiting`: there is no content yet, so the call can still fail over. `flowing`: the client has
 * output, so no other provider can take over. `complete`: the provider's end mark was read; only
 * `finish` is left. `failed`: the answer is unusable or broke off; `failure` says why.
 */
export type BridgeState = "waiting" | "flowing" | "complete" | "failed";

/**
 * Carries one 2xx answer of a provider to the client: provider bytes in, client bytes out. One
 * interface serves JSON answers and streams, relays and translations. It has no I/O and no clock.
 * A `failed` bridge answers only `fail`. After `fail` or `finish`, a bridge ignores further calls.
 */
export interface AnswerBridge {
  readonly state: BridgeState;
  readonly contentType: string;
  readonly usage?: Usage | undefined;
  /** The usage that the listing declares for a complete image answer that reports no usage. */
  readonly declaredUsage?: Usage | undefined;
  /** The provider's own cost in USD as JSON number text, for `reported_cost` listings. */
  readonly reportedCostUsd?: string | undefined;
  readonly servedModel?: ServedModel | undefined;
  /** Why the reported token counts must be wrong; undefined if they can be right or are absent. */
  readonly usageFlaw?: string | undefined;
  /**
   * True if a `complete` chat answer has no finish reason (and, on wire_a, no tool call either), or
   * if its finish reason announces a tool call that is missing.
   */
  readonly hasWrongFinish: boolean;
  readonly finishReason?: FinishReason | undefined;
  /** Set exactly if `state` is `failed`. */
  readonly failure: UpstreamFailure | undefined;
  push(bytes: Buffer): void;
  /** Reports the end of the provider's body. The state is then `complete` or `failed`. */
  end(): void;
  /** Takes the bytes for the client since the last call; undefined if there are none. */
  takeOutput(): Output | undefined;
  /**
   * Returns the last bytes of a `complete` answer, sent after the settlement has committed.
   * `costUsd` is the request's whole debit as JSON number text.
   */
  finish(costUsd: string): WholeBody;
  /**
   * Returns the last bytes of a failed answer: an error body; in a stream, an error event, after
   * the usage if the wire reports usage before an error.
   */
  fail(refusal: Refusal, costUsd: string): string;
  /** Bytes that keep a silent stream open; undefined after its end, and for JSON answers. */
  keepAlive(): Output | undefined;
}

/** The first model name that an answer reports, or the first that the listing does not allow. */
export class ServedModelNote {
  served: ServedModel | undefined;
  readonly #names: ModelNames;
  #last: unknown;

  constructor(names: ModelNames) {
    this.#names = names;
  }

  take(reported: unknown): void {
    if (reported === this.#last) return;
    this.#last = reported;
    const served = readServedModel(this.#names, reported);
    if (served === undefined || this.served?.isSubstituted === true) return;
    if (this.served === undefined || served.isSubstituted) this.served = served;
  }
}

/** The members that most bridges have in common. */
export abstract class BaseBridge {
  readonly contentType: string = "application/json";
  failure: UpstreamFailure | undefined;
  readonly #note: ServedModelNote | undefined;
  /** Undefined while nothing is known about the answer. */
  abstract readonly facts: AnswerFacts | undefined;

  constructor(note?: ServedModelNote) {
    this.#note = note;
  }

  get state(): BridgeState {
    if (this.failure !== undefined) return "failed";
    return this.facts === undefined ? "waiting" : "complete";
  }

  get usage(): Usage | undefined {
    return this.facts?.report?.usage;
  }

  get reportedCostUsd(): string | undefined {
    return this.facts?.report?.reportedCostUsd;
  }

  get usageFlaw(): string | undefined {
    return this.facts?.report?.flaw;
  }

  get hasWrongFinish(): boolean {
    return this.facts?.hasWrongFinish === true;
  }

  get finishReason(): FinishReason | undefined {
    return this.facts?.finishReason;
  }

  get servedModel(): ServedModel | undefined {
    return this.#note?.served;
  }

  takeOutput(): Output | undefined {
    return undefined;
  }

  keepAlive(): Output | undefined {
    return undefined;
  }
}
