/** A file that a message carries: it stays in this browser and goes to the model with the message. */
export interface Attachment {
  readonly kind: "image" | "file" | "audio";
  readonly name: string;
  readonly dataUrl: string;
}

/** A call of a tool that a model asks for. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

/** A person's text that stands for the result of a tool. */
export interface ToolResult {
  readonly callId: string;
  readonly content: string;
}

export interface ChatAnswer {
  readonly modelId: string;
  /** The attempt that this answer belongs to: late events of an earlier one are dropped. */
  readonly attemptId?: string;
  readonly text: string;
  readonly reasoning: string;
  readonly state: "waiting" | "streaming" | "done" | "stopped" | "ended_early" | "refused";
  readonly errorType?: string;
  readonly message?: string;
  readonly requestId?: string;
  readonly provider?: string;
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  /** Decimal dollars. */
  readonly costUsd?: string;
  readonly firstByteMs?: number;
  readonly durationMs?: number;
  /** It was cut off by its token bound. */
  readonly isCutOff?: boolean;
  readonly toolCalls?: readonly ToolCall[];
  /** A person has changed its text. */
  readonly isEdited?: boolean;
}

/** One message of the person, or results of tools, and what every model said to it. */
export interface Turn {
  readonly id: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly answers: readonly ChatAnswer[];
  /** In place of a message: by model, the results of the calls in its answer before. */
  readonly toolResults?: Readonly<Record<string, readonly ToolResult[]>>;
}

/** The values of the parameters; an absent one is the provider's own default. */
export type ParameterValues = Readonly<Record<string, string | number | boolean>>;

/** Which providers serve a request: the `provider` object of its body. */
export interface Routing {
  readonly order?: readonly string[];
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  /** True: the first provider that serves, or none. */
  readonly isFirstOnly?: boolean;
  /** True: only providers that take every parameter of the request. */
  readonly isStrict?: boolean;
}

/** The request's settings besides the messages; an absent one is not sent. */
export interface ChatSettings {
  readonly modelIds: readonly string[];
  readonly system: string;
  readonly parameters: ParameterValues;
  /** By model: what differs from `parameters` for it. */
  readonly own?: Readonly<Record<string, ParameterValues>>;
  /** A JSON list of tools, as it was typed. */
  readonly tools?: string;
  /** A JSON schema that answers follow, as it was typed. */
  readonly schema?: string;
  readonly isReasoningOff?: boolean;
  readonly routing?: Routing;
}

export interface Conversation {
  readonly id: string;
  readonly orgId: string;
  readonly title: string;
  readonly updatedAtMs: number;
  readonly settings: ChatSettings;
  readonly turns: readonly Turn[];
}
