import type { ReadAnswer } from "../failure/failures.ts";
import type { AnswerReading } from "./provider-answer.ts";
import type { FinishReason } from "./chat-event.ts";
import type { UsageReport } from "./usage-report.ts";

export interface ToolCall {
  /** Empty when the provider gave none. */
  readonly id: string;
  readonly name: string;
  /** JSON text of an object, digits as the provider wrote them. */
  readonly argumentsJson: string;
}

/** A whole answer in neutral terms, on its way from one wire to another. */
export interface ChatAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly finish: FinishReason;
  readonly stopSequence?: string;
}

/** A provider's JSON body, parsed. */
export interface AnswerJson {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A body that can be sent as soon as the cost is known. */
export interface ReadyAnswer {
  readonly report: UsageReport | undefined;
  /** See `AnswerBridge`. Absent: false. */
  readonly hasWrongFinish?: boolean | undefined;
  /** See `AnswerBridge`. */
  readonly finishReason?: FinishReason | undefined;
  bodyText(costUsd: string): string;
}

/** Reads a provider's JSON answer for one client; the failure when it cannot be represented. */
export type AnswerReader = (json: AnswerJson) => ReadAnswer<ReadyAnswer>;

/** The JSON half of a chat wire. */
export interface AnswerCodec {
  /** For a client of the same wire: the provider's own text with the client's model id and cost. */
  relay(json: AnswerJson, label: AnswerLabel, reading?: AnswerReading): ReadAnswer<ReadyAnswer>;
  /** For a client of another wire. */
  read(
    json: AnswerJson,
    isStopSequence: (word: string) => boolean,
    reading?: AnswerReading,
  ): ReadAnswer<{
    readonly answer: ChatAnswer;
    readonly report: UsageReport | undefined;
    /** See `AnswerBridge`. Absent: false. */
    readonly hasWrongFinish?: boolean;
  }>;
  write(
    answer: ChatAnswer,
    label: AnswerLabel,
    charge: { readonly report: UsageReport | undefined; readonly costUsd: string },
  ): string;
}

/** The ids and options that the client's answer is written with. */
export interface AnswerLabel {
  /** The request id without dashes: the tail of every id made for this answer. */
  readonly idTail: string;
  /** The marketplace id of the model. */
  readonly modelId: string;
  readonly createdSeconds: number;
  /** See `ParsedChatRequest.wantsUsageChunk`. */
  readonly wantsUsageChunk: boolean;
  /** See `ParsedChatRequest.usesFunctions`. */
  readonly usesFunctions: boolean;
  /** See `ParsedChatRequest.countInputTokens`. */
  readonly countInputTokens: () => number;
}

/** The text of a provider's body, without a leading byte order mark. */
export function decodeBody(body: Buffer): string {
  const text = body.toString("utf8");
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

const BYTE_ORDER_MARK = 0xfeff;
