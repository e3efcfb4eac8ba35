import type { Refusal } from "../../core/refusals.ts";
import { type Usage, ZERO_USAGE } from "../../core/usage.ts";
import { sseDataText, sseDoneText } from "../sse/sse-writer.ts";
import { usageJson } from "./usage.ts";

/** What every chunk of one answer repeats. */
export interface ChunkLabel {
  readonly id: string;
  readonly createdSeconds: number;
  readonly modelId: string;
}

/** The members every chunk begins with, up to and including the comma before `choices`. */
export function chunkHead(label: ChunkLabel): string {
  return (
    `{"id":${JSON.stringify(label.id)},"object":"chat.completion.chunk",` +
    `"created":${label.createdSeconds},"model":${JSON.stringify(label.modelId)},`
  );
}

/** The chunk that carries the usage of the whole answer, cost included. */
export function usageChunkText(head: string, usage: string): string {
  return sseDataText(`${head}"choices":[],"usage":${usage}}`);
}

/** The last two events of a complete answer. */
export function closingText(head: string, usage: string): string {
  return usageChunkText(head, usage) + sseDoneText;
}

/** The one terminal error event; nothing may follow it. */
export function errorChunkText(head: string, refusal: Refusal): string {
  const error = JSON.stringify({
    code: refusal.class,
    message: refusal.message,
    // The specification fixes this word for every class.
    type: "gateway_error",
    metadata: { error_type: refusal.class },
  });
  const choice = `{"index":0,"delta":{"content":""},"finish_reason":"error"}`;
  return sseDataText(`${head}"choices":[${choice}],"error":${error}}`);
}

/** Usage for a closing chunk: zeros where the provider reported none. */
export function knownUsageJson(usage: Usage | undefined, costUsd: string): string {
  return usageJson(usage ?? ZERO_USAGE, costUsd);
}
