import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  type CooldownNotice,
  healthScripts,
  RedisSharedHealth,
} from "../../src/gateway/routing/shared-health.ts";
import { RedisLink } from "../../src/kernel/storage/redis-client.ts";
import { until } from "../support/books.ts";
import { redisProgram, withRedis } from "../support/redis.ts";

const KEY = "tm:{health}";

/** One instance, with its connection to Redis and its view of the shared cooldowns. */
class Instance {
  readonly link: RedisLink;
  readonly shared: RedisSharedHealth;

  constructor(url: string, now?: () => number) {
    this.link = new RedisLink({ url }, healthScripts, () => undefined);
    this.shared = new RedisSharedHealth({ link: this.link, ...(now && { now }) });
  }

  /** Publishes, and waits until the server has it. */
  async publish(notice: CooldownNotice): Promise<void> {
    this.shared.publish(notice);
    // Commands of one connection are answered in their order.
    await this.shared.read();
  }
}

describe.skipIf(redisProgram === undefined)("a cooldown that instances share in Redis", () => {
  const redis = withRedis();
  let near: Instance;
  let far: Instance;
  let nowMs = 1_700_000_000_000;
  beforeEach(async () => {
    await redis.command("flushall");
    [near, far] = [1, 2].map(() => new Instance(redis.url, () => nowMs)) as [Instance, Instance];
    await Promise.all([near.link.ready(10_000), far.link.ready(10_000)]);
  });
  afterEach(() => {
    near.link.close();
    far.link.close();
  });

  test("reaches the other instances for as long as it lasts, but not its sender", async () => {
    await near.publish({ kind: "circuit", id: "acme-ai/small", forMs: 5_000 });
    await near.publish({ kind: "pool", id: "a pool of two words", forMs: 20_000 });
    nowMs += 2_000;
    expect(await far.shared.read()).toEqual([
      { kind: "circuit", id: "acme-ai/small", forMs: 3_000 },
      { kind: "pool", id: "a pool of two words", forMs: 18_000 },
    ]);
    expect(await near.shared.read()).toEqual([]);
    nowMs += 3_000;
    expect((await far.shared.read()).map(({ kind }) => kind)).toEqual(["pool"]);
    nowMs += 15_000;
    expect(await far.shared.read()).toEqual([]);
  });

  test("is read once with the longest of several notices", async () => {
    const third = new Instance(redis.url, () => nowMs);
    await third.link.ready(10_000);
    await near.publish({ kind: "pool", id: "p", forMs: 9_000 });
    await near.publish({ kind: "pool", id: "p", forMs: 1_000 });
    await far.publish({ kind: "pool", id: "p", forMs: 4_000.5 });
    await far.publish({ kind: "circuit", id: "p", forMs: 2_000 });
    const received = await third.shared.read();
    expect(received).toHaveLength(2);
    expect(received).toContainEqual({ kind: "pool", id: "p", forMs: 9_000 });
    expect(received).toContainEqual({ kind: "circuit", id: "p", forMs: 2_000 });
    expect(await near.shared.read()).toContainEqual({ kind: "pool", id: "p", forMs: 4_001 });
    third.link.close();
  });

  test("lasts at most 75 seconds, whatever a notice says", async () => {
    for (const forMs of [Infinity, Number.NaN, -1, 0]) {
      await near.publish({ kind: "pool", id: String(forMs), forMs });
    }
    expect(await far.shared.read()).toEqual([{ kind: "pool", id: "Infinity", forMs: 75_000 }]);
  });

  test("does not last for hours after the clock was set back", async () => {
    await near.publish({ kind: "pool", id: "p", forMs: 60_000 });
    nowMs -= 7_200_000;
    expect(await far.shared.read()).toEqual([]);
    await far.publish({ kind: "pool", id: "q", forMs: 60_000 });
    expect(await redis.command("zcard", KEY)).toBe(1);
    nowMs += 7_200_000;
  });

  test("is stored in one key of at most 1,000 cooldowns, which drops the earliest ends and expires", async () => {
    for (let n = 1; n <= 1_200; n += 1) {
      near.shared.publish({ kind: "circuit", id: `d${n}`, forMs: n * 10 });
    }
    await near.shared.read();
    const ids = (await far.shared.read()).map(({ id }) => id);
    expect(ids).toHaveLength(1_000);
    expect(ids).not.toContain("d200");
    expect(ids).toContain("d1200");
    nowMs += 11_000;
    await far.publish({ kind: "pool", id: "p", forMs: 1_000 });
    expect(await redis.command("zcard", KEY)).toBe(101);
    expect(Number(await redis.command("pttl", KEY))).toBeGreaterThan(60_000);
    expect(Number(await redis.command("pttl", KEY))).toBeLessThanOrEqual(75_000);
    expect(await redis.command("dbsize")).toBe(1);
  });

  test("is not reported while Redis is down or holds invalid data, and is shared again afterwards", async () => {
    await redis.command("set", KEY, "not a set");
    await near.publish({ kind: "pool", id: "p", forMs: 60_000 });
    expect(await far.shared.read()).toEqual([]);
    await redis.command("del", KEY);
    await redis.command("zadd", KEY, nowMs + 1_000, "nonsense", nowMs + 1_000, "a weather rain");
    expect(await far.shared.read()).toEqual([]);
    await redis.kill();
    near.shared.publish({ kind: "pool", id: "p", forMs: 60_000 });
    expect(await far.shared.read()).toEqual([]);
    await redis.restart();
    await until("it is received again", async () => {
      near.shared.publish({ kind: "pool", id: "p", forMs: 60_000 });
      return (await far.shared.read()).length === 1;
    });
  });
});
