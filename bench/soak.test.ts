import { describe, expect, test } from "vitest";
import { flatnessOf, type Point } from "./flatness.ts";
import { lineChart, scaleOf } from "./line-chart.ts";
import { metricOf } from "./soak-metrics.ts";
import { parseSoakOptions } from "./soak-options.ts";
import type { SoakEvent } from "./soak-events.ts";
import {
  announcedByMinute,
  announcedIn,
  errorsOf,
  faultsOf,
  judge,
  soakChart,
  soakPage,
  soakTable,
} from "./soak-page.ts";
import type { SoakResults, SoakSample } from "./soak-results.ts";

/** One value each ten seconds for so many minutes. */
function series(minutes: number, valueAt: (seconds: number) => number): Point[] {
  return Array.from({ length: minutes * 6 }, (_, at) => {
    const seconds = (at + 1) * 10;
    return { seconds, value: valueAt(seconds) };
  });
}

/** From -1 to 1, the same each time, without a trend. */
function noiseAt(seconds: number): number {
  return Math.sin(seconds * 12.9898) * Math.cos(seconds * 4.1414);
}

describe("flatness", () => {
  test("is judged by the second half: what fills at the start is no growth", () => {
    const filling = series(30, (seconds) => Math.min(seconds, 600));
    expect(flatnessOf(filling)).toMatchObject({ slopePerHour: 0, level: 600, isFlat: true });
  });

  test("a line that rises is measured exactly, per hour", () => {
    const { slopePerHour, noisePerHour, isFlat } = flatnessOf(series(30, (s) => 100 + s / 100));
    expect(slopePerHour).toBeCloseTo(36, 6);
    expect(noisePerHour).toBeCloseTo(0, 6);
    expect(isFlat).toBe(false);
  });

  test("noise without a trend is flat, and a leak beneath the same noise is not", () => {
    const noisy = series(30, (seconds) => 200 + 10 * noiseAt(seconds));
    expect(flatnessOf(noisy).isFlat).toBe(true);
    expect(flatnessOf(noisy).noisePerHour).toBeGreaterThan(0);
    const leaking = series(30, (seconds) => 200 + 10 * noiseAt(seconds) + seconds / 15);
    expect(flatnessOf(leaking).isFlat).toBe(false);
  });

  test("a rise that its own noise explains is flat, however large it is; without the noise it is not", () => {
    const risingBy60 = (noise: number): Point[] =>
      series(30, (seconds) => 200 + (60 * seconds) / 3_600 + noise * noiseAt(seconds));
    const noisy = flatnessOf(risingBy60(80));
    // More than a twentieth of its level: only the rule about noise makes it flat.
    expect(noisy.slopePerHour).toBeGreaterThan(0.05 * noisy.level);
    expect(noisy.slopePerHour).toBeLessThan(3 * noisy.noisePerHour);
    expect(noisy.isFlat).toBe(true);
    expect(flatnessOf(risingBy60(1)).isFlat).toBe(false);
  });

  test("less than a twentieth in an hour is flat, and so is what falls", () => {
    expect(flatnessOf(series(30, (seconds) => 1_000 + (40 * seconds) / 3_600)).isFlat).toBe(true);
    expect(flatnessOf(series(30, (seconds) => 1_000 + (60 * seconds) / 3_600)).isFlat).toBe(false);
    expect(flatnessOf(series(30, (seconds) => 1_000 - seconds / 3)).isFlat).toBe(true);
  });

  test("of nothing, or of one value, is flat", () => {
    expect(flatnessOf([])).toMatchObject({ slopePerHour: 0, isFlat: true });
    expect(flatnessOf([{ seconds: 10, value: 5 }])).toMatchObject({ level: 5, isFlat: true });
  });
});

describe("the chart", () => {
  test("has axes from 0 to at least the largest value, in round steps", () => {
    expect(scaleOf(30)).toEqual({ max: 30, ticks: [0, 10, 20, 30] });
    expect(scaleOf(0.07)).toEqual({ max: 0.08, ticks: [0, 0.02, 0.04, 0.06, 0.08] });
    expect(scaleOf(421)).toEqual({ max: 500, ticks: [0, 100, 200, 300, 400, 500] });
    expect(scaleOf(0)).toEqual({ max: 1, ticks: [0, 1] });
    expect(scaleOf(Number.NaN)).toEqual({ max: 1, ticks: [0, 1] });
  });

  test("draws every point inside its panel, for light and dark pages", () => {
    const points = series(2, (seconds) => seconds);
    const chart = lineChart([
      { title: "a < b", unit: "MB", points },
      { title: "c", unit: "ms", points: [] },
    ]);
    expect(chart).toContain("a &lt; b, MB");
    expect(chart).toContain("prefers-color-scheme: dark");
    const drawn = [...(/points="([^"]*)"/.exec(chart)?.[1] ?? "").matchAll(/([\d.]+),([\d.]+)/g)];
    expect(drawn).toHaveLength(points.length);
    for (const [, x, y] of drawn) {
      expect(Number(x)).toBeGreaterThanOrEqual(70);
      expect(Number(x)).toBeLessThanOrEqual(840);
      expect(Number(y)).toBeGreaterThanOrEqual(32);
      expect(Number(y)).toBeLessThanOrEqual(126);
    }
    expect(chart).not.toContain("NaN");
  });
});

test("a metric is found by its whole name", () => {
  const text = '# HELP a_total x\na_total 7\nlag_p99 0.5\nlag 0.25\nlag_p99{x="1"} 9\n';
  expect(metricOf(text, "lag")).toBe(0.25);
  expect(metricOf(text, "lag_p99")).toBe(0.5);
  expect(() => metricOf(text, "gone")).toThrow("gone");
});

test("an option that is no number, or leaves too few samples, is refused by name", () => {
  expect(() => parseSoakOptions(["--minutes", "long"])).toThrow("--minutes");
  expect(() => parseSoakOptions(["--percent", "101"])).toThrow("--percent");
  expect(() => parseSoakOptions(["--minutes", "0.5"])).toThrow("samples");
  expect(parseSoakOptions(["--rate", "50"])?.requestsPerSecond).toBe(50);
  expect(parseSoakOptions([])).toMatchObject({ minutes: 30, percent: 70, sampleSeconds: 10 });
  expect(parseSoakOptions([])).toMatchObject({ save: false, json: false });
});

const STEADY = { residentMb: 200, heapUsedMb: 80, eventLoopP99Ms: 11 };
const EVENT: SoakEvent = { title: "Failover", fromSeconds: 70, toSeconds: 95 };

describe("a soak", () => {
  const samples = series(30, (seconds) => seconds).map(({ seconds }) => sampleAt(seconds));
  const passed = resultsOf(series(30, () => 0).map(({ seconds }) => steadyAt(seconds)));

  test("is held to memory, event loop and connections of both instances", () => {
    const held = judge(samples).filter((each) => each.isHeld);
    expect(held.map((each) => each.title)).toEqual([
      "Resident memory, instance 1",
      "Resident memory, instance 2",
      "Heap used, instance 1",
      "Heap used, instance 2",
      "Event-loop delay p99, instance 1",
      "Event-loop delay p99, instance 2",
      "Database connections",
    ]);
    const table = soakTable(judge(samples)).split("\n");
    expect(table.find((line) => line.includes("Heap used, instance 2"))).toBe(
      "| Heap used, instance 2 | MB | 136 | 360 | 0.00 | no |",
    );
  });

  test("that ran without a fault has none", () => {
    expect(faultsOf(passed)).toEqual([]);
    expect(soakPage(passed)).toContain("**Passed.**");
  });

  test("fails by what grows in one instance, but not in a rehearsal", () => {
    const growing = {
      ...passed,
      samples: samples.map((each) => ({ ...each, announced: 0 })),
    };
    expect(faultsOf(growing)).toEqual(["Heap used, instance 2 is not flat"]);
    expect(soakPage(growing)).toContain("**Failed: Heap used, instance 2 is not flat.**");
    expect(faultsOf({ ...growing, options: { ...growing.options, minutes: 3 } })).toEqual([]);
  });

  test.each([
    [{ auditViolations: 2 }, "2 violations of the books"],
    [{ auditChecks: 0 }, "the audit made no check"],
    [{ holdsLeft: 1 }, "holds left: 1"],
  ])("fails by %j", (change, fault) => {
    expect(faultsOf({ ...passed, ...change })).toEqual([fault]);
  });

  test("fails by an answer that was not announced, and not by those that were", () => {
    const [first, ...rest] = passed.samples;
    if (first === undefined) throw new Error("there are no samples");
    const broken = { ...passed, samples: [{ ...first, errors: 2 }, ...rest] };
    expect(errorsOf(broken)).toBe(2);
    expect(faultsOf({ ...broken, firstError: "HTTP/1.1 502 Bad\r\n\r\nwhy" })).toEqual([
      "2 errors, the first: why",
    ]);
  });

  test("fails by a 503 in the half without events, but not in the first one or in a rehearsal", () => {
    const refusedAt = (at: number): SoakResults => ({
      ...passed,
      samples: passed.samples.map((each, index) => ({ ...each, announced: index === at ? 7 : 0 })),
    });
    expect(faultsOf(refusedAt(150))).toEqual(["7 requests refused with 503 in the second half"]);
    expect(faultsOf(refusedAt(20))).toEqual([]);
    const rehearsal = { ...refusedAt(150), options: { ...passed.options, minutes: 3 } };
    expect(faultsOf(rehearsal)).toEqual([]);
  });

  test("counts refusals by the minute, and by the event that they belong to", () => {
    // 3 in each interval of 10 seconds; one event of 70 to 95 s, with 10 s after it.
    expect(announcedByMinute(samples)).toHaveLength(30);
    expect(announcedByMinute(samples)[0]).toEqual({ seconds: 60, value: 18 });
    expect(announcedIn(samples, EVENT)).toBe(5 * 3);
    expect(soakPage({ ...passed, samples })).toContain("| Failover | 70 s | 25 s | 15 |");
  });

  test("is drawn with its events shaded in every panel, and without what could not be read", () => {
    const away = samples.map((sample) => ({ ...sample, instances: [null, STEADY] }));
    const chart = soakChart({ samples: away, events: [EVENT] });
    const panels = chart.match(/<polyline/g)?.length;
    expect(panels).toBe(14);
    expect(chart.match(/<title>Failover<\/title>/g)).toHaveLength(panels ?? 0);
    expect(chart.match(/points=""/g)).toHaveLength(3);
    expect(chart).not.toContain("NaN");
  });
});

function sampleAt(seconds: number): SoakSample {
  return {
    seconds,
    instances: [STEADY, { ...STEADY, heapUsedMb: seconds / 10 }],
    gatewayCpuPercent: 50,
    databaseConnections: 30,
    requestsPerSecond: 700,
    announced: 3,
    errors: 0,
    late: 0,
    resent: 0,
    p50Ms: 5,
    p99Ms: 20,
    streamP50Ms: 6,
    streamP99Ms: 30,
  };
}

/** As in a run that passes. */
function steadyAt(seconds: number): SoakSample {
  return { ...sampleAt(seconds), instances: [STEADY, STEADY], announced: 0 };
}

function resultsOf(samples: readonly SoakSample[]): SoakResults {
  const options = parseSoakOptions([]);
  if (options === undefined) throw new Error("these are options");
  return {
    format: 2,
    date: "2026-01-02",
    node: "20.0.0",
    machine: { cpu: "one", cores: 2, kernel: "6.1", loadAverageAtStart: 0 },
    command: "npm run bench:soak",
    options,
    highestPerSecond: 1_000,
    requestsPerSecond: 700,
    samples,
    events: [EVENT],
    answered: 10,
    streams: 5,
    firstAnnounced: "",
    firstError: "",
    auditViolations: 0,
    auditChecks: 9,
    holdsLeft: 0,
  };
}
