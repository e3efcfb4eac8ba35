import { expect, test } from "vitest";

import { LEDGER_QUEUE_AGE_MS } from "../core/index.ts";
import { RUNNER_TIMES } from "./migration-runner.ts";

test("requests behind a step that waits for a lock are served, not refused for their time in the queue", () => {
  expect(RUNNER_TIMES.firstLockTimeoutMs).toBeLessThanOrEqual(LEDGER_QUEUE_AGE_MS / 2);
});
