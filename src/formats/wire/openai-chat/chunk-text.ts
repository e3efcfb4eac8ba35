import {
  type Refusal,
  type Usage,
  ZERO_USAGE,
  findElements,
  findPath,
  withMember,
} from "../../../kernel/index.ts";
import type { UsageReport } from "../neutral/usage-report.ts";
import { sseDataText } from "../sse/sse-writer.ts";
import { errorMessage } from "./error-body.ts";
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

/** The chunk or the whole answer with this member in its first choice. */
export function withChoiceMember(text: string, key: string, json: string): string {
  const choices = findPath(text, "choices");
  const choice = choices === undefined ? undefined : findElements(text, choices.start, 1)[0];
  return choice === undefined ? text : withMember(text, choice, { key, json });
}

/** The chunk without a choice that callers of `include_usage` get: usage and cost of the answer. */
export function usageChunkText(head: string, usage: string): string {
  return sseDataText(`${head}"choices":[],"usage":${usage}}`);
}

/**
 * The chunk with the finish reason and, once it is known, the usage of the whole answer. Clients
 * that did not ask for usage read `choices[0]` of every chunk, so there is none without a choice.
 */
export function lastChunk(head: string, finish: string | null, usage?: string): string {
  const choice = `{"index":0,"delta":{},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}`;
  return `${head}"choices":[${choice}]${usage === undefined ? "" : `,"usage":${usage}`}}`;
}

/** What is known of an answer that died, before its terminal error; nothing when nothing is. */
export function knownUsageText(
  head: string,
  { report, costUsd, wantsUsageChunk }: KnownUsage,
): string {
  if (report === undefined && !isSomeCost(costUsd)) return "";
  const usage = knownUsageJson(report?.usage, costUsd);
  return wantsUsageChunk ? usageChunkText(head, usage) : sseDataText(lastChunk(head, null, usage));
}

/** Attempts before the one that died may have been billed, though it reported nothing itself. */
export function isSomeCost(costUsd: string): boolean {
  return /[1-9]/.test(costUsd);
}

interface KnownUsage {
  readonly report: UsageReport | undefined;
  readonly costUsd: string;
  readonly wantsUsageChunk: boolean;
}

/** The one terminal error event; nothing may follow it. */
export function errorChunkText(head: string, refusal: Refusal): string {
  const error = JSON.stringify({
    code: refusal.class,
    message: errorMessage(refusal),
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
