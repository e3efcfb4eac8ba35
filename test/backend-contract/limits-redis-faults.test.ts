import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { tokenCount } from "../../src/gateway/limits/limit-store.ts";
import { until } from "../support/books.ts";
import { charged, newSlot, orgScope, Side } from "../support/redis-side.ts";
import { redisProgram, withRedis } from "../support/redis.ts";

describe.skipIf(redisProgram === undefined)(
  "a Redis that loses its data or does not answer",
  () => {
    const redis = withRedis();
    let near: Side;
    let far: Side;
    let nowMs = 1_700_000_000_000;
    beforeEach(async () => {
      await redis.command("flushall");
      [near, far] = [1, 2].map(() => new Side(redis.url, { now: () => nowMs })) as [Side, Side];
      await Promise.all([near.store.ready(10_000), far.store.ready(10_000)]);
    });
    afterEach(() => {
      near.store.close();
      far.store.close();
    });

    test("recovers the windows from the journal before the next claim", async () => {
      const slot = newSlot();
      const scopes = orgScope({ requestsPerMinute: 10, tokensPerMinute: 1_000 });
      for (let n = 0; n < 5; n += 1) await near.take(slot, scopes, 100);
      await redis.command("flushall");
      const scopeIds = ["org:shared", "key:other"];
      const charge = charged({ scopeIds, requests: 2, tokens: 150, ageSeconds: 0 });
      far.journal.push(charge, charge);
      far.journal.push({ ...charge, ageSeconds: 30, requests: 1 });
      far.journal.push({ ...charge, ageSeconds: 61, requests: 90 });
      const lease = await far.take(slot, scopes, 50);
      expect(lease).toMatchObject({ remainingRequests: 4, remainingTokens: 500 });
      expect(await near.take(slot, scopes, 50)).toMatchObject({ remainingRequests: 3 });
      expect([near.asked, far.asked]).toEqual([1, 1]);
      nowMs += 31_000;
      expect(await near.take(slot, scopes, 50)).toMatchObject({ remainingRequests: 3 });
      nowMs += 30_000;
      expect(await near.take(slot, scopes, 50)).toMatchObject({ remainingRequests: 8 });
    });

    test("recovers a pool's declared tokens too, each kind in its window", async () => {
      const slot = newSlot();
      const windows = [
        { kind: "prompt", seconds: 60, limit: 100 },
        { kind: "completion", seconds: 60, limit: 100 },
      ] as const;
      await near.take(slot, orgScope({ windows }), 10);
      await redis.command("flushall");
      const charge = { scopeIds: ["org:shared"], requests: 1, tokens: 150, ageSeconds: 7 };
      near.journal.push({ ...charge, promptTokens: 60, completionTokens: 90 });
      expect(await near.claim(slot, orgScope({ windows }), 41)).toMatchObject({ limitKind: "tpm" });
      await near.take(slot, orgScope({ windows }), 40);
      const completion = orgScope({ windows: windows.slice(1) });
      const claim = {
        orgId: "o" as OrgId,
        keyId: "k" as KeyId,
        slot,
        scopes: completion,
        nowMs: 0,
      };
      expect(await near.store.claim({ ...claim, ...tokenCount(0, 11) })).toMatchObject({
        limitKind: "tpm",
      });
      expect((await near.store.claim({ ...claim, ...tokenCount(0, 10) })).kind).toBe("claimed");
    });

    test("counts nothing until the next claim, and a read recovers nothing", async () => {
      const slot = newSlot();
      await near.take(slot, orgScope({}), 10);
      await redis.command("flushall");
      const looked = await far.store.peek({ slot, scopes: orgScope({}) });
      expect(looked).toEqual([{ requests: 0, tokens: 0, inFlight: 0 }]);
      expect(far.asked).toBe(0);
      expect(await redis.command("dbsize")).toBe(0);
    });

    test("queries the journal once, however many claims wait for the slot", async () => {
      const slot = newSlot();
      const scopes = orgScope({ requestsPerMinute: 100 });
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, () => near.claim(slot, scopes)),
      );
      expect(outcomes.filter(({ kind }) => kind === "claimed")).toHaveLength(50);
      expect(near.asked).toBe(1);
      expect(await far.take(slot, scopes)).toMatchObject({ remainingRequests: 49 });
      expect(far.asked).toBe(0);
    });

    test("writes its own leases again once, however many claims wait for the slot", async () => {
      const slot = newSlot();
      const scopes = orgScope({});
      const scriptCalls = async (): Promise<number> => {
        const stats = String(await redis.command("info", "commandstats"));
        return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
      };
      const take = (count: number) =>
        Promise.all(Array.from({ length: count }, () => near.take(slot, scopes)));
      await take(600);
      await redis.command("flushall");
      const before = await scriptCalls();
      await take(20);
      // One asks, one refills, one writes the leases and asks again; a timer may add another.
      expect((await scriptCalls()) - before).toBeLessThan(10);
    });

    test("recovers requests in flight from the processes that hold them", async () => {
      const slot = newSlot();
      const scopes = orgScope({ concurrent: 6 });
      const leases = [];
      for (let n = 0; n < 3; n += 1) leases.push(await near.take(slot, scopes));
      for (let n = 0; n < 2; n += 1) await far.take(slot, scopes);
      await redis.command("flushall");
      // The process that refills a lost slot reports its leases at once, the others within seconds.
      await far.take(slot, scopes);
      const held = await redis.command("zcard", `tm:${slot}:held:org:shared`);
      expect(held).toBeGreaterThanOrEqual(3);
      await until("the other's places are taken again", async () => {
        const outcome = await far.claim(slot, scopes);
        if (outcome.kind === "claimed") far.store.undo(outcome.lease);
        return outcome.kind === "refused";
      });
      for (const lease of leases) near.store.release(lease, tokenCount(1, 0));
      for (let n = 0; n < 3; n += 1) await near.take(slot, scopes);
      expect((await near.claim(slot, scopes)).kind).toBe("refused");
    });

    test("under load admits beyond the limit at most the requests that were in flight at each loss", async () => {
      const slot = newSlot();
      const limit = 300;
      const atOnce = 16;
      const scopes = orgScope({ requestsPerMinute: limit });
      let admitted = 0;
      let flushes = 0;
      const worker = async (side: Side): Promise<void> => {
        for (let n = 0; n < 40; n += 1) {
          const outcome = await side.claim(slot, scopes);
          expect(outcome.kind).not.toBe("unavailable");
          if (outcome.kind !== "claimed") continue;
          admitted += 1;
          const scopeIds = ["org:shared"];
          const written = charged({ ageSeconds: 0, scopeIds, requests: admitted, tokens: 0 });
          for (const { journal } of [near, far]) journal[0] = written;
          side.store.release(outcome.lease, tokenCount(1, 0));
          if (admitted % 80 !== 0 || flushes === 3) continue;
          flushes += 1;
          await redis.command("flushall");
        }
      };
      const sides = Array.from({ length: atOnce }, (_, at) => (at % 2 === 0 ? near : far));
      await Promise.all(sides.map(worker));
      expect(flushes).toBe(3);
      expect(admitted).toBeGreaterThanOrEqual(limit);
      expect(admitted).toBeLessThanOrEqual(limit + flushes * atOnce);
    });

    test("and restarts with an old snapshot recovers its windows from the journal a second later", async () => {
      const slot = newSlot();
      const scopes = orgScope({ requestsPerMinute: 10 });
      for (let n = 0; n < 2; n += 1) await near.take(slot, scopes);
      await redis.command("save");
      for (let n = 0; n < 5; n += 1) await near.take(slot, scopes);
      await redis.kill();
      await redis.restart();
      const scopeIds = ["org:shared"];
      near.journal.push(charged({ ageSeconds: 1, scopeIds, requests: 7, tokens: 7 }));
      nowMs += 1_000;
      const lease = await until("it answers again", async () => {
        const outcome = await near.claim(slot, scopes);
        return outcome.kind === "claimed" ? outcome.lease : undefined;
      });
      expect(lease.remainingRequests).toBe(2);
    });

    test("makes claims unavailable while the journal fails, and reads the journal again at the next claim", async () => {
      const slot = newSlot();
      const scopes = orgScope({ requestsPerMinute: 10 });
      near.journalFails = true;
      expect((await near.claim(slot, scopes)).kind).toBe("unavailable");
      near.journalFails = false;
      expect((await near.claim(slot, scopes)).kind).toBe("claimed");
    });

    test("answering with errors: claims are unavailable for the damaged slot only", async () => {
      const slot = newSlot();
      await near.take(slot, orgScope({}));
      await redis.command("del", `tm:${slot}:use:org:shared`);
      await redis.command("set", `tm:${slot}:use:org:shared`, "not a hash");
      expect((await near.claim(slot, orgScope({}))).kind).toBe("unavailable");
      expect(await near.store.peek({ slot, scopes: orgScope({}) })).toBe(undefined);
      expect((await near.claim(newSlot(), orgScope({}))).kind).toBe("claimed");
    });

    test("counts no charge twice if only the marker of a slot is damaged", async () => {
      const slot = newSlot();
      const scopes = orgScope({ requestsPerMinute: 10, tokensPerMinute: 100 });
      const first = await near.take(slot, scopes, 30);
      await near.take(slot, scopes, 30);
      nowMs += 5_000;
      await near.take(slot, scopes, 2);
      await redis.command("set", `tm:${slot}`, "nonsense");
      const scopeIds = ["org:shared"];
      const charge = charged({ scopeIds, requests: 2, tokens: 20, ageSeconds: 5 });
      near.journal.push(charge, { ...charge, ageSeconds: 0, requests: 1 });
      expect(await near.take(slot, scopes, 1)).toMatchObject({
        remainingRequests: 6,
        remainingTokens: 19,
      });
      near.store.release(first, tokenCount(0, 0));
      expect(await near.take(slot, scopes, 1)).toMatchObject({ remainingTokens: 48 });
      nowMs += 56_000;
      expect(await near.take(slot, scopes, 1)).toMatchObject({ remainingRequests: 6 });
    });

    test("accepts releases of unknown requests, and no count falls below zero", async () => {
      const slot = newSlot();
      const scopes = orgScope({ requestsPerMinute: 10, tokensPerMinute: 1_000 });
      const [first, second] = [
        await near.take(slot, scopes, 90),
        await near.take(slot, scopes, 90),
      ];
      await redis.command("flushall");
      const third = await near.take(slot, scopes, 10);
      nowMs += 1_000;
      near.store.release(first, tokenCount(0, 0));
      near.store.undo(second);
      near.store.release(third, tokenCount(4, 0));
      expect(await near.take(slot, scopes, 6)).toMatchObject({
        remainingRequests: 9,
        remainingTokens: 994,
      });
    });

    test("frozen: claims become unavailable within seconds, and claims granted too late are released", async () => {
      const side = new Side(redis.url, { answerWithinMs: 1_000 });
      onTestFinished(() => side.store.close());
      onTestFinished(() => redis.resume());
      await side.store.ready(10_000);
      const slot = newSlot();
      const scopes = orgScope({ requestsPerMinute: 10, concurrent: 3 });
      await side.take(slot, scopes);
      redis.pause();
      const askedMs = systemClock.monotonicMs();
      const outcomes = await Promise.all([1, 2, 3].map(() => side.claim(slot, scopes)));
      expect(outcomes.map(({ kind }) => kind)).toEqual(Array(3).fill("unavailable"));
      expect(await side.store.peek({ slot, scopes })).toBe(undefined);
      expect(systemClock.monotonicMs() - askedMs).toBeLessThan(10_000);
      redis.resume();
      const lease = await until(
        "it answers again, with nothing of the late ones left",
        async () => {
          const outcome = await side.claim(slot, scopes);
          if (outcome.kind !== "claimed") return undefined;
          if (outcome.lease.remainingRequests === 8) return outcome.lease;
          side.store.undo(outcome.lease);
          return undefined;
        },
      );
      side.store.undo(lease);
      for (let n = 0; n < 2; n += 1) await side.take(slot, scopes);
      expect(await side.claim(slot, scopes)).toMatchObject({ limitKind: "concurrency" });
    });

    test("absent at the start: claims are unavailable, and work once Redis runs", async () => {
      await redis.kill();
      const early = new Side(redis.url);
      await early.store.ready(50);
      expect((await early.claim(newSlot(), orgScope({}))).kind).toBe("unavailable");
      await redis.restart();
      await early.store.ready(10_000);
      expect((await early.claim(newSlot(), orgScope({}))).kind).toBe("claimed");
      early.store.close();
    });

    test("out of memory: claims are unavailable, and releases sent beside them still free slots", async () => {
      const slot = newSlot();
      const scopes = orgScope({ concurrent: 2 });
      const leases = [await near.take(slot, scopes), await near.take(slot, scopes)];
      onTestFinished(async () => void (await redis.command("config", "set", "maxmemory", 0)));
      await redis.command("config", "set", "maxmemory", 1);
      expect((await near.claim(newSlot(), orgScope({}))).kind).toBe("unavailable");
      expect((await near.claim(slot, orgScope({}))).kind).toBe("unavailable");
      // A second later, the claim first drops expired leases, which needs no memory.
      nowMs += 1_000;
      expect((await near.claim(slot, orgScope({}))).kind).toBe("unavailable");
      // The release follows a claim in the same turn of the event loop, and must not be lost with it.
      const beside = near.claim(slot, orgScope({}));
      for (const lease of leases) near.store.release(lease, tokenCount(1, 0));
      await beside;
      await redis.command("config", "set", "maxmemory", 0);
      expect((await near.claim(slot, scopes)).kind).toBe("claimed");
    });
  },
);
