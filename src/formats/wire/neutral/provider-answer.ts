import { asObject } from "../../../kernel/index.ts";

/** A provider's chat answer as it says it, before the gateway makes anything of it. */
export interface ProviderAnswer {
  readonly text: string;
  readonly finish: string | undefined;
  /** Every model name that the answer reports, in order. */
  readonly models: readonly string[];
  /** Does every part that has a place for the name report one? */
  readonly isModelEverywhere: boolean;
  /** As it is reported; undefined: not at all. */
  readonly usage: Fields | undefined;
  readonly calls: readonly ProviderCall[];
  /** What breaks the format of its wire. */
  readonly flaws: readonly string[];
}

export interface ProviderCall {
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

/** What a probe asks of a chat provider, before it is written in the body of a wire. */
export interface ChatQuestion {
  readonly text: string;
  readonly maxTokens: number;
  readonly stream?: true;
  readonly stop?: string;
  /** Offers the tool: asks for a call of it, or gives its result. */
  readonly tool?: { readonly kind: "forced" | "answered"; readonly of: QuestionTool };
}

export interface QuestionTool {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
  /** Of the call whose result is given, and that result. */
  readonly given: object;
  readonly result: string;
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
  /** What an answer says that ended by itself or at a stop sequence, and one that was cut. */
  readonly finishes: { readonly stopped: readonly string[]; readonly cut: readonly string[] };
}

/** What of a provider's profile its answers are read by; nothing: as its wire says. */
export interface AnswerReading {
  /** What a total has above its parts is reasoning. */
  readonly usageGap?: "reasoning";
  /** Calls carry signatures that the next turn has to bring back. */
  readonly toolSignature?: "gemini";
}
