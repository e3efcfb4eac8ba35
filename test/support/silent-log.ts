import type { Logger } from "../../src/kernel/core/log.ts";

export const silentLog: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
