import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { Clock } from "../../kernel/core/time.ts";
import { type CooldownNotice, HealthExchange, type SharedHealth } from "./shared-health.ts";

/** Cooldowns of other instances. If `isSlow`, a poll waits until the test calls its `answers`. */
class TestShared implements SharedHealth {
  readonly published: CooldownNotice[] = [];
  notices: readonly CooldownNotice[] = [];
  answers: ((notices: readonly CooldownNotice[]) => void)[] = [];
  polls = 0;
  isSlow = false;
  isBroken = false;

  publish(notice: CooldownNotice): void {
    this.published.push(notice);
  }

  read(): Promise<readonly CooldownNotice[]> {
    this.polls += 1;
    if (this.isBroken) return Promise.reject(new Error("broken"));
    if (!this.isSlow) return Promise.resolve(this.notices);
    return new Promise((resolve) => this.answers.push(resolve));
  }
}

describe("a shared cooldown", () => {
  const startMs = 1_000_000;
  const clock: Clock = { nowMs: () => 0, monotonicMs: () => startMs + Date.now() };
  const reported: (readonly [string, string, number])[] = [];
  const learnerOf = (kind: string) => ({
    learn: (id: string, forMs: number): void => void reported.push([kind, id, forMs]),
  });
  const learners = { circuit: learnerOf("circuit"), pool: learnerOf("pool") };
  let shared: TestShared;
  let exchange: HealthExchange;
  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
    reported.length = 0;
    shared = new TestShared();
    exchange = new HealthExchange({ shared, clock });
  });
  afterEach(() => {
    exchange.close();
    vi.useRealTimers();
  });

  test("is read once a second and passed to the receiver of its kind", async () => {
    shared.notices = [
      { kind: "circuit", id: "d", forMs: 4_000 },
      { kind: "pool", id: "p", forMs: 9_000 },
    ];
    exchange.listen(learners);
    await vi.advanceTimersByTimeAsync(999);
    expect(reported).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(reported).toEqual([
      ["circuit", "d", 4_000],
      ["pool", "p", 9_000],
    ]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(shared.polls).toBe(4);
  });

  test("is read by one poll at a time, and a slow answer does not prolong the cooldown", async () => {
    shared.isSlow = true;
    exchange.listen(learners);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(shared.polls).toBe(1);
    shared.answers[0]?.([
      { kind: "pool", id: "over", forMs: 3_000 },
      { kind: "pool", id: "p", forMs: 5_000 },
    ]);
    await vi.advanceTimersByTimeAsync(0);
    expect(reported).toEqual([["pool", "p", 2_000]]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(shared.polls).toBe(2);
  });

  test("is read again after a poll that never ended, and after one that failed", async () => {
    shared.isSlow = true;
    exchange.listen(learners);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(shared.polls).toBe(2);
    shared.answers[0]?.([{ kind: "pool", id: "given up", forMs: 60_000 }]);
    shared.answers[1]?.([{ kind: "pool", id: "p", forMs: 60_000 }]);
    await vi.advanceTimersByTimeAsync(0);
    expect(reported.map(([, id]) => id)).toEqual(["p"]);
    shared.isBroken = true;
    await vi.advanceTimersByTimeAsync(1_000);
    shared.isBroken = false;
    shared.isSlow = false;
    shared.notices = [{ kind: "pool", id: "q", forMs: 1_000 }];
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reported.map(([, id]) => id)).toEqual(["p", "q"]);
  });

  test("has no effect after the close, not even from a running poll", async () => {
    shared.isSlow = true;
    exchange.listen(learners);
    await vi.advanceTimersByTimeAsync(1_000);
    exchange.close();
    shared.answers[0]?.([{ kind: "pool", id: "p", forMs: 60_000 }]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(reported).toEqual([]);
    expect(shared.polls).toBe(1);
  });
});
