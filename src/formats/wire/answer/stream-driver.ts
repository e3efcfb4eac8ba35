import type { Refusal } from "../../../kernel/index.ts";
import type { UpstreamFailure } from "../failure/failures.ts";
import type { AnswerFacts } from "../neutral/chat-answer.ts";
import type { ChatEvent, Emit, FinishReason } from "../neutral/chat-event.ts";
import type { UsageReport } from "../neutral/usage-report.ts";
import type { OutputPieces, SseEvent } from "../sse/sse.ts";

/** `silent`: an event without content. `content`: no more failover. `end`: a complete answer. */
export type StepOutcome = "silent" | "content" | "end" | UpstreamFailure;

/** Relays a stream of the client's own wire, or translates one of another wire. */
export interface StreamDriver extends AnswerFacts {
  /** Writes the client's bytes for one event of the provider to `out`. */
  step(event: SseEvent, out: OutputPieces): StepOutcome;
  /** Ends a body without an end mark: `end` if the answer is complete, else a failure. */
  endOfBody(out: OutputPieces): StepOutcome;
  finishText(costUsd: string): string;
  /** Returns the final error event, after the known usage if the wire allows usage before it. */
  failText(refusal: Refusal, costUsd: string): string;
  readonly keepAliveText: string;
}

export interface StreamDecoder extends AnswerFacts {
  readonly report: UsageReport | undefined;
  decode(event: SseEvent, emit: Emit): void;
  endOfBody(emit: Emit): void;
}

/** Encodes neutral events as a stream that is legal for the client, whatever their sequence. */
export interface StreamEncoder {
  encode(event: ChatEvent, out: OutputPieces): void;
  finishText(report: UsageReport | undefined, costUsd: string): string;
  failText(refusal: Refusal, report: UsageReport | undefined, costUsd: string): string;
  readonly keepAliveText: string;
}

export class StreamTranslation implements StreamDriver {
  readonly #decoder: StreamDecoder;
  readonly #encoder: StreamEncoder;

  constructor(decoder: StreamDecoder, encoder: StreamEncoder) {
    this.#decoder = decoder;
    this.#encoder = encoder;
  }

  get report(): UsageReport | undefined {
    return this.#decoder.report;
  }

  get hasWrongFinish(): boolean | undefined {
    return this.#decoder.hasWrongFinish;
  }

  get finishReason(): FinishReason | undefined {
    return this.#decoder.finishReason;
  }

  get keepAliveText(): string {
    return this.#encoder.keepAliveText;
  }

  step(event: SseEvent, out: OutputPieces): StepOutcome {
    return this.#run(out, (emit) => this.#decoder.decode(event, emit));
  }

  endOfBody(out: OutputPieces): StepOutcome {
    return this.#run(out, (emit) => this.#decoder.endOfBody(emit));
  }

  finishText(costUsd: string): string {
    return this.#encoder.finishText(this.report, costUsd);
  }

  failText(refusal: Refusal, costUsd: string): string {
    return this.#encoder.failText(refusal, this.report, costUsd);
  }

  #run(out: OutputPieces, decode: (emit: Emit) => void): StepOutcome {
    let outcome: StepOutcome = "silent";
    decode((event) => {
      this.#encoder.encode(event, out);
      if (event.type === "failure") outcome = event.failure;
      else if (event.type === "end") outcome = "end";
      else if (event.type !== "finish" && event.type !== "tool_end") outcome = "content";
    });
    return outcome;
  }
}
