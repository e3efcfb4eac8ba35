import type { LedgerLog } from "../../src/ledger/ledger-log.ts";

/** For tests that provoke faults: what they log is expected. */
export const silentLog: LedgerLog = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
