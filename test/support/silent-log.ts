import type { Logger } from "../../src/kernel/core/log.ts";

/** A log that drops every line, for tests that provoke faults. */
export const silentLog: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
