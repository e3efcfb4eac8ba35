import { describe, expect, test } from "vitest";

import type { Attempt } from "../../../../src/account/console-api/contract.ts";
import { buildWaterfall } from "./waterfall.ts";

const request = { created_at: "2026-11-22T00:00:00.000Z", duration_ms: 1_000 };

function attempt(n: number, fromMs: number, rest: Partial<Attempt>): Attempt {
  const started_at = new Date(Date.parse(request.created_at) + fromMs).toISOString();
  return { n, provider: `p${n}`, started_at, first_byte_ms: null, ...rest } as Attempt;
}

describe("the bars of a request's attempts", () => {
  test("follow each other and are as long as the attempts took", () => {
    const bars = buildWaterfall(request, [
      attempt(1, 0, { duration_ms: 250, outcome: "failed" }),
      attempt(2, 250, { duration_ms: 750, first_byte_ms: 300, outcome: "completed" }),
    ]);
    expect(bars).toMatchObject([
      { n: 1, fromMs: 0, from: 0, width: 0.25, firstToken: null, isServed: false },
      { n: 2, fromMs: 250, from: 0.25, width: 0.75, firstToken: 0.4, isServed: true },
    ]);
  });

  test("stay within the request even if the wall clock contradicts the durations", () => {
    const late = [
      attempt(1, 400, { duration_ms: 250, outcome: "failed" }),
      attempt(2, -5, { duration_ms: 750, outcome: "completed" }),
    ];
    const bars = buildWaterfall(request, late);
    expect(bars).toMatchObject([
      { fromMs: 0, from: 0, width: 0.25 },
      { fromMs: 250, from: 0.25, width: 0.75 },
    ]);
    const none = buildWaterfall({ duration_ms: 0 }, [attempt(1, 0, { duration_ms: 0 })]);
    expect(none).toMatchObject([{ from: 0, width: 0, firstToken: null }]);
  });

  test("fill the line while an attempt is running", () => {
    const bars = buildWaterfall({ duration_ms: 1_500 }, [
      attempt(1, 0, { duration_ms: 1_500, outcome: "failed" }),
      attempt(2, 1_200, { duration_ms: null, outcome: "in_flight" }),
    ]);
    expect(bars).toMatchObject([
      { from: 0, width: 0.8 },
      { from: 0.8, width: 0.2, durationMs: null },
    ]);
  });
});
