import type { Logger } from "../../src/kernel/core/log.ts";

/** For tests that provoke faults: what they log is expected. */
export const silentLog: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
