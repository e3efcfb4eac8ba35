import type { Usage } from "../core/usage.ts";

export interface UsageColumns {
  readonly prompt: bigint | null;
  readonly cached_prompt: bigint | null;
  readonly cache_write: bigint | null;
  readonly completion: bigint | null;
  readonly internal_reasoning: bigint | null;
}
/** Null when nothing was observed. */
export function usageOf(row: UsageColumns): Usage | null {
  if (row.prompt === null) return null;
  return {
    prompt: Number(row.prompt),
    cachedPrompt: Number(row.cached_prompt),
    cacheWrite: Number(row.cache_write),
    completion: Number(row.completion),
    internalReasoning: Number(row.internal_reasoning),
  };
}
/** The wall-clock milliseconds in a request id: a UUID of version 7 begins with them. */
export function createdAtOf(requestId: string): number {
  return Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16);
}
/** The lowest id a request of this instant can have. */
export function requestIdFrom(atMs: number): string {
  const hex = Math.max(0, Math.trunc(atMs)).toString(16).padStart(12, "0").slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
