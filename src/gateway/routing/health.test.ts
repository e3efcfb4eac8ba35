import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HealthOutcome } from "./circuit.ts";
import { MemoryDeploymentHealth, type HealthOptions } from "./health.ts";

const even: HealthOptions = { random: () => 0.5 };

/** Its circuit opened at 1,000 and is half-open from 6,000 on. */
function struck(options: HealthOptions = even): MemoryDeploymentHealth {
  const health = new MemoryDeploymentHealth(options);
  for (let n = 0; n < 3; n += 1) health.report("sick", "strike", 1_000);
  return health;
}

describe("deployment health", () => {
  test("an unknown deployment may be tried", () => {
    const health = new MemoryDeploymentHealth();
    expect(health.mayTry("new", 0)).toBe("yes");
    expect(health.startProbe("new", 0)).toBe(true);
  });

  test("a sick deployment does not make its neighbour sick", () => {
    const health = struck();
    expect(health.mayTry("sick", 2_000)).toBe("no");
    expect(health.mayTry("well", 2_000)).toBe("yes");
  });

  test("asking takes no probe, starting takes the only one", () => {
    const health = struck();
    expect(health.startProbe("sick", 2_000)).toBe(false);
    expect(health.mayTry("sick", 6_000)).toBe("probe");
    expect(health.mayTry("sick", 6_000)).toBe("probe");
    expect(health.startProbe("sick", 6_000)).toBe(true);
    expect(health.startProbe("sick", 6_000)).toBe(false);
    expect(health.mayTry("sick", 6_000)).toBe("no");
  });

  test("two good probes bring it back", () => {
    const health = struck();
    for (let n = 0; n < 2; n += 1) {
      expect(health.startProbe("sick", 6_000 + n)).toBe(true);
      health.report("sick", "success", 6_000 + n);
    }
    expect(health.mayTry("sick", 6_002)).toBe("yes");
  });

  test("a probe that never reports holds the circuit for its lease only", () => {
    const health = struck();
    health.startProbe("sick", 6_000);
    expect(health.mayTry("sick", 25_999)).toBe("no");
    expect(health.mayTry("sick", 26_000)).toBe("probe");
  });

  test("a probe that was not sent after all leaves its place to the next", () => {
    const health = struck();
    health.startProbe("sick", 6_000);
    health.report("sick", "aborted", 6_001, 6_000);
    expect(health.startProbe("sick", 6_002)).toBe(true);
  });

  test("a request from before it opened neither closes it nor takes the probe's place away", () => {
    const health = struck();
    health.startProbe("sick", 6_000);
    for (const outcome of ["aborted", "success", "success", "strike"] as const) {
      health.report("sick", outcome, 7_000, 900);
    }
    expect(health.startProbe("sick", 7_000)).toBe(false);
    health.report("sick", "neutral", 8_000, 6_000);
    expect(health.startProbe("sick", 8_000)).toBe(true);
  });
});

test("whatever ends in between, a half-open circuit has at most one probe at a time", () => {
  const outcomes = fc.constantFrom<HealthOutcome>("strike", "strike", "neutral", "aborted");
  const aStep = fc.record({
    starts: fc.constantFrom(true, true, false),
    pick: fc.nat(),
    outcome: outcomes,
    waitMs: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 9_000 })),
  });
  fc.assert(
    fc.property(fc.array(aStep, { maxLength: 200, size: "max" }), (steps) => {
      let nowMs = 0;
      let openedMs = 0;
      const onOpened = (): void => void (openedMs = nowMs);
      const health = new MemoryDeploymentHealth({ ...even, onOpened });
      const running: { readonly startedMs: number; readonly isProbe: boolean }[] = [];
      const atOnce: number[] = [];
      for (const { starts, pick, outcome, waitMs } of steps) {
        nowMs += waitMs;
        const isProbe = health.mayTry("one", nowMs) === "probe";
        if (starts && health.startProbe("one", nowMs)) {
          running.push({ startedMs: nowMs, isProbe });
          const since = Math.max(openedMs, nowMs - 20_000);
          atOnce.push(running.filter((each) => each.isProbe && each.startedMs > since).length);
        }
        const [ended] = starts ? [] : running.splice(pick % Math.max(1, running.length), 1);
        if (ended !== undefined) health.report("one", outcome, nowMs, ended.startedMs);
      }
      expect(Math.max(0, ...atOnce)).toBeLessThanOrEqual(1);
    }),
  );
});

describe("the other instances", () => {
  test("are notified of every opening, and for how long", () => {
    const reported: (readonly [string, number])[] = [];
    const health = struck({ ...even, onOpened: (id, forMs) => reported.push([id, forMs]) });
    expect(reported).toEqual([["sick", 5_000]]);
    health.report("sick", "strike", 2_000);
    health.startProbe("sick", 6_000);
    health.report("sick", "neutral", 6_100);
    health.startProbe("sick", 6_200);
    health.report("sick", "success", 6_300);
    expect(reported).toHaveLength(1);
    health.startProbe("sick", 7_000);
    health.report("sick", "strike", 7_100);
    expect(reported.slice(1)).toEqual([["sick", 10_000]]);
  });

  test("are applied, and what was received is not sent again", () => {
    const reported: string[] = [];
    const health = new MemoryDeploymentHealth({ onOpened: (id) => reported.push(id) });
    health.learn("far", 9_000, 1_000);
    expect(health.mayTry("far", 9_999)).toBe("no");
    expect(health.startProbe("far", 10_000)).toBe(true);
    expect(health.startProbe("far", 10_000)).toBe(false);
    expect(reported).toEqual([]);
  });
});

describe("memory", () => {
  test("of 40,000 deployments, each used once, only those of the last half minute or so are kept", () => {
    const health = new MemoryDeploymentHealth();
    const perSecond = 100;
    for (let n = 0; n < 40_000; n += 1) {
      health.report(`own-key ${n}`, "success", Math.floor(n / perSecond) * 1_000);
    }
    expect(health.circuitCount).toBeLessThan(perSecond * 30 * 2);
  });

  test("asking, starting and what says nothing of health keep nothing", () => {
    const health = new MemoryDeploymentHealth();
    for (let n = 0; n < 100; n += 1) {
      health.mayTry(`id ${n}`, 0);
      health.startProbe(`id ${n}`, 0);
      health.report(`id ${n}`, n % 2 === 0 ? "aborted" : "neutral", 0);
    }
    expect(health.circuitCount).toBe(0);
  });

  test("an open circuit is kept until long after its cooldown", () => {
    const health = struck();
    for (let n = 0; n < 500; n += 1) health.report(`id ${n}`, "success", n * 1_000);
    expect(health.mayTry("sick", 500_000)).toBe("probe");
    for (let n = 0; n < 500; n += 1) health.report(`id ${n}`, "success", 700_000 + n * 1_000);
    expect(health.mayTry("sick", 1_200_000)).toBe("yes");
  });
});
