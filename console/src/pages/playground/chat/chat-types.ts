/** A file that a message carries: it stays in this browser and goes to the model with the message. */
export interface Attachment {
  readonly kind: "image" | "file" | "audio";
  readonly name: string;
  readonly dataUrl: string;
}

export interface ChatAnswer {
  readonly modelId: string;
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
}

/** One message of the person and what every model said to it. */
export interface Turn {
  readonly id: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly answers: readonly ChatAnswer[];
}

/** What a parameter was set to; absent: the provider's own default. */
export type ParameterValues = Readonly<Record<string, string | number | boolean>>;

export interface ChatSettings {
  readonly modelIds: readonly string[];
  readonly system: string;
  readonly parameters: ParameterValues;
}

export interface Conversation {
  readonly id: string;
  readonly orgId: string;
  readonly title: string;
  readonly updatedAtMs: number;
  readonly settings: ChatSettings;
  readonly turns: readonly Turn[];
}
