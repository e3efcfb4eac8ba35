import { inspect } from "node:util";

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { tokenCount, type ScopeClaim } from "../../src/gateway/limits/limit-store.ts";
import { RedisSharedHealth } from "../../src/gateway/routing/shared-health.ts";
import { until } from "../support/books.ts";
import { charged, newSlot, orgScope, Side } from "../support/redis-side.ts";
import { redisProgram, startRedis, withRedis, type TestRedis } from "../support/redis.ts";

const isMissing = redisProgram === undefined;

describe.skipIf(isMissing)("several instances on one Redis", () => {
  const redis = withRedis();
  let sides: readonly Side[] = [];
  beforeAll(async () => {
    sides = [1, 2, 3].map(() => new Side(redis.url));
    await Promise.all(sides.map(({ store }) => store.ready(10_000)));
  });
  afterAll(() => sides.forEach(({ store }) => store.close()));

  /** Claims from all instances at once. Returns the granted leases and the number of refusals. */
  async function claimAtOnce(slot: string, scopes: readonly ScopeClaim[], claims: number) {
    const each = sides.flatMap((side) =>
      Array.from({ length: claims }, async () => ({
        side,
        outcome: await side.claim(slot, scopes),
      })),
    );
    const outcomes = await Promise.all(each);
    const granted = outcomes.flatMap(({ side, outcome }) =>
      outcome.kind === "claimed" ? [{ side, lease: outcome.lease }] : [],
    );
    const refused = outcomes.filter(({ outcome }) => outcome.kind === "refused").length;
    return { granted, tally: [granted.length, refused] };
  }

  test("together admit exactly as many requests as the limit per minute allows", async () => {
    const scopes = orgScope({ requestsPerMinute: 500 });
    expect((await claimAtOnce(newSlot(), scopes, 400)).tally).toEqual([500, 700]);
  });

  test("together hold exactly as many requests as the concurrency limit allows, after many releases", async () => {
    const [slot, scopes] = [newSlot(), orgScope({ concurrent: 50 })];
    for (let round = 0; round < 20; round += 1) {
      const { granted, tally } = await claimAtOnce(slot, scopes, 60);
      expect(tally).toEqual([50, 130]);
      for (const [n, { side, lease }] of granted.entries()) {
        if (n % 2 === 0) side.store.undo(lease);
        else side.store.release(lease, tokenCount(1, 0));
      }
      // An instance answers this claim only after it has handled its releases.
      await Promise.all(sides.map((side) => side.claim(slot, [])));
    }
  });

  test("share one pace, and refuse the part of a common burst that would wait too long", async () => {
    const scopes = orgScope({ paced: { perSecond: 0.1, waitMsMax: 200_000 } });
    expect((await claimAtOnce(newSlot(), scopes, 10)).tally).toEqual([21, 9]);
  });

  test("leave no key in Redis without an expiry", async () => {
    const [side] = sides as [Side];
    const [slot, full] = [newSlot(), orgScope({ concurrent: 1 })];
    await side.take(slot, full);
    // A refused claim is the first that names this key.
    const key: ScopeClaim = { scope: "key", id: "key:new", limits: { requestsPerMinute: 5 } };
    expect((await side.claim(slot, [key, ...full])).kind).toBe("refused");
    const keys = (await redis.command("keys", "*")) as string[];
    expect(keys.length).toBeGreaterThan(4);
    for (const name of keys) {
      expect(name).toMatch(/^tm:\{org:shared-\d+\}/);
      expect(Number(await redis.command("ttl", name))).toBeGreaterThan(0);
    }
  });

  /** An instance whose clock is set by the test. */
  async function timedSide(now: () => number): Promise<Side> {
    const side = new Side(redis.url, { now });
    onTestFinished(() => side.store.close());
    await side.store.ready(10_000);
    return side;
  }

  test("have at most 61 fields of use per scope, however long the scope is used", async () => {
    let nowMs = 1_700_000_000_000;
    const side = await timedSide(() => nowMs);
    const slot = newSlot();
    for (let second = 0; second < 200; second += 1) {
      side.store.release(await side.take(slot, orgScope({})), tokenCount(1, 0));
      nowMs += 1_000;
    }
    expect(await redis.command("hlen", `tm:${slot}:use:org:shared`)).toBe(61);
  });

  test("keep the expiry of leases if a claim is sent together with the release of the only other lease", async () => {
    const side = await timedSide(() => 1_700_000_000_000);
    const slot = newSlot();
    const first = await side.take(slot, orgScope({}));
    const second = side.take(slot, orgScope({}));
    side.store.release(first, tokenCount(1, 0));
    await second;
    expect(await redis.command("zcard", `tm:${slot}:held:org:shared`)).toBe(1);
    // A key without an expiry has the time to live -1.
    expect(await redis.command("ttl", `tm:${slot}:held:org:shared`)).toBeGreaterThan(30);
  });

  test("keep the expiry of leases if the first claim of a second takes no place", async () => {
    let nowMs = 1_700_000_000_000;
    const side = await timedSide(() => nowMs);
    const [slot, scopes] = [newSlot(), orgScope({})];
    const [limited] = orgScope({ requestsPerMinute: 9 }) as [ScopeClaim];
    const held = `tm:${slot}:held:org:shared`;
    await side.take(slot, scopes);
    await redis.command("expire", held, 20);
    nowMs += 1_000;
    await side.take(slot, [{ ...limited, countsOnlyLimited: true }]);
    await side.take(slot, scopes);
    expect(await redis.command("zcard", held)).toBe(2);
    expect(await redis.command("ttl", held)).toBeGreaterThan(30);
  });

  test("free the slots of a dead instance when its leases end, and not earlier", async () => {
    let nowMs = 1_700_000_000_000;
    const [dead, side] = [await timedSide(() => nowMs), await timedSide(() => nowMs)];
    const key: ScopeClaim = { scope: "key", id: "key:unlimited", limits: {} };
    const [slot, scopes] = [newSlot(), [key, ...orgScope({ concurrent: 8 })]];
    for (let n = 0; n < 8; n += 1) await dead.take(slot, scopes);
    dead.store.close();
    nowMs += 14_000;
    expect(await side.claim(slot, scopes)).toMatchObject({ limitKind: "concurrency" });
    nowMs += 1_000;
    for (let n = 0; n < 8; n += 1) await side.take(slot, scopes);
    expect((await side.claim(slot, scopes)).kind).toBe("refused");
    // The dead instance's leases are also gone from a scope without limits.
    expect(await redis.command("zcard", `tm:${slot}:held:${key.id}`)).toBe(8);
  });
});

describe.skipIf(isMissing)("a replica", () => {
  test("answers reads and grants nothing", async () => {
    // By default a server waits five seconds for more replicas before it serves one.
    const leader = await startRedis(["--repl-diskless-sync-delay", "0"]);
    const replica = await startRedis(["--replicaof", "127.0.0.1", String(leader.port)]);
    const [side, reader] = [new Side(leader.url), new Side(replica.url)];
    await Promise.all([side.store.ready(10_000), reader.store.ready(10_000)]);
    const slot = newSlot();
    await side.take(slot, orgScope({}), 25);
    await until("the replica has it", async () => {
      const [usage] = (await reader.store.peek({ slot, scopes: orgScope({}) })) ?? [];
      return usage?.requests === 1 && usage.tokens === 25 && usage.inFlight === 1;
    });
    expect((await reader.claim(slot, orgScope({}))).kind).toBe("unavailable");
    side.store.close();
    reader.store.close();
    await Promise.all([replica.close(), leader.close()]);
  });
});

describe.skipIf(isMissing)("a Redis with a password", () => {
  test("accepts clients with the right password only, and no password is logged", async () => {
    const redis = await startRedis();
    await redis.command("acl", "setuser", "tm", "on", ">hush-2", "~*", "+@all");
    await redis.command("config", "set", "requirepass", "hush-1");
    const said: string[] = [];
    const report = (detail: object, message: string): void =>
      void said.push(`${message} ${inspect(detail, { depth: 9 })}`);
    const log = { info: report, warn: report, error: report };
    const address = `127.0.0.1:${redis.port}`;
    for (const user of [":hush-1", "tm:hush-2"]) {
      const side = new Side(`redis://${user}@${address}/3`, { log });
      await side.store.ready(10_000);
      expect((await side.claim(newSlot(), orgScope({}))).kind).toBe("claimed");
      side.store.close();
    }
    expect(said).toEqual([]);
    const stranger = new Side(`redis://:hush-3@${address}`, { log });
    await until("the refusal is logged", () => said.length > 0);
    expect((await stranger.claim(newSlot(), orgScope({}))).kind).toBe("unavailable");
    expect(said.join()).toContain("WRONGPASS");
    expect(said.join()).not.toContain("hush");
    stranger.store.close();
    await redis.close();
  });

  test.each(["localhost:6379", "http://x", "redis://:hush@x/words", ""])(
    "%j is refused as an address, and the error shows no password",
    (url) => {
      expect(() => new Side(url)).toThrow("redis_url must be redis[s]://");
      expect(() => new Side(url)).not.toThrow("hush");
    },
  );
});

describe.skipIf(isMissing)("a cluster", () => {
  test("serves claims, reads and cooldowns of every slot, even if only one server is configured", async () => {
    const servers = await Promise.all([1, 2, 3].map(() => startRedis(CLUSTER)));
    await joinCluster(servers);
    const side = new Side(servers.map(({ port }) => `redis://127.0.0.1:${port}`).join(","));
    await side.store.ready(20_000);
    const limits = { requestsPerMinute: 2, concurrent: 9 };
    const scopes: readonly ScopeClaim[] = [
      { scope: "key", id: "key:1", limits },
      ...orgScope({ ...limits, windows: [{ kind: "request", seconds: 3_600, limit: 9 }] }),
    ];
    const scopeIds = ["key:1", "org:shared"];
    side.journal.push(charged({ ageSeconds: 1, scopeIds, requests: 1, tokens: 1 }));
    for (let n = 0; n < 12; n += 1) {
      const slot = newSlot();
      side.store.release(await side.take(slot, scopes), tokenCount(5, 5));
      expect(await side.claim(slot, scopes)).toMatchObject({ limitKind: "rpm" });
      expect((await side.store.peek({ slot, scopes }))?.map(({ requests }) => requests)).toEqual([
        2, 2,
      ]);
      side.store.cool(slot, "key:1", 30);
      expect(await side.claim(slot, scopes)).toMatchObject({ limitKind: "capacity" });
    }
    const [teller, hearer] = [1, 2].map(() => new RedisSharedHealth({ link: side.store.link }));
    teller?.publish({ kind: "pool", id: "p", forMs: 60_000 });
    await until("a cooldown is received", async () => (await hearer?.read())?.length === 1);
    const sizes = await Promise.all(servers.map((each) => each.command("dbsize")));
    expect(sizes.filter((size) => Number(size) > 0).length).toBeGreaterThan(1);
    // In cluster mode the address of one server is enough to find the others.
    const url = servers[0]?.url ?? "";
    const seeded = new Side(url, { servers: { url, mode: "cluster" } });
    await seeded.store.ready(20_000);
    for (let n = 0; n < 12; n += 1) await seeded.take(newSlot(), orgScope({}));
    seeded.store.close();
    side.store.close();
    await Promise.all(servers.map((each) => each.close()));
  });
});

const CLUSTER = ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000"];
const HASH_SLOTS = 16_384;

async function joinCluster(servers: readonly TestRedis[]): Promise<void> {
  const share = Math.ceil(HASH_SLOTS / servers.length);
  for (const [at, server] of servers.entries()) {
    const last = Math.min(HASH_SLOTS, (at + 1) * share) - 1;
    await server.command("cluster", "addslotsrange", at * share, last);
    await server.command("cluster", "set-config-epoch", at + 1);
  }
  for (const server of servers) {
    for (const { port } of servers) await server.command("cluster", "meet", "127.0.0.1", port);
  }
  for (const server of servers) {
    await until("the cluster is whole", async () => {
      return String(await server.command("cluster", "info")).includes("cluster_state:ok");
    });
  }
}
