import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  HEALTHY,
  nextCircuitState,
  permission,
  withProbe,
  type CircuitState,
  type HealthOutcome,
} from "./circuit.ts";

const EVEN = 0.5;

/* Each letter is an outcome, one a second unless spaced: s, x = strike, t, n, a. */
const LETTERS: Readonly<Record<string, HealthOutcome>> = {
  s: "success",
  x: "strike",
  t: "timeout",
  n: "neutral",
  a: "aborted",
};

function play(script: string, state: CircuitState = HEALTHY, stepMs = 100): CircuitState {
  let nowMs = 0;
  let current = state;
  for (const letter of script) {
    nowMs += stepMs;
    const outcome = LETTERS[letter];
    if (outcome !== undefined) current = nextCircuitState(current, outcome, nowMs, EVEN);
  }
  return current;
}

describe("a closed circuit", () => {
  test.each([
    ["xx", "closed", "two strikes are not enough"],
    ["xxx", "open", "three strikes in a row"],
    ["xxsx", "closed", "a success ends the row"],
    ["xxnx", "open", "neutral outcomes neither end the row"],
    ["xxax", "open", "nor do clients that leave"],
    ["sxsxsxsxsx", "open", "five strikes and half of the outcomes"],
    ["ssssssxxsxxsx", "closed", "five strikes but less than half"],
    ["nnnnnnnnnnaaaaaaaaaa", "closed", "neutral outcomes alone"],
    ["tttttttttttttttttttt", "closed", "timeouts alone, however many"],
    ["sxtt", "closed", "a strike and two timeouts are two strikes' worth"],
    ["sxtttt", "open", "timeouts open together with a real strike"],
    ["ttttttttx", "open", "a strike after many timeouts"],
  ])("%s: %s (%s)", (script, phase) => {
    expect(play(script).phase).toBe(phase);
  });

  test("strikes are forgotten after thirty seconds", () => {
    const old = play("xx");
    const closed = nextCircuitState(old, "strike", 31_000, EVEN);
    expect(closed.phase).toBe("closed");
    expect(nextCircuitState(old, "strike", 29_000, EVEN).phase).toBe("open");
  });

  test("keeps at most thirty seconds of outcomes", () => {
    const state = play("s".repeat(5_000));
    expect(state.phase === "closed" && state.buckets.length).toBeLessThanOrEqual(30);
  });
});

describe("an open circuit", () => {
  const open = play("xxx");
  const openedAtMs = 300;

  test("cools for five seconds, spread by twenty percent", () => {
    const of = (random: number) => {
      const state = nextCircuitState(play("xx"), "strike", openedAtMs, random);
      return state.phase === "open" ? state.untilMs - openedAtMs : undefined;
    };
    expect(of(0)).toBe(4_000);
    expect(of(0.5)).toBe(5_000);
    expect(of(0.999)).toBeCloseTo(5_998);
  });

  test("lets nothing through while it cools, then one probe", () => {
    expect(permission(open, openedAtMs + 4_999)).toBe("no");
    expect(permission(open, openedAtMs + 5_000)).toBe("probe");
    const probing = withProbe(open, 6_000, 20_000);
    expect(permission(probing, 6_001)).toBe("no");
    expect(permission(probing, 25_999)).toBe("no");
    expect(permission(probing, 26_000)).toBe("probe");
  });

  test("closes after two successful probes, with a clean slate", () => {
    const once = nextCircuitState(withProbe(open, 6_000, 20_000), "success", 6_100, EVEN);
    expect(permission(once, 6_100)).toBe("probe");
    expect(nextCircuitState(once, "success", 6_200, EVEN)).toBe(HEALTHY);
  });

  test("a probe without a verdict frees the place and changes nothing else", () => {
    const after = nextCircuitState(withProbe(open, 6_000, 20_000), "neutral", 6_100, EVEN);
    expect(after).toEqual(open);
  });

  test("doubles up to a minute while probes fail", () => {
    const cools: number[] = [];
    let state: CircuitState = open;
    let nowMs = openedAtMs;
    for (let round = 0; round < 6; round += 1) {
      nowMs += 200_000;
      state = nextCircuitState(state, round % 2 === 0 ? "strike" : "timeout", nowMs, EVEN);
      cools.push(state.phase === "open" ? state.untilMs - nowMs : 0);
    }
    expect(cools).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });

  test("requests that were under way when it opened do not change it", () => {
    for (const outcome of ["success", "strike", "timeout"] as const) {
      expect(nextCircuitState(open, outcome, openedAtMs + 1_000, EVEN)).toBe(open);
    }
  });
});

test("without a single strike no history opens a circuit", () => {
  const harmless = fc.constantFrom<HealthOutcome>("success", "timeout", "neutral", "aborted");
  const history = fc.array(fc.tuple(harmless, fc.integer({ min: 0, max: 40_000 })));
  fc.assert(
    fc.property(history, (steps) => {
      let state: CircuitState = HEALTHY;
      let nowMs = 0;
      for (const [outcome, waitMs] of steps) {
        nowMs += waitMs;
        state = nextCircuitState(state, outcome, nowMs, EVEN);
      }
      expect(permission(state, nowMs)).toBe("yes");
    }),
  );
});
