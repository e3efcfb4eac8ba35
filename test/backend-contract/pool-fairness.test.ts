import { describe, expect, test } from "vitest";

import type { OrgId } from "../../src/kernel/core/ids.ts";
import {
  tokenCount,
  type ClaimOutcome,
  type LimitLease,
} from "../../src/gateway/limits/limit-store.ts";
import { PoolBoard, type Pool } from "../../src/gateway/limits/pool-board.ts";
import { limitBackends } from "../support/limit-backends.ts";
import { withResource } from "../support/with-resource.ts";

const STEP_MS = 250;
const RUN_MS = 192_000;
const TOKENS = tokenCount(90, 10);
const TRIES_PER_STEP = 4;
/** The interval at which each small organization sends a request; refused ones are repeated. */
const SMALL_EVERY_MS = 12_000;
const GREEDY = "org_greedy" as OrgId;
const SMALL = Array.from({ length: 9 }, (_, at) => `org_small_${at}` as OrgId);

/**
 * A pool in which nine small organizations fit beside one that uses half: each makes at most six
 * requests in the 61 seconds that a minute's window can span, and has one in flight.
 */
const HALVED: Pool = {
  id: "half",
  orgSharePercent: 50,
  capacity: [{ type: "request", per: "minute", value: 120 }],
  tokensPerMinute: 13_000,
  requestsPerSecond: 20,
  concurrent: 20,
};

/** A request that the pool admitted. */
interface Served {
  readonly fromMs: number;
  readonly toMs: number;
}

for (const kind of limitBackends) {
  describe.skipIf(kind.isMissing)(`a pool with limits ${kind.name}`, () => {
    const fixture = withResource(() => kind.open());
    const board = withResource(() => new PoolBoard({ limits: fixture.store }));

    async function claim(pool: Pool, orgId: OrgId): Promise<ClaimOutcome> {
      const claimed = board.buildClaim(pool, orgId, fixture.nowMs);
      if (claimed === undefined) throw new Error("a pool with limits has a claim");
      return await fixture.store.claim({ orgId, ...claimed, ...TOKENS, nowMs: fixture.nowMs });
    }

    test("gives a greedy organization half of its capacity and no more, and no other organization waits", async () => {
      await fixture.advance(200_000);
      const { greedy, small } = await crowd(HALVED);
      expect(peakOf(greedy)).toEqual({ inMinute: 60, inSecond: 10, inFlight: 10 });
      for (const { served, waitedMs } of small) {
        expect(served).toBe(RUN_MS / SMALL_EVERY_MS);
        expect(waitedMs).toBe(0);
      }
    });

    test("in refusals names the share of an organization that used it up, and the pool when all of it is used", async () => {
      await fixture.advance(200_000);
      const pool: Pool = { id: "named", capacity: [], orgSharePercent: 50, concurrent: 4 };
      const orgs = [GREEDY, GREEDY, ...SMALL.slice(0, 2)];
      for (const org of orgs) expect((await claim(pool, org)).kind).toBe("claimed");
      const refused = { kind: "refused", scope: "pool", limitKind: "concurrency" };
      const share = { id: "pool-share:named", limit: 2 };
      expect(await claim(pool, GREEDY)).toMatchObject({ ...refused, ...share });
      const whole = { id: "pool:named", limit: 4 };
      expect(await claim(pool, "org_late" as OrgId)).toMatchObject({ ...refused, ...whole });
    });

    /** Runs an organization that takes every free place, beside nine that ask now and then. */
    async function crowd(pool: Pool) {
      const startMs = fixture.nowMs;
      const greedy: Served[] = [];
      // `waitedMs` is the longest time for which an organization's requests were refused.
      const small = SMALL.map((org, at) => {
        const dueMs = startMs + Math.ceil((at * SMALL_EVERY_MS) / SMALL.length);
        return { org, dueMs, askedMs: Number.POSITIVE_INFINITY, served: 0, waitedMs: 0 };
      });
      let held: { readonly toMs: number; readonly lease: LimitLease }[] = [];
      while (fixture.nowMs < startMs + RUN_MS) {
        const { nowMs } = fixture;
        for (let tries = 0; tries < TRIES_PER_STEP; tries += 1) {
          const outcome = await claim(pool, GREEDY);
          if (outcome.kind !== "claimed") break;
          const toMs = nowMs + 1_000 + ((greedy.length * 7) % 5) * 1_000;
          greedy.push({ fromMs: nowMs, toMs });
          held.push({ toMs, lease: outcome.lease });
        }
        for (const each of small) {
          if (nowMs < each.dueMs) continue;
          each.askedMs = Math.min(each.askedMs, nowMs);
          const outcome = await claim(pool, each.org);
          if (outcome.kind !== "claimed") continue;
          each.waitedMs = Math.max(each.waitedMs, nowMs - each.askedMs);
          each.askedMs = Number.POSITIVE_INFINITY;
          each.dueMs += SMALL_EVERY_MS;
          each.served += 1;
          held.push({ toMs: nowMs + 1_000, lease: outcome.lease });
        }
        await fixture.advance(STEP_MS);
        const over = held.filter(({ toMs }) => toMs <= fixture.nowMs);
        for (const { lease } of over) fixture.store.release(lease, TOKENS, fixture.nowMs);
        held = held.filter((each) => !over.includes(each));
      }
      for (const { lease } of held) fixture.store.undo(lease, fixture.nowMs);
      return { greedy, small };
    }
  });
}

/** The most requests that were admitted in any 60 seconds, in a clock second, and at once. */
function peakOf(served: readonly Served[]) {
  const most = (isIn: (each: Served, fromMs: number) => boolean): number =>
    Math.max(...served.map(({ fromMs }) => served.filter((each) => isIn(each, fromMs)).length));
  const secondOf = (ms: number): number => Math.floor(ms / 1000);
  return {
    inMinute: most((each, ms) => each.fromMs >= ms && each.fromMs < ms + 60_000),
    inSecond: most((each, ms) => secondOf(each.fromMs) === secondOf(ms)),
    inFlight: most((each, ms) => each.fromMs <= ms && each.toMs > ms),
  };
}
