import { describe, expect, test } from "vitest";

import { type LimitLease, departedScopes } from "../../src/gateway/limits/limit-store.ts";
import { LimitCaller, limitBackends } from "../support/limit-backends.ts";
import { withResource } from "../support/with-resource.ts";

for (const kind of limitBackends) {
  describe.skipIf(kind.isMissing)(`limits ${kind.name}`, () => {
    const fixture = withResource(() => kind.open());
    /** Returns a caller that has used nothing yet, at the beginning of a second. */
    const newCaller = async (): Promise<LimitCaller> => {
      await fixture.advance(200_000 + 1_000 - (fixture.nowMs % 1_000));
      return new LimitCaller(fixture);
    };

    test("a request over the limit is refused with the time until the oldest counted request expires", async () => {
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
      const scope = caller.scope("key", "lowered", { requestsPerMinute: 3 });
      for (let n = 0; n < 3; n += 1) await caller.take([scope]);
      const lowered = { ...scope, limits: { requestsPerMinute: 1 } };
      expect(await caller.claim([lowered])).toMatchObject({ limit: 1, used: 3, asked: 1 });
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

    test("calls of departed clients block further calls to their model, and those of four models block all calls", async () => {
      const caller = await newCaller();
      const key = caller.scope("key", "k", { concurrent: 2, tokensPerMinute: 1_000 });
      const scopes = [key, caller.scope("org", "o", { concurrent: 2 })];
      const departed = (model: string) => departedScopes(scopes, model);
      const ask = (model: string) => caller.claim(scopes, 10, departed(model));
      const left: LimitLease[] = [];
      const leave = async (model: string): Promise<void> => {
        // Both clients are admitted before either leaves, so each of them holds a lease.
        for (const lease of [await caller.take(scopes, 10), await caller.take(scopes, 10)]) {
          left.push(lease);
          caller.depart(lease, departed(model));
        }
      };
      const full = { limitKind: "concurrency", asked: 1, isDeparted: true } as const;
      await leave("one");
      const ofModel = { ...full, scope: "model", id: "model:one", limit: 2, used: 2 };
      expect(await ask("one")).toMatchObject(ofModel);
      // Advances the clock by 20 s, which is longer than a lease lives without a renewal.
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

    test("departed calls that count against the organization take no place of a key with a limit of its own", async () => {
      const caller = await newCaller();
      const org = [caller.scope("org", "o", { concurrent: 1 })];
      const key = [caller.scope("key", "k", { concurrent: 1 })];
      const lease = await caller.take(org);
      caller.depart(lease, departedScopes(org, "one"));
      const claimed = await caller.claim(key, 0, departedScopes(key, "one"));
      expect(claimed.kind).toBe("claimed");
      expect(await caller.claim(org, 0, departedScopes(org, "one"))).toMatchObject({
        id: "model:one",
        isDeparted: true,
      });
      if (claimed.kind === "claimed") caller.release(claimed.lease, 0);
      caller.release(lease, 0);
    });

    test("a request that is counted only where it is limited leaves requests per minute and second alone", async () => {
      const caller = await newCaller();
      const counted = caller.scope("org", "o", { requestsPerMinute: 1, requestsPerSecond: 1 });
      const exempt = { ...counted, limits: { concurrent: 9 }, countsOnlyLimited: true };
      caller.undo(await caller.take([exempt]));
      await caller.take([exempt]);
      await caller.take([counted]);
      caller.undo(await caller.take([exempt]));
      expect(await caller.claim([counted])).toMatchObject({ limitKind: "rps" });
      await fixture.advance(1_000);
      expect(await caller.claim([counted])).toMatchObject({ limitKind: "rpm" });
      expect((await caller.claim([exempt])).kind).toBe("claimed");
    });

    test.each([
      [{ requestsPerMinute: 5 }, [2, 10, 1], [2, 10, 1], [1, 10, 1]],
      [{ tokensPerMinute: 500 }, [1, 110, 1], [1, 14, 1], [1, 10, 1]],
      [{ concurrent: 5 }, [1, 10, 2], [1, 10, 1], [1, 10, 1]],
    ] as const)(
      "a request that counts only towards %o takes nothing else of the scope, and gives nothing else back",
      async (limits, held, released, undone) => {
        const caller = await newCaller();
        const all = { requestsPerMinute: 9, tokensPerMinute: 900, concurrent: 9 };
        const scope = caller.scope("key", "k", all);
        const part = [{ ...scope, limits, countsOnlyLimited: true }];
        const used = async (): Promise<readonly number[] | undefined> =>
          (await caller.peek([scope]))?.flatMap((use) => [use.requests, use.tokens, use.inFlight]);
        const other = await caller.take([scope], 10);
        const undoing = await caller.take(part, 100);
        expect(await used()).toEqual(held);
        caller.undo(undoing);
        expect(await used()).toEqual(undone);
        const releasing = await caller.take(part, 100);
        expect(await used()).toEqual(held);
        caller.release(releasing, 4);
        expect(await used()).toEqual(released);
        caller.release(other, 10);
      },
    );

    test("a departed request that counts only towards its limits frees only the places that it had", async () => {
      const caller = await newCaller();
      const all = { requestsPerMinute: 9, tokensPerMinute: 900, concurrent: 2 };
      const [key, org] = [caller.scope("key", "k", all), caller.scope("org", "o", all)];
      const part = [
        { ...key, limits: { requestsPerMinute: 5 }, countsOnlyLimited: true },
        { ...org, limits: { concurrent: 2 }, countsOnlyLimited: true },
      ];
      const departed = departedScopes(part, "one");
      const places = async (): Promise<readonly number[] | undefined> =>
        (await caller.peek([key, org, ...departed]))?.map(({ inFlight }) => inFlight);
      const other = await caller.take([key, org]);
      const lease = await caller.take(part);
      expect(await places()).toEqual([1, 2, 0, 0]);
      // Advances the clock by 20 s, which is longer than a lease lives without a renewal.
      for (let n = 0; n < 8; n += 1) await fixture.advance(2_500);
      expect(await places()).toEqual([1, 2, 0, 0]);
      caller.depart(lease, departed);
      expect(await places()).toEqual([1, 1, 1, 1]);
      caller.release(lease, 1);
      expect(await places()).toEqual([1, 1, 0, 0]);
      caller.release(other, 1);
      expect(await places()).toEqual([0, 0, 0, 0]);
    });

    test("the tokens of a request that ends in the last second of its window are still corrected", async () => {
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

    test("releasing a lease twice throws instead of freeing a second slot", async () => {
      const caller = await newCaller();
      const lease = await caller.take([caller.scope("key", "k", {})]);
      caller.release(lease, 1);
      expect(() => caller.undo(lease)).toThrow("exactly once");
      expect(() => caller.release(lease, 1)).toThrow("exactly once");
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

    test.each([
      [60, 60_000, 61_000],
      [3_600, 3_600_000, 3_660_000],
      [86_400, 86_400_000, 87_840_000],
    ] as const)(
      "a declared window of %i seconds counts a charge that long and at most one bucket longer",
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

    test("a paced scope spreads a burst at its rate, and refuses a request that would wait too long", async () => {
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

    test("a scope that cools down refuses every claim until the end, with the remaining time", async () => {
      const caller = await newCaller();
      const pool = caller.scope("pool", "p", {});
      caller.cool(pool, 20);
      // A shorter cooldown does not shorten the one that runs.
      caller.cool(pool, 2);
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
  });
}
