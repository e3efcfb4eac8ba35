import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { OrgId } from "../../kernel/core/ids.ts";
import {
  afterTooMany,
  isOver,
  type Pool,
  PoolBoard,
  PoolClaims,
  type PoolThrottle,
  usablePercent,
} from "./pool-board.ts";

const org = "org_1" as OrgId;
const other = "org_2" as OrgId;
const pool: Pool = { id: "p", capacity: [], concurrent: 1_000, orgSharePercent: 50 };
const unlimited: Pool = { id: "u", capacity: [], orgSharePercent: 50 };

interface Fixture {
  readonly board: PoolBoard;
  readonly cooled: unknown[];
  readonly reported: unknown[];
}

function fixture(): Fixture {
  const cooled: unknown[] = [];
  const reported: unknown[] = [];
  const limits = { cool: (...said: unknown[]): void => void cooled.push(said) };
  const onCooldown = (...said: unknown[]): void => void reported.push(said);
  return { board: new PoolBoard({ limits, onCooldown }), cooled, reported };
}

/** Returns how many requests may be in flight in the pool, and how many of one organization. */
function inFlight(board: PoolBoard, nowMs: number): readonly (number | undefined)[] {
  const scopes = board.buildClaim(pool, org, nowMs)?.scopes ?? [];
  return [scopes[1]?.limits.concurrent, scopes[0]?.limits.concurrent];
}

describe("a pool after a provider's 429", () => {
  test("cools down here at once, in the store, and with the other instances", () => {
    const { board, cooled, reported } = fixture();
    expect(board.cooldownMs("p", 1_000)).toBe(0);
    board.throttled(pool, 7, 1_000);
    expect(board.cooldownMs("p", 1_000)).toBe(7_000);
    expect(board.cooldownMs("p", 7_999.5)).toBe(0.5);
    expect(board.cooldownMs("p", 8_000)).toBe(0);
    expect(cooled).toEqual([["{pool:p}", "pool:p", 7, 1_000]]);
    expect(reported).toEqual([["p", 7_000]]);
  });

  test("cools down for sixty seconds at most, whatever the provider asks for", () => {
    const { board, cooled, reported } = fixture();
    board.throttled(pool, 3_600, 0);
    expect(board.cooldownMs("p", 0)).toBe(60_000);
    expect(cooled).toEqual([["{pool:p}", "pool:p", 60, 0]]);
    expect(reported).toEqual([["p", 60_000]]);
  });

  test("shrinks by a fifth, as does each organization's share, and regains one percent a second", () => {
    const { board } = fixture();
    expect(inFlight(board, 0)).toEqual([1_000, 500]);
    board.throttled(pool, 1, 0);
    expect(inFlight(board, 0)).toEqual([800, 400]);
    expect(inFlight(board, 5_000)).toEqual([850, 425]);
    expect(inFlight(board, 20_000)).toEqual([1_000, 500]);
  });

  test("cools down even if it has no limits, but without an entry in the limit store", () => {
    const { board, cooled, reported } = fixture();
    board.throttled(unlimited, 5, 0);
    expect(board.cooldownMs("u", 0)).toBe(5_000);
    expect(board.buildClaim(unlimited, org, 0)).toBeUndefined();
    expect(cooled).toEqual([]);
    expect(reported).toEqual([["u", 5_000]]);
  });

  test("continues to cool down when a new catalog declares it anew", () => {
    const { board } = fixture();
    board.throttled(pool, 5, 0);
    const anew: Pool = { ...pool, concurrent: 10 };
    expect(board.cooldownMs(anew.id, 0)).toBe(5_000);
    expect(board.buildClaim(anew, org, 0)?.scopes[1]?.limits).toEqual({ concurrent: 8 });
  });
});

test("unused pools do not accumulate, and one that still cools down is kept", () => {
  const { board } = fixture();
  for (let n = 0; n < 1_000; n += 1) board.throttled({ ...unlimited, id: `once_${n}` }, 5, n);
  board.throttled(pool, 60, 60_000);
  for (let n = 0; n < 600; n += 1) {
    board.throttled({ ...unlimited, id: `late_${n}` }, 5, 100_000);
  }
  expect(board.throttledCount).toBe(601);
  expect(board.cooldownMs("p", 100_000)).toBe(20_000);
});

test("pools that get 429 again and again do not keep the others from being forgotten", () => {
  const { board } = fixture();
  const busy = ["busy_1", "busy_2", "busy_3"].map((id): Pool => ({ ...unlimited, id }));
  for (const each of busy) board.throttled(each, 5, 0);
  for (let n = 0; n < 100; n += 1) board.throttled({ ...unlimited, id: `once_${n}` }, 5, 0);
  for (let n = 0; n < 100; n += 1) {
    for (const each of busy) board.throttled(each, 5, n * 1_000);
  }
  expect(board.throttledCount).toBe(3);
});

describe("a pool after another instance's 429", () => {
  test("cools down and shrinks here as well, without another notice", () => {
    const { board, cooled, reported } = fixture();
    board.learn("p", 5_000, 0);
    expect(board.cooldownMs("p", 1_000)).toBe(4_000);
    expect(inFlight(board, 0)).toEqual([800, 400]);
    expect([cooled, reported]).toEqual([[], []]);
  });

  test("does not change if that cooldown is over already", () => {
    const { board } = fixture();
    board.learn("p", 0, 0);
    expect(inFlight(board, 0)).toEqual([1_000, 500]);
    expect(board.throttledCount).toBe(0);
  });

  test("shrinks once for a notice, however often it is received and however late", () => {
    const { board } = fixture();
    board.learn("p", 30_000, 0);
    for (let nowMs = 1_000; nowMs < 30_000; nowMs += 1_000) board.learn("p", 30_200 - nowMs, nowMs);
    expect(inFlight(board, 10_000)).toEqual([900, 450]);
    expect(inFlight(board, 30_000)).toEqual([1_000, 500]);
    expect(board.cooldownMs("p", 30_000)).toBe(200);
    board.learn("p", 0, 30_200);
    expect(board.cooldownMs("p", 30_200)).toBe(0);
  });

  test("shrinks again when a notice asks for a longer cooldown", () => {
    const { board } = fixture();
    board.learn("p", 5_000, 0);
    board.learn("p", 9_000, 2_000);
    expect(board.cooldownMs("p", 2_000)).toBe(9_000);
    expect(inFlight(board, 2_000)).toEqual([650, 325]);
  });

  test("is broadcast when a 429 of our own asks for a cooldown that is a second longer", () => {
    const { board, reported } = fixture();
    board.learn("p", 2_000, 0);
    board.throttled(pool, 2, 500);
    expect(reported).toEqual([]);
    board.throttled(pool, 2.5, 500);
    expect(reported).toEqual([["p", 2_500]]);
    // The cooldown that other instances know of is over, so the next one is broadcast.
    board.throttled(pool, 0.1, 3_000);
    expect(reported).toHaveLength(2);
  });
});

describe("the cached claims of a pool", () => {
  test("are the very same objects until their limits change", () => {
    const { board } = fixture();
    const first = board.buildClaim(pool, org, 0);
    expect(board.buildClaim(pool, org, 500_000)?.scopes).toBe(first?.scopes);
    expect(board.buildClaim(pool, other, 0)).not.toBe(first);
    board.throttled(pool, 1, 500_000);
    const shrunk = board.buildClaim(pool, org, 500_100);
    expect(shrunk).not.toBe(first);
    expect(board.buildClaim(pool, org, 500_900)).toBe(shrunk);
    expect(board.buildClaim(pool, org, 501_100)).not.toBe(shrunk);
  });

  test("are kept for an organization that returns, and dropped for organizations that came once", () => {
    const claims = new PoolClaims(pool, 0);
    const kept = claims.of(org, 100, 0);
    for (let n = 0; n < 100; n += 1) claims.of(`org_once_${n}` as OrgId, 100, 0);
    expect(claims.size).toBe(101);
    for (let nowMs = 0; nowMs <= 3_600_000; nowMs += 60_000) {
      expect(claims.of(org, 100, nowMs)).toBe(kept);
    }
    expect(claims.size).toBe(1);
  });

  test("are replaced, not added, when the usable part of the pool changes", () => {
    const claims = new PoolClaims(pool, 0);
    for (let percent = 100; percent > 0; percent -= 1) {
      claims.of(org, percent, 0);
      claims.of(other, percent, 0);
    }
    expect(claims.size).toBe(2);
  });

  test("are bounded, however many organizations there are", () => {
    const claims = new PoolClaims(pool, 0);
    for (let n = 0; n < 21_000; n += 1) claims.of(`org_${n}` as OrgId, 100, 0);
    expect(claims.size).toBeLessThanOrEqual(20_000);
  });
});

/** Returns the throttle after 429s at these seconds, each with a cooldown of one second. */
function throttledAt(...seconds: number[]): PoolThrottle | undefined {
  return seconds.reduce<PoolThrottle | undefined>(
    (known, second) => afterTooMany(known, { cooldownMs: 1_000, nowMs: second * 1000 }),
    undefined,
  );
}

function percentAt(throttle: PoolThrottle | undefined, second: number): number {
  return usablePercent(throttle, second * 1000);
}

describe("the usable part of a pool", () => {
  test("is a tenth at least, however many 429s there are", () => {
    const seconds = Array.from({ length: 60 }, (_, second) => second);
    expect(percentAt(throttledAt(...seconds), 59)).toBe(10);
  });

  test("grows by one percent of the declared capacity after each whole second without a 429", () => {
    const throttle = throttledAt(0);
    expect([0.999, 1, 1.999, 19.999, 20, 21].map((at) => percentAt(throttle, at))).toEqual([
      80, 81, 81, 99, 100, 100,
    ]);
  });

  test("does not grow in the second after a 429, even after a 429 that did not shrink it", () => {
    expect(percentAt(throttledAt(0, 0.9), 1.8)).toBe(80);
    expect(percentAt(throttledAt(0, 0.9), 1.9)).toBe(81);
  });

  test("shrinks by a fifth per 429, at most once a second, and grows back, for any pauses", () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 50 });
    fc.assert(
      fc.property(pauses, (pausesMs) => {
        let throttle: PoolThrottle | undefined;
        let nowMs = 0;
        for (const pauseMs of pausesMs) {
          nowMs += pauseMs;
          const before = usablePercent(throttle, nowMs);
          const shrunkAtMs = throttle?.shrunkAtMs ?? Number.NEGATIVE_INFINITY;
          throttle = afterTooMany(throttle, { cooldownMs: 1_000, nowMs });
          const after = usablePercent(throttle, nowMs);
          const expected = Math.max(10, Math.floor((before * 80) / 100));
          expect(after).toBe(nowMs - shrunkAtMs < 1_000 ? before : expected);
        }
        for (let seconds = 0; seconds < 100; seconds += 1) {
          const percent = usablePercent(throttle, nowMs + seconds * 1000);
          const next = usablePercent(throttle, nowMs + seconds * 1000 + 1000);
          expect(percent).toBeGreaterThanOrEqual(10);
          expect(next).toBe(Math.min(100, percent + 1));
        }
      }),
    );
  });
});

test("the cooldown of a pool is not cut short by a 429 with a shorter one", () => {
  const long = afterTooMany(undefined, { cooldownMs: 30_000, nowMs: 0 });
  expect(afterTooMany(long, { cooldownMs: 2_000, nowMs: 100 }).cooldownUntilMs).toBe(30_000);
});

test("a pool's throttle is forgotten once the whole pool is usable and no late notice can arrive", () => {
  const short = afterTooMany(undefined, { cooldownMs: 1_000, nowMs: 0 });
  expect(isOver(short, 19_999)).toBe(false);
  expect(isOver(short, 20_000)).toBe(true);
  const long = afterTooMany(undefined, { cooldownMs: 60_000, nowMs: 0 });
  expect(isOver(long, 61_000)).toBe(false);
  expect(isOver(long, 61_001)).toBe(true);
});
