import type { InputModality, WireId } from "../../catalog/catalog.ts";

export interface MediaPart {
  /** `messages[2].content[0]` (wire_a) or `messages.2.content.0` (wire_b). */
  readonly path: string;
  readonly kind: Exclude<InputModality, "text">;
}

/** The request-level `provider` object (specification, "What the service does", 10). */
export interface ProviderControls {
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly order?: readonly string[];
  readonly allowFallbacks: boolean;
  readonly requireParameters: boolean;
  /** Handed on to aggregator deployments as their own `provider` object. */
  readonly upstream?: Readonly<Record<string, unknown>>;
  readonly connections: "prefer" | "only" | "never";
}

/** What happens to the request's fields when it crosses to the other wire. */
export interface CrossingNeeds {
  /** Fields that cannot cross: the request is not servable there. Path first, then the sentence. */
  readonly refused: readonly { readonly field: string; readonly message: string }[];
  /** Fields without a counterpart: dropped and named in `x-tm-dropped-params`. */
  readonly dropped: readonly string[];
}

/**
 * A chat request read and checked at the door, whichever wire it came on. The body stays bytes;
 * what the gateway bills, routes or refuses on has been read from it.
 */
export interface ChatRequest {
  readonly wire: WireId;
  /** The client's body as it came. */
  readonly body: Buffer;
  readonly modelId: string;
  readonly stream: boolean;
  /** Did the caller of a wire_a stream ask for usage in a chunk of its own? */
  readonly wantsUsageChunk: boolean;
  /** Does the caller of a wire_a request know calls in their older form only? */
  readonly usesFunctions: boolean;
  /** Most output tokens: the caller's bound, or the default that is written upstream. */
  readonly outputTokens: number;
  /** Above 1 needs a deployment whose wire takes it. */
  readonly temperature?: number;
  readonly mediaParts: readonly MediaPart[];
  /** One per UTF-8 byte plus the media allowance (specification, "Worst-case reserve"). */
  readonly estimatedInputTokens: number;
  readonly controls: ProviderControls;
  /** Dropped on every route, same wire too: `route`, `models`, `transforms`. */
  readonly droppedParams: readonly string[];
  /** A guess at what a provider will count for the input: for display, never billed on. */
  countInputTokens(): number;
  /** What crossing to the other wire would refuse or drop; computed at the first call, then kept. */
  crossing(): CrossingNeeds;
}
