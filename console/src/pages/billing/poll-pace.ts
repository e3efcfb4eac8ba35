/**
 * How long to wait before the purchase is asked for again, after so many answers; undefined when
 * it is time to stop. Most payments are reported within seconds; a bank may take minutes, and a
 * page that was left open must not ask endlessly. In total: about a quarter of an hour.
 */
export function pollAfterMs(answers: number): number | undefined {
  return PACES.find(({ until }) => answers < until)?.everyMs;
}

const PACES = [
  { until: 30, everyMs: 2_000 },
  { until: 60, everyMs: 5_000 },
  { until: 100, everyMs: 15_000 },
] as const;
