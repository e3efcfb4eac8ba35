import { expect, onTestFinished, test, vi } from "vitest";
import { USAGE_ROLLUP_EVERY_MS, USAGE_ROLLUP_PAUSE_MS } from "../../kernel/core/constants.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import { startUsageRollup } from "./usage-rollup.ts";

test("due days are rolled up piece by piece, then checked every minute, even after a failure, until the job is closed", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const answers = [true, false, new Error("no database"), true];
  const warnings: string[] = [];
  const calledAtMs: number[] = [];
  const startMs = Date.now();
  const rollSome = async (): Promise<boolean> => {
    calledAtMs.push(Date.now() - startMs);
    const answer = answers[calledAtMs.length - 1] ?? false;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const log = { ...silentLog, warn: (_fields: object, said = "") => void warnings.push(said) };
  const rolling = startUsageRollup({ rollup: { rollSome }, log });
  const pause = USAGE_ROLLUP_PAUSE_MS;
  const every = USAGE_ROLLUP_EVERY_MS;
  await vi.advanceTimersByTimeAsync(2 * pause + 2 * every);
  expect(calledAtMs).toEqual([pause, 2 * pause, 2 * pause + every, 2 * pause + 2 * every]);
  expect(warnings).toHaveLength(1);
  await rolling.close();
  await vi.advanceTimersByTimeAsync(every);
  expect(calledAtMs).toHaveLength(4);
});
