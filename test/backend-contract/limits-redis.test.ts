import { inspect } from "node:util";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { KeyId, OrgId } from "../../src/core/ids.ts";
import { systemClock } from "../../src/core/time.ts";
import {
  tokenCount,
  type ClaimOutcome,
  type LimitLease,
  type ScopeClaim,
} from "../../src/limits/limit-store.ts";
import type { RecentCharge } from "../../src/limits/recent-use.ts";
import {
  RedisLimitStore,
  type RedisLimitStoreOptions,
} from "../../src/storage/redis/redis-limit-store.ts";
import { RedisSharedHealth } from "../../src/storage/redis/redis-shared-health.ts";
import { until } from "../support/books.ts";
import { startLimitProcess, type LimitProcess } from "../support/limit-processes.ts";
import { redisProgram, startRedis, withRedis, type TestRedis } from "../support/redis.ts";
import { silentLog } from "../support/silent-log.ts";

const isMissing = redisProgram === undefined;
const UNAVAILABLE_WITHIN_MS = 10_000;
let slots = 0;
const newSlot = (): string => `{org:shared-${(slots += 1)}}`;

/** A store of this process, and what its journal would tell. */
class Side {
  readonly journal: RecentCharge[] = [];
  readonly store: RedisLimitStore;
  journalFails = false;
  asked = 0;

  constructor(url: string, more: Partial<RedisLimitStoreOptions> = {}) {
    const recentUse = (): Promise<readonly RecentCharge[]> => {
      this.asked += 1;
      if (this.journalFails) return Promise.reject(new Error("the journal is away"));
      return Promise.resolve(this.journal);
    };
    const clock = systemClock;
    this.store = new RedisLimitStore({
      url,
      recentUse: { recentUse },
      clock,
      log: silentLog,
      // Nobody is refused here because the machine is busy.
      answerWithinMs: 30_000,
      ...more,
    });
  }

  async claim(slot: string, scopes: readonly ScopeClaim[], tokens = 1): Promise<ClaimOutcome> {
    const [orgId, keyId] = ["o" as OrgId, "k" as KeyId];
    return await this.store.claim({
      orgId,
      keyId,
      slot,
      scopes,
      ...tokenCount(tokens, 0),
      nowMs: 0,
    });
  }

  async take(slot: string, scopes: readonly ScopeClaim[], tokens = 1): Promise<LimitLease> {
    const outcome = await this.claim(slot, scopes, tokens);
    if (outcome.kind !== "claimed") throw new Error(`not granted: ${JSON.stringify(outcome)}`);
    return outcome.lease;
  }
}

/** What the journal tells: so many tokens, all of them prompt. */
function charged(charge: Omit<RecentCharge, "promptTokens" | "completionTokens">): RecentCharge {
  return { ...charge, promptTokens: charge.tokens, completionTokens: 0 };
}

const orgScope = (limits: ScopeClaim["limits"]): readonly ScopeClaim[] => [
  { scope: "org", id: "org:shared", limits },
];

describe.skipIf(isMissing)("several processes on one Redis", () => {
  const redis = withRedis();
  let processes: LimitProcess[] = [];
  beforeAll(async () => {
    processes = await Promise.all([1, 2, 3].map(() => startLimitProcess(redis.url)));
  });
  afterAll(() => Promise.all(processes.map((each) => each.kill())));

  const all = async (
    act: "take" | "churn" | "give back",
    order: { slot: string; scopes: readonly ScopeClaim[]; claims?: number },
  ): Promise<{ claimed: number; refused: number; unavailable: number }> => {
    const tallies = await Promise.all(
      processes.map((each) => each.obey({ claims: 0, ...order, act })),
    );
    const sum = (of: "claimed" | "refused" | "unavailable"): number =>
      tallies.reduce((total, tally) => total + tally[of], 0);
    return {
      claimed: sum("claimed"),
      refused: sum("refused"),
      unavailable: sum("unavailable"),
    };
  };

  test("admit together exactly what a minute allows", async () => {
    const order = { slot: newSlot(), scopes: orgScope({ requestsPerMinute: 500 }), claims: 400 };
    const tally = await all("take", order);
    expect(tally).toEqual({ claimed: 500, refused: 700, unavailable: 0 });
  });

  test("hold together exactly as many as may run at once, after any churn", async () => {
    const order = { slot: newSlot(), scopes: orgScope({ concurrent: 50 }), claims: 60 };
    const full = { claimed: 50, refused: 130, unavailable: 0 };
    expect(await all("take", order)).toEqual(full);
    await all("give back", order);
    const churn = await all("churn", { ...order, claims: 40 });
    expect(churn.unavailable).toBe(0);
    expect(churn.claimed).toBeGreaterThan(50);
    expect(await all("take", order)).toEqual(full);
    await all("give back", order);
  });

  test("share a pace: a burst at all of them leaves at one rate", async () => {
    const paced = { perSecond: 0.1, waitMsMax: 200_000 };
    const order = { slot: newSlot(), scopes: orgScope({ paced }), claims: 10 };
    expect(await all("take", order)).toEqual({ claimed: 21, refused: 9, unavailable: 0 });
  });

  test("leave nothing in Redis for ever", async () => {
    const keys = (await redis.command("keys", "*")) as string[];
    expect(keys.length).toBeGreaterThan(5);
    for (const key of keys) {
      expect(key).toMatch(/^tm:\{org:shared-\d+\}/);
      expect(Number(await redis.command("ttl", key))).toBeGreaterThan(0);
    }
  });
});

describe.skipIf(isMissing)("what is stored in Redis", () => {
  test("is small, and gone when nobody uses it: buckets that have left, places that came back", async () => {
    const redis = await startRedis();
    let nowMs = 1_700_000_000_000;
    const side = new Side(redis.url, { now: () => nowMs });
    await side.store.ready(10_000);
    const slot = newSlot();
    for (let second = 0; second < 200; second += 1) {
      side.store.release(await side.take(slot, orgScope({})), tokenCount(1, 0));
      nowMs += 1_000;
    }
    expect(await redis.command("hlen", `tm:${slot}:use:org:shared`)).toBe(61);
    side.store.release(await side.take(slot, orgScope({})), tokenCount(1, 0));
    await side.take(slot, orgScope({}));
    for (const key of (await redis.command("keys", "*")) as string[]) {
      expect(Number(await redis.command("ttl", key))).toBeGreaterThan(0);
    }
    side.store.close();
    await redis.close();
  });
});

describe.skipIf(isMissing)("a process that is killed", () => {
  test("gives its places back when its leases end, and not before", async () => {
    const redis = await startRedis();
    const startMs = 1_700_000_000_000;
    let nowMs = startMs;
    const side = new Side(redis.url, { now: () => nowMs });
    await side.store.ready(10_000);
    const process = await startLimitProcess(redis.url, startMs);
    const key: ScopeClaim = { scope: "key", id: "key:unlimited", limits: {} };
    const scopes = [key, ...orgScope({ concurrent: 8 })];
    const order = { slot: newSlot(), scopes, claims: 8 };
    expect(await process.obey({ ...order, act: "take" })).toMatchObject({ claimed: 8 });
    await process.kill();
    nowMs = startMs + 14_000;
    expect(await side.claim(order.slot, order.scopes)).toMatchObject({ limitKind: "concurrency" });
    nowMs = startMs + 15_000;
    for (let n = 0; n < 8; n += 1) await side.take(order.slot, order.scopes);
    expect((await side.claim(order.slot, order.scopes)).kind).toBe("refused");
    // Nor does anything of it stay where nothing is limited.
    expect(await redis.command("zcard", `tm:${order.slot}:held:${key.id}`)).toBe(8);
    side.store.close();
    await redis.close();
  });
});

describe.skipIf(isMissing)("a Redis that loses its data", () => {
  let redis: TestRedis;
  let near: Side;
  let far: Side;
  let nowMs = 1_700_000_000_000;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());
  beforeEach(async () => {
    await redis.command("flushall");
    [near, far] = [1, 2].map(() => new Side(redis.url, { now: () => nowMs })) as [Side, Side];
    await Promise.all([near.store.ready(10_000), far.store.ready(10_000)]);
  });
  afterEach(() => {
    near.store.close();
    far.store.close();
  });

  test("gets the windows back from the journal before the next claim", async () => {
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

  test("gets a pool's declared tokens back too, each kind in its own window", async () => {
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
    const claim = { orgId: "o" as OrgId, keyId: "k" as KeyId, slot, scopes: completion, nowMs: 0 };
    expect(await near.store.claim({ ...claim, ...tokenCount(0, 11) })).toMatchObject({
      limitKind: "tpm",
    });
    expect((await near.store.claim({ ...claim, ...tokenCount(0, 10) })).kind).toBe("claimed");
  });

  test("counts nothing until its next claim, and a look refills nothing", async () => {
    const slot = newSlot();
    await near.take(slot, orgScope({}), 10);
    await redis.command("flushall");
    const looked = await far.store.peek({ slot, scopes: orgScope({}) });
    expect(looked).toEqual([{ requests: 0, tokens: 0, inFlight: 0 }]);
    expect(far.asked).toBe(0);
    expect(await redis.command("dbsize")).toBe(0);
  });

  test("asks the journal once, however many wait for the slot", async () => {
    const slot = newSlot();
    const scopes = orgScope({ requestsPerMinute: 100 });
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => near.claim(slot, scopes)));
    expect(outcomes.filter(({ kind }) => kind === "claimed")).toHaveLength(50);
    expect(near.asked).toBe(1);
    expect(await far.take(slot, scopes)).toMatchObject({ remainingRequests: 49 });
    expect(far.asked).toBe(0);
  });

  test("gets what is in flight back from those who hold it", async () => {
    const slot = newSlot();
    const scopes = orgScope({ concurrent: 6 });
    const leases = [];
    for (let n = 0; n < 3; n += 1) leases.push(await near.take(slot, scopes));
    for (let n = 0; n < 2; n += 1) await far.take(slot, scopes);
    await redis.command("flushall");
    // Who refills a slot tells at once what it holds there; the others do within seconds.
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

  test("admits no more under load than was on its way to the journal", async () => {
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

  test("and comes back with an old file is not believed from the next second on", async () => {
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

  test("refuses while the journal does not answer, and asks again", async () => {
    const slot = newSlot();
    const scopes = orgScope({ requestsPerMinute: 10 });
    near.journalFails = true;
    expect((await near.claim(slot, scopes)).kind).toBe("unavailable");
    near.journalFails = false;
    expect((await near.claim(slot, scopes)).kind).toBe("claimed");
  });

  test("or only its marker, counts nothing twice", async () => {
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

  test("hears of requests it does not know, and nothing goes below zero", async () => {
    const slot = newSlot();
    const scopes = orgScope({ requestsPerMinute: 10, tokensPerMinute: 1_000 });
    const [first, second] = [await near.take(slot, scopes, 90), await near.take(slot, scopes, 90)];
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
});

describe.skipIf(isMissing)("a Redis that does not answer", () => {
  let redis: TestRedis;
  let side: Side;
  beforeEach(async () => {
    redis = await startRedis();
    side = new Side(redis.url, { answerWithinMs: 1_000 });
    await side.store.ready(10_000);
  });
  afterEach(async () => {
    side.store.close();
    await redis.close();
  });
  const expectInTime = async (slot: string, scopes: readonly ScopeClaim[]): Promise<void> => {
    const askedMs = systemClock.monotonicMs();
    const outcomes = await Promise.all([1, 2, 3].map(() => side.claim(slot, scopes)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array(3).fill("unavailable"));
    expect(await side.store.peek({ slot, scopes })).toBe(undefined);
    expect(systemClock.monotonicMs() - askedMs).toBeLessThan(UNAVAILABLE_WITHIN_MS);
  };

  test("frozen: unavailable in time; what it grants too late is given back", async () => {
    const slot = newSlot();
    const scopes = orgScope({ requestsPerMinute: 10, concurrent: 3 });
    await side.take(slot, scopes);
    redis.pause();
    await expectInTime(slot, scopes);
    redis.resume();
    const lease = await until("it answers again, with nothing of the late ones left", async () => {
      const outcome = await side.claim(slot, scopes);
      if (outcome.kind !== "claimed") return undefined;
      if (outcome.lease.remainingRequests === 8) return outcome.lease;
      side.store.undo(outcome.lease);
      return undefined;
    });
    side.store.undo(lease);
    for (let n = 0; n < 2; n += 1) await side.take(slot, scopes);
    expect(await side.claim(slot, scopes)).toMatchObject({ limitKind: "concurrency" });
  });

  test("killed: unavailable at once; back by itself when it is started again", async () => {
    const slot = newSlot();
    const scopes = orgScope({ requestsPerMinute: 10 });
    const lease = await side.take(slot, scopes);
    await redis.kill();
    await expectInTime(slot, scopes);
    side.store.release(lease, tokenCount(1, 0));
    side.store.cool(slot, "org:shared", 5);
    await redis.restart();
    await until("it answers again", async () => {
      return (await side.claim(slot, scopes)).kind === "claimed";
    });
  });

  test("not there at the start: unavailable, and served once it is", async () => {
    const { port } = redis;
    await redis.kill();
    const early = new Side(`redis://127.0.0.1:${port}`);
    await early.store.ready(50);
    expect((await early.claim(newSlot(), orgScope({}))).kind).toBe("unavailable");
    await redis.restart();
    await early.store.ready(10_000);
    expect((await early.claim(newSlot(), orgScope({}))).kind).toBe("claimed");
    early.store.close();
  });

  test("answering with errors: unavailable, and only for the slot that is damaged", async () => {
    const slot = newSlot();
    await side.take(slot, orgScope({}));
    await redis.command("del", `tm:${slot}:use:org:shared`);
    await redis.command("set", `tm:${slot}:use:org:shared`, "not a hash");
    expect((await side.claim(slot, orgScope({}))).kind).toBe("unavailable");
    expect(await side.store.peek({ slot, scopes: orgScope({}) })).toBe(undefined);
    expect((await side.claim(newSlot(), orgScope({}))).kind).toBe("claimed");
  });
});

describe.skipIf(isMissing)("a replica", () => {
  test("answers a look, and grants nothing", async () => {
    // By itself it waits five seconds for more replicas before it serves one.
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
  test("lets in who knows it; who does not is refused, and the log does not tell it", async () => {
    const redis = await startRedis();
    await redis.command("acl", "setuser", "tm", "on", ">hush-2", "~*", "+@all");
    await redis.command("config", "set", "requirepass", "hush-1");
    const said: string[] = [];
    const tell = (detail: object, message: string): void =>
      void said.push(`${message} ${inspect(detail, { depth: 9 })}`);
    const log = { info: tell, warn: tell, error: tell };
    const address = `127.0.0.1:${redis.port}`;
    for (const user of [":hush-1", "tm:hush-2"]) {
      const side = new Side(`redis://${user}@${address}/3`, { log });
      await side.store.ready(10_000);
      expect((await side.claim(newSlot(), orgScope({}))).kind).toBe("claimed");
      side.store.close();
    }
    expect(said).toEqual([]);
    const stranger = new Side(`redis://:hush-3@${address}`, { log });
    await until("the refusal is told", () => said.length > 0);
    expect((await stranger.claim(newSlot(), orgScope({}))).kind).toBe("unavailable");
    expect(said.join()).toContain("WRONGPASS");
    expect(said.join()).not.toContain("hush");
    stranger.store.close();
    await redis.close();
  });

  test.each(["localhost:6379", "http://x", "redis://:hush@x/words", ""])(
    "%j is no address, and the fault does not repeat it",
    (url) => {
      expect(() => new Side(url)).toThrow("redis_url must be redis[s]://");
      expect(() => new Side(url)).not.toThrow("hush");
    },
  );
});

describe.skipIf(isMissing)("a cluster", () => {
  test("keeps each slot on one server, whatever is claimed there", async () => {
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
    await until("a rest is heard", async () => (await hearer?.read())?.length === 1);
    const sizes = await Promise.all(servers.map((each) => each.command("dbsize")));
    expect(sizes.filter((size) => Number(size) > 0).length).toBeGreaterThan(1);
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
