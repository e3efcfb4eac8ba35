import { describe, expect, test } from "vitest";
import { MemoryDeploymentHealth } from "./health.ts";

function struck(): MemoryDeploymentHealth {
  const health = new MemoryDeploymentHealth(() => 0.5);
  for (let n = 0; n < 3; n += 1) health.report("sick", "strike", 1_000);
  return health;
}

describe("deployment health", () => {
  test("a deployment nobody has heard of may be tried", () => {
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
});
