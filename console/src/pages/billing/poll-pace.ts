/**
 * Milliseconds until the purchase is polled again, after `answers` polls. Undefined ends the
 * polling, after about a quarter of an hour: most payments are reported within seconds and a bank
 * may take minutes, but an open page must not poll forever.
 */
export function pollAfterMs(answers: number): number | undefined {
  return PACES.find(({ until }) => answers < until)?.everyMs;
}

const PACES = [
  { until: 30, everyMs: 2_000 },
  { until: 60, everyMs: 5_000 },
  { until: 100, everyMs: 15_000 },
] as const;
