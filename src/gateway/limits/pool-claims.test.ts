import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { OrgId } from "../../kernel/core/ids.ts";
import type { LimitSet } from "./limit-store.ts";
import { hasLimits, type Pool, poolClaim, portion } from "./pool-board.ts";

const org = "org_1" as OrgId;
const half: Pool = { id: "p", capacity: [], orgSharePercent: 50 };

function limitsOf(pool: Pool, usablePercent = 100): readonly (LimitSet | undefined)[] {
  return poolClaim(pool, org, usablePercent).scopes.map(({ limits }) => limits);
}

const anyLimit = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const smallLimit = fc.integer({ min: 1, max: 500 });
const anyPercent = fc.integer({ min: 1, max: 100 });

test.each(["tokensPerMinute", "requestsPerSecond", "concurrent"] as const)(
  "a pool that states only %s has limits",
  (name) => {
    expect([hasLimits({ ...half, [name]: 1 }), hasLimits(half)]).toEqual([true, false]);
  },
);

describe("the claim of a pool", () => {
  test("is the organization's share, then the pool, in the pool's own slot", () => {
    expect(poolClaim({ ...half, concurrent: 8 }, org, 100)).toEqual({
      slot: "{pool:p}",
      scopes: [
        {
          scope: "pool",
          id: "pool-share:p@org_1",
          shownId: "pool-share:p",
          limits: { concurrent: 4 },
        },
        { scope: "pool", id: "pool:p", limits: { concurrent: 8 } },
      ],
    });
  });

  test("has every limit of the pool, and half of it for the organization", () => {
    const stated = { tokensPerMinute: 1_000, requestsPerSecond: 5, concurrent: 7 };
    const halfOfStated = { tokensPerMinute: 500, requestsPerSecond: 2, concurrent: 3 };
    const pool: Pool = {
      ...half,
      ...stated,
      capacity: [
        { type: "request", per: "minute", value: 21 },
        { type: "request", per: "day", value: 999 },
        { type: "prompt", per: "minute", value: 301 },
        { type: "completion", per: "hour", value: 41 },
      ],
    };
    const windows = [
      { kind: "request", seconds: 86_400, limit: 999 },
      { kind: "prompt", seconds: 60, limit: 301 },
      { kind: "completion", seconds: 3_600, limit: 41 },
    ];
    const halved = [499, 150, 20].map((limit, at) => ({ ...windows[at], limit }));
    expect(limitsOf(pool)).toEqual([
      { ...halfOfStated, requestsPerMinute: 10, windows: halved },
      { ...stated, requestsPerMinute: 21, windows },
    ]);
  });
});

describe("a portion of a limit", () => {
  test("is the exact percentage rounded down, but at least 1", () => {
    fc.assert(
      fc.property(anyLimit, anyPercent, (limit, percent) => {
        const exact = (BigInt(limit) * BigInt(percent)) / 100n;
        expect(BigInt(portion(limit, percent))).toBe(exact === 0n ? 1n : exact);
      }),
    );
  });

  test.each([0, -1, 1.5, Number.NaN, 2 ** 53])("of the limit %d throws", (limit) => {
    expect(() => portion(limit, 50)).toThrow("whole number above 0");
  });

  test.each([0, 101, 12.5])("cannot be %d percent", (percent) => {
    expect(() => portion(10, percent)).toThrow("1 to 100");
  });
});

test("for any pool, usable limits and shares are exact percentages rounded down, but at least 1", () => {
  const types = fc.constantFrom("request" as const, "prompt" as const, "completion" as const);
  const pers = fc.constantFrom("minute" as const, "hour" as const, "day" as const);
  const pools = fc.record(
    {
      id: fc.constant("p"),
      orgSharePercent: fc.constantFrom(50, 75),
      capacity: fc.uniqueArray(fc.record({ type: types, per: pers, value: smallLimit }), {
        selector: ({ type, per }) => `${type} ${per}`,
      }),
      tokensPerMinute: smallLimit,
      requestsPerSecond: smallLimit,
      concurrent: smallLimit,
    },
    { requiredKeys: ["id", "orgSharePercent", "capacity"] },
  );
  fc.assert(
    fc.property(pools, anyPercent, (pool, usablePercent) => {
      const [share, usable] = limitsOf(pool, usablePercent).map(flat);
      const [, declared] = limitsOf(pool).map(flat);
      expect(Object.keys(share ?? {})).toEqual(Object.keys(declared ?? {}));
      expect(Object.keys(declared ?? {}).length > 0).toBe(hasLimits(pool));
      for (const [name, limit] of Object.entries(declared ?? {})) {
        const usableLimit = usable?.[name] ?? 0;
        expect(usableLimit).toBe(Math.max(1, Math.floor((limit * usablePercent) / 100)));
        expect(share?.[name]).toBe(
          Math.max(1, Math.floor((usableLimit * pool.orgSharePercent) / 100)),
        );
      }
    }),
  );
});

/** Returns every number of a set of limits by name; a window is named by its kind and seconds. */
function flat(limits: LimitSet | undefined): Record<string, number> {
  const { windows = [], paced: _none, ...plain } = limits ?? {};
  const named = windows.map(({ kind, seconds, limit }) => [`${kind} ${seconds}`, limit] as const);
  return { ...plain, ...Object.fromEntries(named) };
}
