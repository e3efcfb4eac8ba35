import { describe, expect, test } from "vitest";

import type { Attempt } from "../../../../src/console-api/contract.ts";
import { waterfallOf } from "./waterfall.ts";

const request = { created_at: "2026-11-22T00:00:00.000Z", duration_ms: 1_000 };

function attempt(n: number, fromMs: number, rest: Partial<Attempt>): Attempt {
  const started_at = new Date(Date.parse(request.created_at) + fromMs).toISOString();
  return { n, provider: `p${n}`, started_at, first_byte_ms: null, ...rest } as Attempt;
}

describe("attempts on the time line of their request", () => {
  test("begin where they began, as long as they took", () => {
    const bars = waterfallOf(request, [
      attempt(1, 0, { duration_ms: 250, outcome: "failed" }),
      attempt(2, 250, { duration_ms: 750, first_byte_ms: 300, outcome: "completed" }),
    ]);
    expect(bars).toMatchObject([
      { n: 1, fromMs: 0, from: 0, width: 0.25, firstToken: null, isServed: false },
      { n: 2, fromMs: 250, from: 0.25, width: 0.75, firstToken: 0.4, isServed: true },
    ]);
  });

  test("never leave the line, though one ends after its request or has not ended", () => {
    const late = [
      attempt(1, -5, { duration_ms: 1_500, outcome: "completed" }),
      attempt(2, 1_200, { duration_ms: null, outcome: "in_flight" }),
    ];
    const bars = waterfallOf(request, late);
    expect(bars[0]).toMatchObject({ from: 0, width: 1 });
    expect((bars[1]?.from ?? 0) + (bars[1]?.width ?? 0)).toBeCloseTo(1);
    const none = waterfallOf({ ...request, duration_ms: 0 }, [attempt(1, 0, { duration_ms: 0 })]);
    expect(none).toMatchObject([{ from: 0, width: 0, firstToken: null }]);
  });
});
