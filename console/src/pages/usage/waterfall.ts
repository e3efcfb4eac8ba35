import type { Attempt, RequestRow } from "../../../../src/console-api/contract.ts";

/** One attempt on the time line of its request; shares are of the whole line, 0 to 1. */
export interface WaterfallBar {
  readonly n: number;
  readonly provider: string;
  /** After the request was accepted. */
  readonly fromMs: number;
  /** Null: it has not ended. */
  readonly durationMs: number | null;
  readonly firstTokenMs: number | null;
  readonly isServed: boolean;
  readonly from: number;
  readonly width: number;
  /** Where its first token came, of the bar. */
  readonly firstToken: number | null;
}

/** The attempts at a request beside each other in time, at full length to the last thing known. */
export function waterfallOf(
  { created_at, duration_ms }: Pick<RequestRow, "created_at" | "duration_ms">,
  attempts: readonly Attempt[],
): readonly WaterfallBar[] {
  const startMs = Date.parse(created_at);
  const starts = attempts.map(({ started_at }) => Math.max(0, Date.parse(started_at) - startMs));
  const ends = attempts.map((attempt, at) => (starts[at] ?? 0) + (attempt.duration_ms ?? 0));
  const wholeMs = Math.max(1, duration_ms ?? 0, ...starts, ...ends);
  return attempts.map((attempt, at) => {
    const { n, provider, duration_ms: durationMs, first_byte_ms: firstTokenMs } = attempt;
    const fromMs = starts[at] ?? 0;
    const lastMs = durationMs ?? wholeMs - fromMs;
    return {
      n,
      provider,
      fromMs,
      durationMs,
      firstTokenMs,
      isServed: attempt.outcome === "completed",
      from: fromMs / wholeMs,
      width: lastMs / wholeMs,
      firstToken: firstTokenMs === null || lastMs === 0 ? null : Math.min(1, firstTokenMs / lastMs),
    };
  });
}
