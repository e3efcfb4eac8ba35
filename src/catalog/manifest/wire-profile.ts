/** What a provider takes out of the history of a conversation, or wants in another form. */
export type HistoryRule =
  | "no-name"
  | "no-null"
  | "no-reasoning"
  | "no-strict"
  | "no-cache-control"
  | "text-only-content"
  | "system-for-developer";

/** How an endpoint differs from its wire: a closed vocabulary, each member with one effect. */
export interface ManifestWireProfile {
  readonly auth?: "bearer" | "x-api-key" | "api-key";
  readonly stream_usage?: "ask" | "always";
  readonly undeclared?: "forward" | "drop";
  readonly rename?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly history?: readonly HistoryRule[];
  readonly tool_signature?: "gemini";
  readonly usage_gap?: "reasoning";
  readonly non_stream_max?: number;
  readonly body?: Readonly<Record<string, unknown>>;
}
