import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  afterNotice,
  type CircuitState,
  type HealthOptions,
  type HealthOutcome,
  HEALTHY,
  MemoryDeploymentHealth,
  nextCircuitState,
  permission,
  withProbe,
} from "./health.ts";

const even: HealthOptions = { random: () => 0.5 };

/** Opens the circuit of `sick` at 1,000 ms, so that it is half-open from 6,000 ms on. */
function struck(options: HealthOptions = even): MemoryDeploymentHealth {
  const health = new MemoryDeploymentHealth(options);
  for (let n = 0; n < 3; n += 1) health.report("sick", "strike", 1_000);
  return health;
}

describe("deployment health", () => {
  test("strikes of one deployment do not open the circuit of another deployment", () => {
    const health = struck();
    expect(health.mayTry("sick", 2_000)).toBe("no");
    expect(health.mayTry("well", 2_000)).toBe("yes");
  });

  test("mayTry reserves no probe, and startProbe reserves the only one", () => {
    const health = struck();
    expect(health.startProbe("sick", 2_000)).toBe(false);
    expect(health.mayTry("sick", 6_000)).toBe("probe");
    expect(health.mayTry("sick", 6_000)).toBe("probe");
    expect(health.startProbe("sick", 6_000)).toBe(true);
    expect(health.startProbe("sick", 6_000)).toBe(false);
    expect(health.mayTry("sick", 6_000)).toBe("no");
  });

  test("a probe that never reports blocks the next probe only until its lease ends", () => {
    const health = struck();
    health.startProbe("sick", 6_000);
    expect(health.mayTry("sick", 25_999)).toBe("no");
    expect(health.mayTry("sick", 26_000)).toBe("probe");
  });

  test("a request from before the circuit opened neither closes the circuit nor frees its probe", () => {
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

describe("notices between instances", () => {
  test("are sent at every opening of a circuit, with the length of its cooldown", () => {
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

  test("are applied when they are received, and not sent again", () => {
    const reported: string[] = [];
    const health = new MemoryDeploymentHealth({ onOpened: (id) => reported.push(id) });
    health.learn("far", 9_000, 1_000);
    expect(health.mayTry("far", 9_999)).toBe("no");
    expect(health.startProbe("far", 10_000)).toBe(true);
    expect(health.startProbe("far", 10_000)).toBe(false);
    expect(reported).toEqual([]);
  });
});

describe("the memory of circuits", () => {
  test("keeps the circuits of the last minute, not all of 40,000 deployments that were used once", () => {
    const health = new MemoryDeploymentHealth();
    const perSecond = 100;
    for (let n = 0; n < 40_000; n += 1) {
      health.report(`own-key ${n}`, "success", Math.floor(n / perSecond) * 1_000);
    }
    expect(health.circuitCount).toBeLessThan(perSecond * 30 * 2);
  });

  test("keeps an open circuit until long after its cooldown", () => {
    const health = struck();
    for (let n = 0; n < 500; n += 1) health.report(`id ${n}`, "success", n * 1_000);
    expect(health.mayTry("sick", 500_000)).toBe("probe");
    for (let n = 0; n < 500; n += 1) health.report(`id ${n}`, "success", 700_000 + n * 1_000);
    expect(health.mayTry("sick", 1_200_000)).toBe("yes");
  });
});

const EVEN = 0.5;

/* The outcomes that `play` reads from a script, one letter for each `stepMs`. */
const LETTERS: Readonly<Record<string, HealthOutcome>> = {
  s: "success",
  x: "strike",
  t: "timeout",
  n: "neutral",
  a: "aborted",
};

/** Returns the circuit after an attempt that ended, and by default also started, at `nowMs`. */
function after(
  state: CircuitState,
  outcome: HealthOutcome,
  nowMs: number,
  { random = EVEN, startedMs = nowMs } = {},
): CircuitState {
  return nextCircuitState(state, { outcome, nowMs, startedMs }, random);
}

function play(script: string, state: CircuitState = HEALTHY, stepMs = 100): CircuitState {
  let nowMs = 0;
  let current = state;
  for (const letter of script) {
    nowMs += stepMs;
    const outcome = LETTERS[letter];
    if (outcome !== undefined) current = after(current, outcome, nowMs);
  }
  return current;
}

describe("a closed circuit", () => {
  test.each([
    ["xx", "closed", "two strikes are not enough"],
    ["xxx", "open", "three strikes in a row"],
    ["xxsx", "closed", "a success ends the row"],
    ["xxnx", "open", "neutral outcomes do not end the row"],
    ["xxax", "open", "clients that leave do not end the row"],
    ["sxsxsxsxsx", "open", "five strikes, half of all outcomes"],
    ["ssssssxxsxxsx", "closed", "five strikes, less than half of all outcomes"],
    ["nnnnnnnnnnaaaaaaaaaa", "closed", "neutral outcomes alone"],
    ["tttttttttttttttttttt", "closed", "timeouts alone, however many"],
    ["sxtt", "closed", "a strike and two timeouts count as two strikes"],
    ["sxtttt", "open", "a strike and four timeouts count as three strikes"],
    ["ttttttttx", "open", "a strike after many timeouts"],
  ])("after the outcomes %s is %s (%s)", (script, phase) => {
    expect(play(script).phase).toBe(phase);
  });

  test("drops strikes after thirty seconds", () => {
    const old = play("xx");
    const closed = after(old, "strike", 31_000);
    expect(closed.phase).toBe("closed");
    expect(after(old, "strike", 29_000).phase).toBe("open");
  });
});

describe("an open circuit", () => {
  const open = play("xxx");
  const openedAtMs = 300;

  test("cools for five seconds, spread by twenty percent", () => {
    const of = (random: number) => {
      const state = after(play("xx"), "strike", openedAtMs, { random });
      return state.phase === "open" ? state.untilMs - openedAtMs : undefined;
    };
    expect(of(0)).toBe(4_000);
    expect(of(0.5)).toBe(5_000);
    expect(of(0.999)).toBeCloseTo(5_998);
  });

  test("closes after two successful probes, with a clean slate", () => {
    const once = after(withProbe(open, 6_000, 20_000), "success", 6_100);
    expect(permission(once, 6_100)).toBe("probe");
    expect(after(once, "success", 6_200)).toBe(HEALTHY);
  });

  test("is unchanged by a neutral or aborted probe, after which the next probe may start", () => {
    for (const outcome of ["neutral", "aborted"] as const) {
      const freed = after(withProbe(open, 6_000, 20_000), outcome, 6_100);
      expect(freed).toEqual({ ...open, probeStartedMs: 6_000 });
    }
  });

  test("counts a probe that outlived its lease, without freeing the probe that replaced it", () => {
    const second = withProbe(withProbe(open, 6_000, 20_000), 26_000, 20_000);
    const isRemote = after(second, "success", 27_000, { startedMs: 6_000 });
    expect(permission(isRemote, 27_001)).toBe("no");
    expect(after(isRemote, "success", 28_000, { startedMs: 26_000 })).toBe(HEALTHY);
    expect(after(second, "strike", 27_000, { startedMs: 6_000 })).toMatchObject({
      untilMs: 27_000 + 10_000,
    });
  });

  test("doubles its cooldown up to a minute while probes fail", () => {
    const cools: number[] = [];
    let state: CircuitState = open;
    let nowMs = openedAtMs;
    for (let round = 0; round < 6; round += 1) {
      nowMs += 200_000;
      state = after(state, round % 2 === 0 ? "strike" : "timeout", nowMs);
      cools.push(state.phase === "open" ? state.untilMs - nowMs : 0);
    }
    expect(cools).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });

  test("is not changed by attempts that end during its cooldown", () => {
    for (const outcome of ["success", "strike", "timeout"] as const) {
      expect(after(open, outcome, openedAtMs + 1_000)).toBe(open);
    }
  });
});

describe("another instance's notice", () => {
  const reported = afterNotice(play("ss"), 8_000, 1_000);

  test("lasts at most as long as the longest cooldown, and has no effect with no time left", () => {
    expect(permission(afterNotice(HEALTHY, 1e9, 1_000), 1_000 + 72_000)).toBe("probe");
    expect(afterNotice(HEALTHY, 0, 1_000)).toBe(HEALTHY);
  });

  test("lengthens a cooldown once, and never shortens it", () => {
    const open = play("xxx");
    expect(afterNotice(open, 4_000, 1_000)).toBe(open);
    const longer = afterNotice(open, 30_000, 1_000);
    expect(permission(longer, 30_999)).toBe("no");
    expect(afterNotice(longer, 60_000, 2_000)).toBe(longer);
    const probed = after(withProbe(longer, 31_000, 20_000), "strike", 31_100);
    expect(probed).toMatchObject({ untilMs: 31_100 + 10_000 });
    expect(permission(afterNotice(probed, 30_000, 32_000), 61_999)).toBe("no");
  });

  test("is ignored while this instance probes the circuit itself", () => {
    const probing = withProbe(reported, 9_000, 20_000);
    expect(afterNotice(probing, 60_000, 9_500)).toBe(probing);
    const once = after(probing, "success", 10_000);
    expect(afterNotice(once, 60_000, 10_500)).toBe(once);
    const opened = withProbe(play("xxx"), 6_000, 20_000);
    expect(afterNotice(opened, 60_000, 6_500)).toBe(opened);
  });

  test("that this instance's probes disproved is ignored while its attempts keep succeeding", () => {
    let well = after(after(reported, "success", 9_000), "success", 9_100);
    for (let nowMs = 10_000; nowMs < 5_000_000; nowMs += 500_000) {
      expect(afterNotice(well, 60_000, nowMs)).toBe(well);
      well = after(well, "success", nowMs);
    }
    expect(permission(afterNotice(well, 60_000, 6_000_000), 6_000_000)).toBe("no");
  });
});

interface Happening {
  readonly what: HealthOutcome | "probe" | "notice";
  readonly waitMs: number;
  /** Milliseconds that a notice lasts, or that an ended attempt took. */
  readonly ms: number;
}

const OUTCOMES: readonly HealthOutcome[] = ["success", "strike", "strike", "timeout", "aborted"];

const aHappening: fc.Arbitrary<Happening> = fc.record({
  what: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<HealthOutcome>(...OUTCOMES) },
    { weight: 2, arbitrary: fc.constantFrom<"probe">("probe") },
    { weight: 1, arbitrary: fc.constantFrom<"notice">("notice") },
  ),
  waitMs: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 90_000 })),
  ms: fc.integer({ min: 0, max: 90_000 }),
});

test("no circuit stays open permanently: a healthy provider gets traffic after any history", () => {
  const histories = fc.array(aHappening, { maxLength: 60 });
  fc.assert(
    fc.property(histories, fc.integer({ min: 0, max: 3_000 }), (steps, tripMs) => {
      let state: CircuitState = HEALTHY;
      let nowMs = 0;
      for (const { what, waitMs, ms } of steps) {
        nowMs += waitMs;
        if (what === "notice") state = afterNotice(state, ms, nowMs);
        else if (what !== "probe") state = after(state, what, nowMs, { startedMs: nowMs - ms });
        else if (permission(state, nowMs) === "probe") state = withProbe(state, nowMs, 20_000);
      }
      // From here on every attempt succeeds, and another instance, which reaches no provider, sends
      // a notice every second.
      const wellMs = nowMs;
      const lately: string[] = [];
      for (; nowMs < wellMs + 300_000; nowMs += 1_000) {
        state = afterNotice(state, 72_000, nowMs);
        if (nowMs > wellMs + 200_000) lately.push(permission(state, nowMs));
        if (permission(state, nowMs) === "no") continue;
        state = withProbe(state, nowMs, 20_000);
        state = after(state, "success", nowMs + tripMs, { startedMs: nowMs });
        nowMs += tripMs;
      }
      expect(lately.length).toBeGreaterThan(10);
      expect(lately.filter((each) => each !== "yes")).toEqual([]);
    }),
  );
});
