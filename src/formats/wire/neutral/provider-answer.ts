import { asObject, asText, textOf } from "../../../kernel/index.ts";

/** A provider's chat answer before the gateway changes it. */
export interface ProviderAnswer {
  readonly text: string;
  /** Reasoning that the provider returns apart from the text. */
  readonly thinking: string;
  readonly finish: string | undefined;
  /** The model ids that the answer reports, in order; a stream may report one in every event. */
  readonly models: readonly string[];
  readonly usage: Fields | undefined;
  readonly calls: readonly ProviderCall[];
  /** How the answer breaks the format of its wire. */
  readonly flaws: readonly string[];
}

export interface ProviderCall {
  /** Empty if the provider sent no id. The result of a call without an id cannot be sent back. */
  readonly id: string;
  readonly name: string;
  readonly argumentsText: string;
}

export type Fields = Readonly<Record<string, unknown>>;

export interface ProviderEvent {
  readonly name: string;
  readonly text: string;
  readonly json: Fields | undefined;
}

export function objectsIn(value: unknown): readonly Fields[] {
  if (!Array.isArray(value)) return [];
  return value.map(asObject).filter((each) => each !== undefined);
}

/** Reads the members that both wires name alike; each wire has `finish` in another place. */
export function readCommonMembers(
  json: Fields | undefined,
  finish: unknown,
): Pick<ProviderAnswer, "finish" | "models" | "usage"> {
  const model = textOf(json?.["model"]);
  return {
    finish: asText(finish),
    models: model === "" ? [] : [model],
    usage: asObject(json?.["usage"]),
  };
}

export function turnMessages({ text, history = [] }: ChatQuestion): readonly object[] {
  const earlier = history.flatMap(({ asked, answered }) => [
    { role: "user", content: asked },
    { role: "assistant", content: answered },
  ]);
  return [...earlier, { role: "user", content: text }];
}

export interface ChatQuestion {
  readonly text: string;
  readonly maxTokens: number;
  readonly stream?: boolean;
  readonly system?: string;
  /** Earlier turns, oldest first. */
  readonly history?: readonly { readonly asked: string; readonly answered: string }[];
  readonly stops?: readonly string[];
  readonly tools?: QuestionTools;
  readonly schema?: object;
}

export interface QuestionTools {
  readonly of: readonly QuestionTool[];
  /** Absent: the model chooses. `required` means a call of any tool. */
  readonly choice?: "none" | "required" | { readonly name: string };
  readonly isSingle?: boolean;
  /** The result of a call of the first tool; the provider is asked to continue after it. */
  readonly result?: string;
}

export interface QuestionTool {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
  /** The arguments of the call in the history, if the tool's result is sent. */
  readonly given: object;
}

/** Questions a provider and reads its unchanged answers, for conformance checks and surveys. */
export interface ProviderQuestions {
  /** The body has no `model`. */
  writeBody(question: ChatQuestion): Readonly<Record<string, unknown>>;
  readWhole(json: Fields | undefined): ProviderAnswer;
  readStream(events: readonly ProviderEvent[]): ProviderAnswer;
  /** `stopped`: the answer ended by itself or at a stop sequence. `cut`: it reached its bound. */
  readonly finishes: { readonly stopped: readonly string[]; readonly cut: readonly string[] };
}

/** The part of a wire profile that changes how the provider's answers are read. */
export interface AnswerReading {
  /** `reasoning`: the provider's total exceeds prompt plus completion by the reasoning tokens. */
  readonly usageGap?: "reasoning";
  readonly toolSignature?: "gemini";
}
