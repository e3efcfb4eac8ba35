/** A file attached to a message. It is stored only in this browser, and sent to the model. */
export interface Attachment {
  readonly kind: "image" | "file" | "audio";
  readonly name: string;
  readonly dataUrl: string;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

export interface ToolResult {
  readonly callId: string;
  readonly content: string;
}

export interface ChatAnswer {
  readonly modelId: string;
  /** Identifies the attempt at this answer, so that late events of an earlier one are dropped. */
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
  readonly costUsd?: string;
  readonly firstByteMs?: number;
  readonly durationMs?: number;
  readonly isCutOff?: boolean;
  readonly toolCalls?: readonly ToolCall[];
  readonly isEdited?: boolean;
}

/** One turn: the user's message or the results of tools, and the answer of each model. */
export interface Turn {
  readonly id: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly answers: readonly ChatAnswer[];
  /** Sent instead of `text`. By model ID: results of the tool calls in that model's last answer. */
  readonly toolResults?: Readonly<Record<string, readonly ToolResult[]>>;
}

/** If a parameter is absent, the provider uses its default. */
export type ParameterValues = Readonly<Record<string, string | number | boolean>>;

/** Becomes the `provider` object of a request. */
export interface Routing {
  readonly order?: readonly string[];
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  /** If true, the gateway tries no other provider after the first one fails. */
  readonly isFirstOnly?: boolean;
  /** If true, the gateway uses only providers that accept every parameter of the request. */
  readonly isStrict?: boolean;
}

/** The settings of a conversation. An optional setting that is absent is not sent. */
export interface ChatSettings {
  readonly modelIds: readonly string[];
  readonly system: string;
  readonly parameters: ParameterValues;
  /** Values that override `parameters`, by model ID. */
  readonly own?: Readonly<Record<string, ParameterValues>>;
  readonly tools?: string;
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
  /** Random ID of a tab's copy. In a stored conversation, it is that of the copy stored last. */
  readonly copyId?: string;
  /** Random, new at each write. If the stored one differs, another tab has written since. */
  readonly revision?: string;
}
