import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { USAGE_ROLLUP_EVERY_MS, USAGE_ROLLUP_PAUSE_MS } from "../../kernel/core/constants.ts";
import { startUsageRollup } from "./usage-rollup.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function scripted(answers: readonly (boolean | Error)[]) {
  const warnings: string[] = [];
  const calledAtMs: number[] = [];
  const startMs = Date.now();
  const rolling = startUsageRollup({
    rollup: {
      rollSome: () => {
        calledAtMs.push(Date.now() - startMs);
        const answer = answers[calledAtMs.length - 1] ?? false;
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    },
    log: {
      info: () => undefined,
      warn: (_fields, message) => warnings.push(message ?? ""),
      error: () => undefined,
    },
  });
  return { rolling, warnings, calledAtMs };
}

test("due days are rolled up piece by piece, then checked every minute, even after a failure", async () => {
  const { rolling, warnings, calledAtMs } = scripted([true, true, new Error("no database"), false]);
  await vi.advanceTimersByTimeAsync(3 * USAGE_ROLLUP_PAUSE_MS + USAGE_ROLLUP_EVERY_MS);
  const pause = USAGE_ROLLUP_PAUSE_MS;
  expect(calledAtMs).toEqual([pause, 2 * pause, 3 * pause, 3 * pause + USAGE_ROLLUP_EVERY_MS]);
  expect(warnings).toHaveLength(1);
  await rolling.close();
});

test("a closed rollup job starts no further work", async () => {
  const { rolling, calledAtMs } = scripted([true, true, true]);
  await vi.advanceTimersByTimeAsync(USAGE_ROLLUP_PAUSE_MS);
  await rolling.close();
  await vi.advanceTimersByTimeAsync(USAGE_ROLLUP_EVERY_MS);
  expect(calledAtMs).toHaveLength(1);
});
