import { type Logger, USAGE_ROLLUP_EVERY_MS, USAGE_ROLLUP_PAUSE_MS } from "../../kernel/index.ts";

/** Sums up days that are over, so that long reports are quick. Reports are the same without it. */
export interface UsageRollup {
  /**
   * A bounded piece of what is due; false: nothing is left, or another process is at it. Ended
   * anywhere, it is simply done again.
   */
  rollSome(): Promise<boolean>;
}

export interface UsageRollupOptions {
  readonly rollup: UsageRollup;
  readonly log: Logger;
}

/** Every process may run one: they take turns by themselves. */
export function startUsageRollup(options: UsageRollupOptions): { close(): Promise<void> } {
  const { rollup, log } = options;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const runAfter = (delayMs: number): void => {
    if (isClosed) return;
    timer = setTimeout(() => {
      running = run();
    }, delayMs).unref();
  };
  const run = async (): Promise<void> => {
    let hasMore = false;
    try {
      hasMore = await rollup.rollSome();
    } catch (error) {
      log.warn({ err: error }, "days of usage could not be summed up; this will be retried");
    }
    runAfter(hasMore ? USAGE_ROLLUP_PAUSE_MS : USAGE_ROLLUP_EVERY_MS);
  };
  let running: Promise<void> = Promise.resolve();
  runAfter(USAGE_ROLLUP_PAUSE_MS);
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
