import type { UpstreamFailure } from "../failure/failures.ts";

/** Why a model stopped, in neutral terms. */
export type FinishReason = "stop" | "stop_sequence" | "length" | "tool_calls" | "refusal";

/**
 * One step of a streamed answer, in neutral terms. Decoders produce steps from a provider's bytes,
 * encoders write a client's bytes for them. Calls are numbered from 0 in the order in which they
 * appear; fragments of several calls may interleave.
 */
export type ChatEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "refusal"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | {
      readonly type: "tool_start";
      readonly call: number;
      /** Empty when the provider gave none. */
      readonly id: string;
      readonly name: string;
    }
  | { readonly type: "tool_arguments"; readonly call: number; readonly json: string }
  | { readonly type: "tool_end"; readonly call: number }
  | { readonly type: "finish"; readonly reason: FinishReason; readonly stopSequence?: string }
  | { readonly type: "end" }
  | { readonly type: "failure"; readonly failure: UpstreamFailure };

/**
 * The finish reason for the client. An answer with a tool call finishes with `tool_calls`, unless
 * it was cut or refused. An answer without one never does, because the client would wait for a
 * call.
 */
export function settledFinish(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason === "length" || reason === "refusal") return reason;
  if (hasCalls) return "tool_calls";
  return reason === "tool_calls" ? "stop" : reason;
}
