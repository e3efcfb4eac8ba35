import { asObject } from "../../../kernel/index.ts";

/** A provider's chat answer before the gateway changes it. */
export interface ProviderAnswer {
  readonly text: string;
  /** Reasoning that is shown beside the text. */
  readonly thinking: string;
  readonly finish: string | undefined;
  /** Every model name that the answer reports, in order. */
  readonly models: readonly string[];
  /** True if every part that can name the model does so. */
  readonly isModelEverywhere: boolean;
  /** As reported; undefined if it was not. */
  readonly usage: Fields | undefined;
  readonly calls: readonly ProviderCall[];
  /** How it breaks the format of its wire. */
  readonly flaws: readonly string[];
}

export interface ProviderCall {
  /** Empty if the provider gave none; then no result can be sent for the call. */
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly argumentsText: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/** One event of a stream. */
export interface ProviderEvent {
  readonly name: string;
  readonly text: string;
  /** Undefined if the text is no JSON object. */
  readonly json: Fields | undefined;
}

export function objectsIn(value: unknown): readonly Fields[] {
  if (!Array.isArray(value)) return [];
  return value.map(asObject).filter((each) => each !== undefined);
}

/** A question to a chat provider, before it is written in the format of a wire. */
export interface ChatQuestion {
  readonly text: string;
  readonly maxTokens: number;
  readonly stream?: boolean;
  readonly system?: string;
  /** Earlier turns, oldest first. */
  readonly history?: readonly { readonly asked: string; readonly answered: string }[];
  readonly stops?: readonly string[];
  readonly tools?: QuestionTools;
  /** The answer must be JSON of this schema. */
  readonly schema?: object;
}

export interface QuestionTools {
  readonly of: readonly QuestionTool[];
  /** Absent if the model chooses. `required` means a call of any of the tools. */
  readonly choice?: "none" | "required" | { readonly name: string };
  /** At most one call in an answer. */
  readonly isSingle?: boolean;
  /** The first tool was called, and this is its result. */
  readonly result?: string;
}

export interface QuestionTool {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
  /** Arguments of the call whose result is given. */
  readonly given: object;
}

/**
 * Asks a provider of this wire and reads its unchanged answers. Used only by conformance checks.
 */
export interface ProviderQuestions {
  /** A client's body without `model`. */
  writeBody(question: ChatQuestion): Readonly<Record<string, unknown>>;
  readWhole(json: Fields | undefined): ProviderAnswer;
  readStream(events: readonly ProviderEvent[]): ProviderAnswer;
  /**
   * The finish reasons of an answer that ended by itself or at a stop sequence, and of one that was
   * cut.
   */
  readonly finishes: { readonly stopped: readonly string[]; readonly cut: readonly string[] };
}

/** The part of a provider's profile that changes how its answers are read. */
export interface AnswerReading {
  /** What the total has above its parts is reasoning. */
  readonly usageGap?: "reasoning";
  /** Calls carry signatures that the next turn has to bring back. */
  readonly toolSignature?: "gemini";
}
