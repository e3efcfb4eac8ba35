/**
 * Milliseconds until the purchase is polled again, after `answers` polls. Most payments are
 * reported within seconds, a bank may take minutes, and after a quarter of an hour polling ends.
 */
export function pollAfterMs(answers: number): number | undefined {
  return PACES.find(({ until }) => answers < until)?.everyMs;
}

const PACES = [
  { until: 30, everyMs: 2_000 },
  { until: 60, everyMs: 5_000 },
  { until: 100, everyMs: 15_000 },
] as const;
