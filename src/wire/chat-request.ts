import type { WireId } from "../catalog/catalog.ts";
import type { ProviderControls } from "./fields/provider-controls.ts";
import type { CrossingNeeds } from "./neutral/crossing-notes.ts";
import type { MediaPart } from "./neutral/media-collector.ts";

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
  /**
   * What a translation to the other wire would refuse or drop; computed at the first call, then
   * kept.
   */
  crossing(): CrossingNeeds;
}
/** The caller's bound on output tokens, under whichever name, or the default. */
export interface OutputBound {
  readonly tokens: number;
  /** False when the caller named none and the default has to be written upstream. */
  readonly sent: boolean;
}
/** The names of a beta header, split into those that may go upstream and the others. */
export interface BetaNames {
  readonly kept: readonly string[];
  readonly others: readonly string[];
}
