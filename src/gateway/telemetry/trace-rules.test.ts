import { describe, expect, test } from "vitest";

import { refusal, type RefusalDetail, type RequestId } from "../../kernel/index.ts";
import { KeepCeiling, KeepChance, TraceRules } from "./trace-rules.ts";

function request(lastSevenBytes: string, before = "0192f0c1-d2e3-7abc-8d"): RequestId {
  return `${before}${lastSevenBytes.slice(0, 2)}-${lastSevenBytes.slice(2)}` as RequestId;
}

function isChosen(id: RequestId, perMillion: number): boolean {
  return new KeepChance(perMillion).hasRequest(id);
}

describe("the share of traces that is kept by chance", () => {
  test("is decided by the last seven bytes of the trace id alone", () => {
    expect(isChosen(request("ffffffffffffff"), 1)).toBe(true);
    expect(isChosen(request("00000000000000"), 999_999)).toBe(false);
    expect(isChosen(request("80000000000000"), 500_000)).toBe(true);
    expect(isChosen(request("7fffffffffffff"), 500_000)).toBe(false);
    const other = "ffffffff-ffff-7fff-bf";
    expect(isChosen(request("80000000000000", other), 500_000)).toBe(true);
    expect(isChosen(request("7fffffffffffff", other), 500_000)).toBe(false);
  });

  test("is none at 0 per million, and all at 1,000,000", () => {
    expect(isChosen(request("ffffffffffffff"), 0)).toBe(false);
    expect(isChosen(request("00000000000000"), 1_000_000)).toBe(true);
  });
});

describe("a trace that chance does not keep, of a gateway_error", () => {
  const rules = new TraceRules({
    telemetrySamplePerMillion: 0,
    telemetrySlowMs: 30_000,
    telemetryKeptPerSecond: 50,
    telemetryIncoming: "continue",
    telemetryPropagate: "",
  });

  test.each<[name: string, isKept: boolean, detail: RefusalDetail]>([
    ["500, a bug of the gateway, is kept", true, {}],
    ["502, an answer that cannot be translated, is kept", true, { status: 502 }],
    ["400, an output limit that the caller got wrong, is not kept", false, { status: 400 }],
  ])("with the status %s", (_, isKept, detail) => {
    const value = refusal("gateway_error", "it failed", detail);
    const end = { status: value.status, refusal: value, isGone: false, nowMs: 5 };
    const notes = { principal: {}, attempts: [], end, isChosen: false };
    expect(rules.isKept({ ...notes, request: { startedMs: 0 } })).toBe(isKept);
  });
});

describe("the ceiling of traces per second", () => {
  /** Calls `take` at an even rate; returns the times at which it allowed a trace. */
  function takenMs(
    ceiling: KeepCeiling,
    burst: { readonly perSecond: number; readonly seconds: number; readonly isFailure: boolean },
  ): number[] {
    const taken: number[] = [];
    for (let n = 0; n < burst.perSecond * burst.seconds; n += 1) {
      const nowMs = (n * 1_000) / burst.perSecond;
      if (ceiling.take(burst.isFailure, nowMs)) taken.push(nowMs);
    }
    return taken;
  }

  function mostInASecond(taken: readonly number[]): number {
    return Math.max(
      ...taken.map((from) => taken.filter((at) => at >= from && at < from + 1_000).length),
    );
  }

  test("of 50 keeps 25 of 10,000 traces that callers sampled and 25 of 10,000 failures in any second", () => {
    const ceiling = new KeepCeiling(50);
    const wanted = takenMs(ceiling, { perSecond: 10_000, seconds: 3, isFailure: false });
    const failed = takenMs(ceiling, { perSecond: 10_000, seconds: 3, isFailure: true });
    expect(mostInASecond(wanted)).toBe(25);
    expect(mostInASecond(failed)).toBe(25);
    expect(mostInASecond([...wanted, ...failed])).toBe(50);
    expect(wanted.length).toBe(75);
    expect(ceiling.refused).toBe(2 * (30_000 - 75));
  });

  test("applies to any span of one second, not to seconds of the clock", () => {
    const ceiling = new KeepCeiling(4);
    expect(ceiling.take(false, 999)).toBe(true);
    expect(ceiling.take(false, 999)).toBe(true);
    expect(ceiling.take(false, 1_001)).toBe(false);
    expect(ceiling.take(false, 1_998)).toBe(false);
    expect(ceiling.take(false, 1_999)).toBe(true);
  });
});
