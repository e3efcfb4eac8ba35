import { asObject } from "../../../kernel/index.ts";

/** A provider's chat answer as it says it, before the gateway makes anything of it. */
export interface ProviderAnswer {
  readonly text: string;
  /** Reasoning that is shown beside the text. */
  readonly thinking: string;
  readonly finish: string | undefined;
  /** Every model name that the answer reports, in order. */
  readonly models: readonly string[];
  /** Does every part that has a place for the name report one? */
  readonly isModelEverywhere: boolean;
  /** As it is reported; undefined: not at all. */
  readonly usage: Fields | undefined;
  readonly calls: readonly ProviderCall[];
  /** The places where it breaks the format of its wire. */
  readonly flaws: readonly string[];
}

export interface ProviderCall {
  /** Empty: it has none, and its result cannot be given. */
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
  /** Undefined: no JSON object. */
  readonly json: Fields | undefined;
}

export function objectsIn(value: unknown): readonly Fields[] {
  if (!Array.isArray(value)) return [];
  return value.map(asObject).filter((each) => each !== undefined);
}

/** A probe's question to a chat provider, before it is written in the body of a wire. */
export interface ChatQuestion {
  readonly text: string;
  readonly maxTokens: number;
  readonly stream?: boolean;
  readonly system?: string;
  /** Earlier turns, oldest first. */
  readonly history?: readonly { readonly asked: string; readonly answered: string }[];
  readonly stops?: readonly string[];
  readonly tools?: QuestionTools;
  /** The answer has to be JSON of this schema. */
  readonly schema?: object;
}

export interface QuestionTools {
  readonly of: readonly QuestionTool[];
  /** Absent: the model chooses. `required`: a call of any of them. */
  readonly choice?: "none" | "required" | { readonly name: string };
  /** No two calls in one answer. */
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
 * How a provider of this wire is questioned, and how its answers are read as they are, before the
 * gateway makes anything of them: for conformance checks, never for customers.
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

/** The part of a provider's profile by which its answers are read; absent: as its wire says. */
export interface AnswerReading {
  /** The part of a total above its parts is reasoning. */
  readonly usageGap?: "reasoning";
  /** Calls carry signatures that the next turn has to bring back. */
  readonly toolSignature?: "gemini";
}
