import {
  Job,
  type Logger,
  USAGE_ROLLUP_EVERY_MS,
  USAGE_ROLLUP_PAUSE_MS,
} from "../../kernel/index.ts";

/** Sums up days that are over, so that long reports are quick. Reports are the same without it. */
export interface UsageRollup {
  /**
   * A bounded piece of what is due; false: nothing is left, or another process is at it. Ended
   * anywhere, it is simply done again.
   */
  rollSome(): Promise<boolean>;
}

/** Every process may run one; the store lets one of them work at a time. */
export function startUsageRollup(options: { readonly rollup: UsageRollup; readonly log: Logger }): {
  close(): Promise<void>;
} {
  const { rollup, log } = options;
  let pausesLeft = 0;
  const job = new Job(
    USAGE_ROLLUP_PAUSE_MS,
    async () => {
      pausesLeft -= 1;
      if (pausesLeft > 0) return;
      pausesLeft = USAGE_ROLLUP_EVERY_MS / USAGE_ROLLUP_PAUSE_MS;
      if (await rollup.rollSome()) pausesLeft = 0;
    },
    (err) => log.warn({ err }, "days of usage could not be summed up; this will be retried"),
  );
  job.start();
  return job;
}
