import type { Logger } from "../../src/kernel/core/log.ts";

/** A log for tests that provoke faults, whose log lines are expected. */
export const silentLog: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
