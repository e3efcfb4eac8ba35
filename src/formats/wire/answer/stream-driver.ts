import type { Refusal } from "../../../kernel/index.ts";
import type { UpstreamFailure } from "../failure/upstream-failure.ts";
import type { ChatEvent, FinishReason } from "../neutral/chat-event.ts";
import type { UsageReport } from "../neutral/usage-report.ts";
import type { SseEvent } from "../sse/sse-reader.ts";
import type { OutputPieces } from "./output-pieces.ts";

/**
 * What one event of the provider meant: nothing for the client yet, content (the commit point),
 * the end mark, or a failure.
 */
export type StepOutcome = "silent" | "content" | "end" | UpstreamFailure;

/** What a stream bridge drives: either relays a stream of the client's own wire, or translates. */
export interface StreamDriver {
  readonly report: UsageReport | undefined;
  /** See `AnswerBridge`. */
  readonly hasWrongFinish: boolean;
  /** See `AnswerBridge`. */
  readonly finishReason?: FinishReason | undefined;
  /** Takes one event of the provider and writes what the client gets for it. */
  step(event: SseEvent, out: OutputPieces): StepOutcome;
  /** The body ended before an end mark was read: was the answer complete nevertheless? */
  endOfBody(out: OutputPieces): StepOutcome;
  /** The closing events of a complete answer. */
  finishText(costUsd: string): string;
  /** Known usage, then the one terminal error event. */
  failText(refusal: Refusal, costUsd: string): string;
  readonly keepAliveText: string;
}

/** A provider's stream to neutral events. */
export interface StreamDecoder {
  readonly report: UsageReport | undefined;
  /** See `AnswerBridge`. */
  readonly hasWrongFinish: boolean;
  /** See `AnswerBridge`. */
  readonly finishReason?: FinishReason | undefined;
  decode(event: SseEvent, emit: (event: ChatEvent) => void): void;
  /** The body ended without an end mark: emits `end` where the answer is whole, else `failure`. */
  endOfBody(emit: (event: ChatEvent) => void): void;
}

/** Neutral events to a client's stream. Legal for any sequence of events. */
export interface StreamEncoder {
  encode(event: ChatEvent, out: OutputPieces): void;
  finishText(report: UsageReport | undefined, costUsd: string): string;
  failText(refusal: Refusal, report: UsageReport | undefined, costUsd: string): string;
  readonly keepAliveText: string;
}
