/**
 * The wait before the purchase is polled again, by the number of answers so far; undefined when
 * polling ends. Most payments are reported within seconds; a bank may take minutes, and a page that
 * stays open must not poll forever. The total is about a quarter of an hour.
 */
export function pollAfterMs(answers: number): number | undefined {
  return PACES.find(({ until }) => answers < until)?.everyMs;
}

const PACES = [
  { until: 30, everyMs: 2_000 },
  { until: 60, everyMs: 5_000 },
  { until: 100, everyMs: 15_000 },
] as const;
