import type { UpstreamFailure } from "../failure/failures.ts";

/** Why a model stopped, in neutral terms. */
export type FinishReason = "stop" | "stop_sequence" | "length" | "tool_calls" | "refusal";

/**
 * One step of a streamed answer, in neutral terms. A decoder makes them of a provider's bytes,
 * an encoder makes a client's bytes of them. Calls are numbered from 0 in the order they appear;
 * fragments of several calls may interleave.
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
 * The reason a client gets: any tool call in the answer means `tool_calls`, unless the answer
 * was cut or refused; without one, `tool_calls` would send the client waiting for work.
 */
export function settledFinish(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason === "length" || reason === "refusal") return reason;
  if (hasCalls) return "tool_calls";
  return reason === "tool_calls" ? "stop" : reason;
}
