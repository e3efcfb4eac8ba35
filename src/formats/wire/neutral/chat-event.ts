import type { UpstreamFailure } from "../failure/failures.ts";

export type FinishReason = "stop" | "stop_sequence" | "length" | "tool_calls" | "refusal";

/**
 * An event of a stream in terms that both wires share. Calls are numbered from 0 as they appear;
 * fragments of several calls may interleave.
 */
export type ChatEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "refusal"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | {
      readonly type: "tool_start";
      readonly call: number;
      /** The provider's id of the call; empty if the provider gave none. */
      readonly id: string;
      readonly name: string;
    }
  | { readonly type: "tool_arguments"; readonly call: number; readonly json: string }
  | { readonly type: "tool_end"; readonly call: number }
  | { readonly type: "finish"; readonly reason: FinishReason; readonly stopSequence?: string }
  | { readonly type: "end" }
  | { readonly type: "failure"; readonly failure: UpstreamFailure };

export type Emit = (event: ChatEvent) => void;

/**
 * An answer with a call finishes with `tool_calls`, unless it was cut or refused. An answer without
 * calls never does: the client would wait for a call.
 */
export function settledFinish(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason === "length" || reason === "refusal") return reason;
  if (hasCalls) return "tool_calls";
  return reason === "tool_calls" ? "stop" : reason;
}
