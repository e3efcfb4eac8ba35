/** A file attached to a message; stored in this browser and sent to the model with the message. */
export interface Attachment {
  readonly kind: "image" | "file" | "audio";
  readonly name: string;
  readonly dataUrl: string;
}

/** A tool call in a model's answer. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

/** The result of a tool call, typed by the reader. */
export interface ToolResult {
  readonly callId: string;
  readonly content: string;
}

export interface ChatAnswer {
  readonly modelId: string;
  /** Identifies the attempt, so that late events of an earlier attempt can be dropped. */
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
  /** True if the answer was cut off at the output limit. */
  readonly isCutOff?: boolean;
  readonly toolCalls?: readonly ToolCall[];
  /** True if the reader edited the text. */
  readonly isEdited?: boolean;
}

/** One turn: the user's message or the results of tools, with the answer of each model. */
export interface Turn {
  readonly id: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly answers: readonly ChatAnswer[];
  /** Instead of a message: by model id, the results of the tool calls in its previous answer. */
  readonly toolResults?: Readonly<Record<string, readonly ToolResult[]>>;
}

/** The values of parameters; an absent one means the provider's default. */
export type ParameterValues = Readonly<Record<string, string | number | boolean>>;

/** Which providers serve a request: the `provider` object of its body. */
export interface Routing {
  readonly order?: readonly string[];
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  /** True: no fallback to other providers. */
  readonly isFirstOnly?: boolean;
  /** True: only providers that accept every parameter of the request. */
  readonly isStrict?: boolean;
}

/** The settings of a conversation; absent ones are not sent. */
export interface ChatSettings {
  readonly modelIds: readonly string[];
  readonly system: string;
  readonly parameters: ParameterValues;
  /** By model id: values that override `parameters`. */
  readonly own?: Readonly<Record<string, ParameterValues>>;
  /** A JSON list of tools as typed. */
  readonly tools?: string;
  /** A JSON schema for the answers as typed. */
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
