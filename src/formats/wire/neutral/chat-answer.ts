import { asObject, tryParse } from "../../../kernel/index.ts";
import type { ReadAnswer } from "../failure/failures.ts";
import type { AnswerReading } from "./provider-answer.ts";
import type { FinishReason } from "./chat-event.ts";
import type { UsageReport } from "./usage-report.ts";

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** A JSON object as text; digits are as the provider wrote them. */
  readonly argumentsJson: string;
}

export interface ChatAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly finish: FinishReason;
  readonly stopSequence?: string;
}

export interface AnswerJson {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface AnswerFacts {
  readonly report: { readonly [F in keyof UsageReport]?: UsageReport[F] | undefined } | undefined;
  /** True if the finish reason is certainly wrong (see `AnswerBridge`); absent: false. */
  readonly hasWrongFinish?: boolean | undefined;
  readonly finishReason?: FinishReason | undefined;
}

export interface ReadyAnswer extends AnswerFacts {
  bodyText(costUsd: string): string;
}

export interface AnswerCodec {
  /** Relays the provider's text to a client of the same wire, with the client's model and cost. */
  relay(json: AnswerJson, label: AnswerLabel, reading?: AnswerReading): ReadAnswer<ReadyAnswer>;
  /** Reads an answer for a client of another wire. */
  read(
    json: AnswerJson,
    isStopSequence: (word: string) => boolean,
    reading?: AnswerReading,
  ): ReadAnswer<
    AnswerFacts & { readonly answer: ChatAnswer; readonly report: UsageReport | undefined }
  >;
  write(
    answer: ChatAnswer,
    label: AnswerLabel,
    charge: { readonly report: UsageReport | undefined; readonly costUsd: string },
  ): string;
}

export interface AnswerLabel {
  /** The request id without dashes, from which the gateway makes ids for this answer. */
  readonly idTail: string;
  readonly modelId: string;
  readonly createdSeconds: number;
  /** True if the client of a wire_a stream asked for a usage chunk. */
  readonly wantsUsageChunk: boolean;
  readonly usesFunctions: boolean;
  /** True if the client of a wire_a request chose the tools to call by name. */
  readonly namesTool: boolean;
  readonly countInputTokens: () => number;
  /** The ids of the calls in the client's history, as wire_a writes them. */
  readonly listUsedIds: () => readonly string[];
}

/** Undefined if the text is not a JSON object, or is itself undefined. */
export function parseObject(text: string | undefined): AnswerJson | undefined {
  if (text === undefined) return undefined;
  const value = asObject(tryParse(text)?.value);
  return value === undefined ? undefined : { text, value };
}

/** Decodes UTF-8 without a leading byte order mark, which JSON parsers refuse. */
export function decodeBody(body: Buffer): string {
  const text = body.toString("utf8");
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

const BYTE_ORDER_MARK = 0xfeff;
