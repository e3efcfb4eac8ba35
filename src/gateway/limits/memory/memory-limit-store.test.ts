import { describe, expect, test } from "vitest";
import type { OrgId } from "../../../kernel/core/ids.ts";
import { tokenCount, type LimitClaim, type LimitLease, type LimitSet } from "../limit-store.ts";
import { MemoryLimitStore } from "./memory-limit-store.ts";

/*
 * test/backend-contract/limits.test.ts tests what all limit stores promise. This file tests only
 * the store in memory.
 */

const START_MS = 1_000_000;

function claimOf(id: string, limits: LimitSet, nowMs: number): LimitClaim {
  const slot = "{org:o}";
  const scopes = [{ scope: "org", id: `org:${id}`, limits }] as const;
  return { orgId: "o" as OrgId, slot, scopes, ...tokenCount(1, 0), nowMs };
}

function use(store: MemoryLimitStore, claim: LimitClaim): void {
  store.release(leaseOf(store, claim), tokenCount(1, 0), claim.nowMs);
}

function leaseOf(store: MemoryLimitStore, claim: LimitClaim): LimitLease {
  const outcome = store.claim(claim);
  if (outcome.kind !== "claimed") throw new Error(`expected a lease, got ${outcome.kind}`);
  return outcome.lease;
}

describe("the memory of the store", () => {
  test("keeps the scopes of the last two minutes, not all of 20,000 that were used once", () => {
    const store = new MemoryLimitStore();
    const perSecond = 100;
    for (let n = 0; n < 20_000; n += 1) {
      const nowMs = START_MS + Math.floor(n / perSecond) * 1_000;
      use(store, claimOf(String(n), { requestsPerMinute: 1 }, nowMs));
    }
    expect(store.scopeCount).toBeLessThan(perSecond * 61 * 2);
  });

  test("keeps no scope that was only read", async () => {
    const store = new MemoryLimitStore();
    const unused = claimOf("unused", {}, START_MS);
    expect(await store.peek(unused)).toEqual([{ requests: 0, tokens: 0, inFlight: 0 }]);
    expect(store.scopeCount).toBe(0);
  });

  test("never drops a scope with a request in flight", () => {
    const store = new MemoryLimitStore();
    const busy = { concurrent: 1 };
    leaseOf(store, claimOf("busy", busy, START_MS));
    for (let n = 0; n < 5_000; n += 1) {
      leaseOf(store, claimOf(String(n), {}, START_MS + 100_000 + n * 100));
    }
    expect(store.claim(claimOf("busy", busy, START_MS + 900_000)).kind).toBe("refused");
  });

  test("keeps a scope while its day, pace or cooldown lasts, and then drops it", () => {
    const store = new MemoryLimitStore();
    const day = { windows: [{ kind: "request", seconds: 86_400, limit: 1 }] } as const;
    const slow = { paced: { perSecond: 0.001, waitMsMax: 0 } };
    use(store, claimOf("day", day, START_MS));
    use(store, claimOf("slow", slow, START_MS));
    store.cool("{org:o}", "org:cool", 900, START_MS);
    const passTo = (ms: number): void => {
      for (let n = 0; n < 200; n += 1) use(store, claimOf("other", {}, START_MS + ms + n * 1_000));
    };
    passTo(600_000);
    expect(store.scopeCount).toBe(4);
    expect(store.claim(claimOf("day", day, START_MS + 800_000)).kind).toBe("refused");
    expect(store.claim(claimOf("slow", slow, START_MS + 800_000)).kind).toBe("refused");
    expect(store.claim(claimOf("cool", {}, START_MS + 800_000)).kind).toBe("refused");
    passTo(90_000_000);
    expect(store.scopeCount).toBe(1);
  });
});
