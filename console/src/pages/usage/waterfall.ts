import type { Attempt, RequestRow } from "../../api/contract.ts";

/** An attempt on a request's time line. `from` and `width` are shares of the line, from 0 to 1. */
export interface WaterfallBar {
  readonly n: number;
  readonly provider: string;
  /** Milliseconds after the start of the first attempt. */
  readonly fromMs: number;
  /** Null if the attempt has not ended. */
  readonly durationMs: number | null;
  readonly firstTokenMs: number | null;
  readonly isServed: boolean;
  readonly from: number;
  readonly width: number;
  /** Share of the bar, from 0 to 1, at which the first token arrived. Null if none has arrived. */
  readonly firstToken: number | null;
}

/** Length of a running attempt's bar, as a share of the time of the ended attempts. */
const RUNNING_SHARE = 0.25;

/**
 * Places the attempts one after the other, because the duration of a request is the sum of theirs.
 * Start times come from the wall clock and include the gateway's work between attempts, so a bar
 * placed by its start time could end after its request.
 */
export function buildWaterfall(
  { duration_ms }: Pick<RequestRow, "duration_ms">,
  attempts: readonly Attempt[],
): readonly WaterfallBar[] {
  const starts = attempts.map((_, at) =>
    attempts.slice(0, at).reduce((sum, before) => sum + (before.duration_ms ?? 0), 0),
  );
  const overMs = attempts.reduce((sum, each) => sum + (each.duration_ms ?? 0), 0);
  const isRunning = attempts.some((each) => each.duration_ms === null);
  const knownMs = Math.max(1, duration_ms ?? 0, overMs);
  const wholeMs = isRunning ? knownMs * (1 + RUNNING_SHARE) : knownMs;
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
