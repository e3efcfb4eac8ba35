import type { Refusal } from "../../../kernel/index.ts";
import type { ChatEvent, FinishReason } from "../neutral/chat-event.ts";
import type { UsageReport } from "../neutral/usage-report.ts";
import type { SseEvent } from "../sse/sse-reader.ts";
import type { OutputPieces } from "./output-pieces.ts";
import type { StepOutcome, StreamDecoder, StreamDriver, StreamEncoder } from "./stream-driver.ts";

/** A stream of one wire for a client of the other: a decoder, and an encoder behind it. */
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

  get hasWrongFinish(): boolean {
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

  #run(out: OutputPieces, decode: (emit: (event: ChatEvent) => void) => void): StepOutcome {
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
