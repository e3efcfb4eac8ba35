import { describe, expect, test } from "vitest";

import {
  tokenCount,
  type LimitLease,
  departedScopes,
} from "../../src/gateway/limits/limit-store.ts";
import { LimitCaller, limitBackends } from "../support/limit-backends.ts";
import { withResource } from "../support/with-resource.ts";

for (const kind of limitBackends) {
  describe.skipIf(kind.isMissing)(`limits ${kind.name}`, () => {
    const fixture = withResource(
      () => kind.open(),
      (opened) => opened.close(),
    );
    /** Nothing was used yet, and a second has just begun. */
    const newCaller = async (): Promise<LimitCaller> => {
      await fixture.advance(200_000 + 1_000 - (fixture.nowMs % 1_000));
      return new LimitCaller(fixture);
    };

    test("a request over the limit is refused with the time until the first one expires", async () => {
      const caller = await newCaller();
      const scope = caller.scope("key", "k", { requestsPerMinute: 2 });
      await caller.take([scope]);
      await fixture.advance(10_000);
      await caller.take([scope]);
      await fixture.advance(10_000);
      expect(await caller.claim([scope])).toEqual({
        kind: "refused",
        scope: "key",
        limitKind: "rpm",
        id: scope.id,
        limit: 2,
        retryAfterSeconds: 41,
        used: 2,
        asked: 1,
      });
    });

    test("a refusal of any kind of limit says what was used and what the request would add", async () => {
      const caller = await newCaller();
      const hour = { kind: "prompt", seconds: 3_600, limit: 10 } as const;
      const cases = [
        [{ tokensPerMinute: 10 }, { limitKind: "tpm", used: 7, asked: 7 }],
        [{ requestsPerSecond: 1 }, { limitKind: "rps", used: 1, asked: 1 }],
        [{ concurrent: 1 }, { limitKind: "concurrency", used: 1, asked: 1 }],
        [{ windows: [hour] }, { limitKind: "capacity", limit: 10, used: 7, asked: 7 }],
      ] as const;
      for (const [limits, refused] of cases) {
        const scope = caller.scope("key", `k ${refused.limitKind}`, limits);
        await caller.take([scope], 7);
        expect(await caller.claim([scope], 7)).toMatchObject(refused);
      }
    });

    test("a lowered limit refuses with more used than it allows", async () => {
      const caller = await newCaller();
      const scope = caller.scope("key", "lowered", { requestsPerMinute: 3 });
      for (let n = 0; n < 3; n += 1) await caller.take([scope]);
      const lowered = { ...scope, limits: { requestsPerMinute: 1 } };
      expect(await caller.claim([lowered])).toMatchObject({ limit: 1, used: 3, asked: 1 });
    });

    test("a charge counts for more than 60 and at most 61 seconds", async () => {
      const caller = await newCaller();
      const scope = caller.scope("key", "k", { requestsPerMinute: 1 });
      await fixture.advance(999);
      await caller.take([scope]);
      await fixture.advance(60_000);
      expect((await caller.claim([scope])).kind).toBe("refused");
      await fixture.advance(1);
      const late = await caller.take([scope]);
      expect(late.remainingRequests).toBe(0);
      await fixture.advance(60_999);
      expect((await caller.claim([scope])).kind).toBe("refused");
      await fixture.advance(1);
      expect((await caller.claim([scope])).kind).toBe("claimed");
    });

    test("a refusal in one scope uses up nothing in the others", async () => {
      const caller = await newCaller();
      const limits = { requestsPerMinute: 100, tokensPerMinute: 100, concurrent: 9 };
      const windows = [{ kind: "request", seconds: 3_600, limit: 100 }] as const;
      const paced = { perSecond: 1, waitMsMax: 0 };
      const key = caller.scope("key", "k", { ...limits, requestsPerSecond: 9, windows, paced });
      const full = caller.scope("org", "o", { requestsPerMinute: 0 });
      for (let n = 0; n < 20; n += 1) await caller.claim([key, full], 10);
      const lease = await caller.take([key, caller.scope("org", "p", {})], 10);
      expect(lease).toMatchObject({ remainingRequests: 99, remainingTokens: 90, queueMs: 0 });
    });

    test("a caller that keeps sending does not keep a full limit full", async () => {
      const caller = await newCaller();
      const scope = caller.scope("key", "k", { requestsPerMinute: 1 });
      await caller.take([scope]);
      for (let n = 0; n < 60; n += 1) {
        await fixture.advance(1_000);
        expect((await caller.claim([scope])).kind).toBe("refused");
      }
      await fixture.advance(1_000);
      expect((await caller.claim([scope])).kind).toBe("claimed");
    });

    test("a refusal by several scopes names the first one listed", async () => {
      const caller = await newCaller();
      const scopes = [
        caller.scope("key", "k", { tokensPerMinute: 5 }),
        caller.scope("org", "o", { requestsPerMinute: 0 }),
      ];
      expect(await caller.claim(scopes, 6)).toMatchObject({ scope: "key", limitKind: "tpm" });
    });

    test("a refusal names the shown id of a scope that has one", async () => {
      const caller = await newCaller();
      const scope = caller.scope("model", "m", { requestsPerMinute: 0 });
      const shown = { ...scope, shownId: "model:acme/small" };
      expect(await caller.claim([shown])).toMatchObject({ scope: "model", id: "model:acme/small" });
      const other = caller.scope("model", "n", { requestsPerMinute: 1 });
      await caller.take([{ ...other, shownId: "model:acme/small" }]);
      expect(await caller.claim([other])).toMatchObject({ id: other.id });
    });

    test("a claim above the whole token limit gets the longest wait", async () => {
      const caller = await newCaller();
      const scope = caller.scope("key", "k", { tokensPerMinute: 1_000 });
      expect(await caller.claim([scope], 1_001)).toMatchObject({
        kind: "refused",
        limitKind: "tpm",
        limit: 1_000,
        retryAfterSeconds: 61,
      });
    });

    test("calls of departed clients block their model, and four such models block every call", async () => {
      const caller = await newCaller();
      const key = caller.scope("key", "k", { concurrent: 2, tokensPerMinute: 1_000 });
      const scopes = [key, caller.scope("org", "o", { concurrent: 2 })];
      const departed = (model: string) => departedScopes({ slot: caller.slot, scopes }, model);
      const ask = (model: string) => caller.claim(scopes, 10, departed(model));
      const left: LimitLease[] = [];
      const leave = async (model: string): Promise<void> => {
        // Every client was admitted before any left, so each lease has a place.
        for (const lease of [await caller.take(scopes, 10), await caller.take(scopes, 10)]) {
          left.push(lease);
          caller.depart(lease, departed(model));
        }
      };
      const full = { limitKind: "concurrency", asked: 1, isDeparted: true } as const;
      await leave("one");
      const ofModel = { ...full, scope: "model", id: "model:one", limit: 2, used: 2 };
      expect(await ask("one")).toMatchObject(ofModel);
      // This is longer than an unrenewed lease lives.
      for (let n = 0; n < 8; n += 1) await fixture.advance(2_500);
      expect(await ask("one")).toMatchObject(ofModel);
      expect(await caller.peek([...scopes, ...departed("one")])).toMatchObject([
        { inFlight: 0, tokens: 20 },
        { inFlight: 0 },
        { inFlight: 2 },
        { inFlight: 2 },
      ]);
      for (const model of ["two", "three", "four"]) await leave(model);
      const ofAll = { ...full, scope: "org", id: scopes[1]?.id, limit: 8, used: 8 };
      expect(await ask("five")).toMatchObject(ofAll);
      const [first, second] = left.splice(0, 2);
      if (first !== undefined) caller.release(first, 4);
      expect(await ask("two")).toMatchObject({ ...full, id: "model:two" });
      if (second !== undefined) caller.undo(second);
      const served = [await ask("one"), await ask("five")];
      expect(served.map(({ kind: outcome }) => outcome)).toEqual(["claimed", "claimed"]);
      for (const lease of left) caller.release(lease, 10);
      for (const outcome of served) {
        if (outcome.kind === "claimed") caller.release(outcome.lease, 10);
      }
      const after = await caller.peek([...scopes, ...departed("one")]);
      expect(after?.map(({ inFlight }) => inFlight)).toEqual([0, 0, 0, 0]);
      expect(after?.[0]?.tokens).toBe(4 + 6 * 10 + 2 * 10);
    });

    test("a lease of concurrency returns its slot by release or undo", async () => {
      const caller = await newCaller();
      const scope = caller.scope("org", "o", { concurrent: 2 });
      const first = await caller.take([scope]);
      const second = await caller.take([scope]);
      const full = { limitKind: "concurrency", limit: 2, retryAfterSeconds: 1 };
      expect(await caller.claim([scope])).toMatchObject(full);
      caller.release(first, 1);
      const third = await caller.take([scope]);
      expect(await caller.claim([scope])).toMatchObject(full);
      caller.undo(second);
      caller.undo(third);
      await caller.take([scope]);
      await caller.take([scope]);
      expect(await caller.claim([scope])).toMatchObject(full);
    });

    test("a request that runs for an hour holds its place for an hour", async () => {
      const caller = await newCaller();
      const scope = caller.scope("org", "o", { concurrent: 1 });
      const lease = await caller.take([scope]);
      for (let minute = 0; minute < 60; minute += 1) {
        await fixture.advance(60_000);
        expect((await caller.claim([scope])).kind).toBe("refused");
      }
      caller.release(lease, 1);
      expect((await caller.claim([scope])).kind).toBe("claimed");
    });

    test("a release replaces the estimate by the observed tokens while the claim still counts", async () => {
      const caller = await newCaller();
      const scope = caller.scope("key", "k", { tokensPerMinute: 1_000 });
      const lease = await caller.take([scope], 900);
      expect((await caller.claim([scope], 200)).kind).toBe("refused");
      await fixture.advance(5_000);
      caller.release(lease, 100);
      const next = await caller.take([scope], 200);
      expect(next.remainingTokens).toBe(700);
      await fixture.advance(61_000);
      caller.release(next, 5_000);
      expect((await caller.take([scope], 1)).remainingTokens).toBe(999);
    });

    test("a request that ends in the last second of its window is still corrected", async () => {
      const caller = await newCaller();
      const scope = caller.scope("key", "k", { tokensPerMinute: 1_000 });
      const lease = await caller.take([scope], 900);
      await fixture.advance(60_999);
      await caller.take([scope], 50);
      caller.release(lease, 100);
      expect((await caller.take([scope], 1)).remainingTokens).toBe(849);
      await fixture.advance(1);
      expect((await caller.take([scope], 1)).remainingTokens).toBe(948);
    });

    test("observed tokens above the estimate count too", async () => {
      const caller = await newCaller();
      const scope = caller.scope("key", "k", { tokensPerMinute: 1_000 });
      caller.release(await caller.take([scope], 0), 990);
      expect((await caller.claim([scope], 20)).kind).toBe("refused");
      expect((await caller.take([scope], 10)).remainingTokens).toBe(0);
    });

    test("an undone claim counts nothing", async () => {
      const caller = await newCaller();
      const windows = [{ kind: "prompt", seconds: 86_400, limit: 100 }] as const;
      const limits = { requestsPerMinute: 5, tokensPerMinute: 100, requestsPerSecond: 1, windows };
      const scope = caller.scope("key", "k", limits);
      for (let n = 0; n < 30; n += 1) caller.undo(await caller.take([scope], 100));
      expect(await caller.take([scope], 100)).toMatchObject({
        remainingRequests: 4,
        remainingTokens: 0,
      });
    });

    test("the remaining amounts are the smallest of all scopes, after this request", async () => {
      const caller = await newCaller();
      const scopes = [
        caller.scope("key", "k", { requestsPerMinute: 3, tokensPerMinute: 500 }),
        caller.scope("org", "o", { requestsPerMinute: 9, tokensPerMinute: 300 }),
      ];
      const lease = await caller.take(scopes, 100);
      expect(lease).toMatchObject({ remainingRequests: 2, remainingTokens: 200, queueMs: 0 });
      const unlimited = await caller.take([caller.scope("key", "free", {})], 100);
      expect(unlimited.remainingRequests).toBe(Number.MAX_SAFE_INTEGER);
      expect(unlimited.remainingTokens).toBe(Number.MAX_SAFE_INTEGER);
    });

    test("an exempt request neither counts nor is refused where requests are counted", async () => {
      const caller = await newCaller();
      const counted = caller.scope("org", "o", { requestsPerMinute: 1, requestsPerSecond: 1 });
      const exempt = { ...counted, countsRequests: false };
      caller.undo(await caller.take([exempt]));
      await caller.take([exempt]);
      await caller.take([counted]);
      caller.undo(await caller.take([exempt]));
      expect(await caller.claim([counted])).toMatchObject({ limitKind: "rps" });
      await fixture.advance(1_000);
      expect(await caller.claim([counted])).toMatchObject({ limitKind: "rpm" });
      expect((await caller.claim([exempt])).kind).toBe("claimed");
    });

    test("releasing a lease twice throws instead of freeing a second slot", async () => {
      const caller = await newCaller();
      const lease = await caller.take([caller.scope("key", "k", {})]);
      caller.release(lease, 1);
      expect(() => caller.undo(lease)).toThrow("exactly once");
      expect(() => caller.release(lease, 1)).toThrow("exactly once");
    });

    test("requests per second are counted in windows of a second", async () => {
      const caller = await newCaller();
      const scope = caller.scope("endpoint", "e", { requestsPerSecond: 2 });
      await caller.take([scope]);
      await fixture.advance(998);
      await caller.take([scope]);
      expect(await caller.claim([scope])).toMatchObject({
        limitKind: "rps",
        limit: 2,
        retryAfterSeconds: 1,
      });
      await fixture.advance(2);
      await caller.take([scope]);
    });

    test("a clock that steps back neither empties a window nor freezes it", async () => {
      const caller = await newCaller();
      const scope = caller.scope("key", "k", { requestsPerMinute: 1, concurrent: 1 });
      const lease = await caller.take([scope]);
      for (const backMs of [3_000, 40_000, 7_200_000]) {
        await fixture.advance(-backMs);
        expect(await caller.claim([scope])).toMatchObject({ kind: "refused", limitKind: "rpm" });
      }
      caller.release(lease, 1);
      for (let second = 0; second < 60; second += 1) {
        await fixture.advance(1_000);
        expect((await caller.claim([scope])).kind).toBe("refused");
      }
      await fixture.advance(1_000);
      expect((await caller.claim([scope])).kind).toBe("claimed");
    });

    describe("a peek", () => {
      const NOTHING = { requests: 0, tokens: 0, inFlight: 0 };

      test("returns what counts in each scope, in their order", async () => {
        const caller = await newCaller();
        const key = caller.scope("key", "k", {});
        const org = caller.scope("org", "o", { requestsPerMinute: 9 });
        const unused = caller.scope("org", "unused", {});
        const lease = await caller.take([key, org], tokenCount(30, 10));
        caller.undo(await caller.take([key, org], 500));
        await fixture.advance(2_000);
        await caller.take([org], 5);
        await caller.take([{ ...org, countsRequests: false }], 5);
        expect(await caller.peek([org, unused, key])).toEqual([
          { requests: 2, tokens: 50, inFlight: 3 },
          NOTHING,
          { requests: 1, tokens: 40, inFlight: 1 },
        ]);
        caller.release(lease, tokenCount(3, 4));
        expect(await caller.peek([key, org])).toEqual([
          { requests: 1, tokens: 7, inFlight: 0 },
          { requests: 2, tokens: 17, inFlight: 2 },
        ]);
        expect(await caller.peek([])).toEqual([]);
      });

      test("counts a charge for more than 60 and at most 61 seconds, like a claim", async () => {
        const caller = await newCaller();
        const scope = caller.scope("key", "k", {});
        for (let n = 0; n < 3; n += 1) {
          caller.release(await caller.take([scope], 10), 10);
          await fixture.advance(1_000);
        }
        await fixture.advance(57_999);
        expect(await caller.peek([scope])).toEqual([{ requests: 3, tokens: 30, inFlight: 0 }]);
        await fixture.advance(1);
        expect(await caller.peek([scope])).toEqual([{ requests: 2, tokens: 20, inFlight: 0 }]);
        await fixture.advance(1_999);
        expect(await caller.peek([scope])).toEqual([{ requests: 1, tokens: 10, inFlight: 0 }]);
        await fixture.advance(1);
        expect(await caller.peek([scope])).toEqual([NOTHING]);
      });

      test("changes neither the counts nor their expiry", async () => {
        const caller = await newCaller();
        const scope = caller.scope("key", "k", {
          requestsPerMinute: 2,
          tokensPerMinute: 100,
          concurrent: 2,
          paced: { perSecond: 100, waitMsMax: 0 },
          windows: [{ kind: "prompt", seconds: 3_600, limit: 100 }],
        });
        await caller.take([scope], 10);
        for (let second = 0; second < 60; second += 1) {
          await fixture.advance(1_000);
          expect(await caller.peek([scope])).toEqual([{ requests: 1, tokens: 10, inFlight: 1 }]);
        }
        const lease = await caller.take([scope], 90);
        expect(lease).toMatchObject({ remainingRequests: 0, remainingTokens: 0, queueMs: 0 });
        expect(await caller.claim([scope], 0)).toMatchObject({
          limitKind: "rpm",
          retryAfterSeconds: 1,
        });
        await fixture.advance(1_000);
        expect(await caller.peek([scope])).toEqual([{ requests: 1, tokens: 90, inFlight: 2 }]);
        expect(await caller.claim([scope], 1)).toMatchObject({ limitKind: "capacity" });
      });
    });

    describe("declared windows", () => {
      test.each([
        [60, 60_000, 61_000],
        [3_600, 3_600_000, 3_660_000],
        [86_400, 86_400_000, 87_840_000],
      ] as const)(
        "of %i seconds count a charge at least that long and at most one bucket longer",
        async (seconds, atLeastMs, atMostMs) => {
          const caller = await newCaller();
          const windows = [{ kind: "request", seconds, limit: 1 }] as const;
          const scope = caller.scope("pool", "p", { windows });
          await caller.take([scope]);
          await fixture.advance(atLeastMs - 1_000);
          const refused = await caller.claim([scope]);
          expect(refused).toMatchObject({
            limitKind: seconds === 60 ? "rpm" : "capacity",
            limit: 1,
          });
          await fixture.advance(1_000);
          expect((await caller.claim([scope])).kind).toBe("refused");
          await fixture.advance(atMostMs - atLeastMs);
          expect((await caller.claim([scope])).kind).toBe("claimed");
        },
      );

      test("are separate for prompt and completion tokens", async () => {
        const caller = await newCaller();
        const scope = caller.scope("pool", "p", {
          windows: [
            { kind: "prompt", seconds: 60, limit: 100 },
            { kind: "completion", seconds: 3_600, limit: 50 },
          ],
        });
        const lease = await caller.take([scope], tokenCount(60, 40));
        expect(await caller.claim([scope], tokenCount(50, 1))).toMatchObject({
          limitKind: "tpm",
          limit: 100,
        });
        expect(await caller.claim([scope], tokenCount(1, 20))).toMatchObject({
          limitKind: "capacity",
          limit: 50,
        });
        caller.release(lease, tokenCount(90, 10));
        expect((await caller.claim([scope], tokenCount(11, 1))).kind).toBe("refused");
        await caller.take([scope], tokenCount(10, 40));
        await fixture.advance(61_000);
        expect((await caller.claim([scope], tokenCount(100, 1))).kind).toBe("refused");
        expect((await caller.claim([scope], tokenCount(100, 0))).kind).toBe("claimed");
      });
    });

    describe("a paced scope", () => {
      test("spreads a burst at its rate, and refuses a request that would wait too long", async () => {
        const caller = await newCaller();
        const paced = { perSecond: 4, waitMsMax: 1_000 };
        const scope = caller.scope("endpoint", "e", { paced });
        const waits = [];
        for (let n = 0; n < 5; n += 1) waits.push((await caller.take([scope])).queueMs);
        expect(waits).toEqual([0, 250, 500, 750, 1_000]);
        expect(await caller.claim([scope])).toMatchObject({
          limitKind: "rps_queue",
          limit: 4,
          retryAfterSeconds: 1,
        });
        await fixture.advance(250);
        expect((await caller.take([scope])).queueMs).toBe(1_000);
        await fixture.advance(60_000);
        expect((await caller.take([scope])).queueMs).toBe(0);
      });

      test("gives no turn to refused requests", async () => {
        const caller = await newCaller();
        const scope = caller.scope("endpoint", "e", { paced: { perSecond: 1, waitMsMax: 0 } });
        await caller.take([scope]);
        for (let n = 0; n < 30; n += 1) {
          expect(await caller.claim([scope])).toMatchObject({ limitKind: "rps_queue" });
        }
        await fixture.advance(1_000);
        expect((await caller.take([scope])).queueMs).toBe(0);
      });

      test("frees the slot of the last in the queue, and leaves one in the middle unused", async () => {
        const caller = await newCaller();
        const paced = { perSecond: 10, waitMsMax: 10_000 };
        const scope = caller.scope("endpoint", "e", { paced });
        const leases = [];
        for (let n = 0; n < 3; n += 1) leases.push(await caller.take([scope]));
        const [, middle, last] = leases;
        if (middle === undefined || last === undefined) throw new Error("three were taken");
        caller.undo(last);
        expect((await caller.take([scope])).queueMs).toBe(200);
        caller.undo(middle);
        expect((await caller.take([scope])).queueMs).toBe(300);
      });

      test("also works below one request a minute", async () => {
        const caller = await newCaller();
        const paced = { perSecond: 0.01, waitMsMax: 150_000 };
        const scope = caller.scope("endpoint", "e", { paced });
        expect((await caller.take([scope])).queueMs).toBe(0);
        expect((await caller.take([scope])).queueMs).toBe(100_000);
        expect(await caller.claim([scope])).toMatchObject({ retryAfterSeconds: 50 });
        await fixture.advance(80_000);
        expect((await caller.take([scope])).queueMs).toBe(120_000);
      });
    });

    describe("a scope that is cooling down", () => {
      test("refuses every claim until the end, with the remaining time", async () => {
        const caller = await newCaller();
        const pool = caller.scope("pool", "p", {});
        caller.cool(pool, 20);
        await fixture.advance(4_500);
        expect(await caller.claim([pool])).toEqual({
          kind: "refused",
          scope: "pool",
          limitKind: "capacity",
          id: pool.id,
          limit: 0,
          retryAfterSeconds: 16,
        });
        await fixture.advance(15_500);
        expect((await caller.claim([pool])).kind).toBe("claimed");
      });

      test("is not shortened by a shorter cooldown", async () => {
        const caller = await newCaller();
        const pool = caller.scope("pool", "p", { requestsPerMinute: 9 });
        await caller.take([pool]);
        caller.cool(pool, 60);
        caller.cool(pool, 2);
        await fixture.advance(30_000);
        expect(await caller.claim([pool])).toMatchObject({ retryAfterSeconds: 30 });
        await fixture.advance(30_000);
        expect((await caller.take([pool])).remainingRequests).toBe(7);
      });
    });
  });
}
