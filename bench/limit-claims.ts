import type { OrgId } from "../src/core/ids.ts";
import { systemClock } from "../src/core/time.ts";
import {
  tokenCount,
  type LimitClaim,
  type LimitLease,
  type LimitStore,
  type ScopeClaim,
} from "../src/limits/limit-store.ts";
import { MemoryLimitStore } from "../src/limits/memory/memory-limit-store.ts";
import { RedisLimitStore } from "../src/limits/redis/redis-limit-store.ts";
import { redisProgram, startRedis, type TestRedis } from "../test/support/redis.ts";

/**
 * What a limit claim costs this process: in memory, and in Redis at 64 claims in flight, for an
 * organization and a key (two scopes), and with model, endpoint and pool (five). Needs
 * `redis-server` or `valkey-server` on PATH. Run: `npx tsx bench/limit-claims.ts [claims per line]`.
 */
const claimsPerLine = Number(process.argv[2] ?? 100_000);
const ORGS = 50;
const IN_FLIGHT = 64;
const BLOCK = 2_000;

interface Line {
  readonly store: string;
  readonly scopes: number;
  readonly claimUs: number;
  readonly claimAndReleaseUs: number;
  readonly serverUsPerClaimAndRelease?: number;
  readonly claimsPerSecond: number;
}

const limits = { requestsPerMinute: 1e9, tokensPerMinute: 1e12, concurrent: 1e6 };
const SCOPES = ["key", "org", "model", "endpoint", "pool"] as const;
const observed = tokenCount(900, 100);

const LINES: Line[] = [];
for (const scopes of [2, 5]) LINES.push(await measure("memory", new MemoryLimitStore(), scopes));
if (redisProgram === undefined) console.log("no Redis server on PATH: its lines are missing");
else await measureRedis();
console.table(LINES);

async function measureRedis(): Promise<void> {
  const redis = await startRedis();
  const store = new RedisLimitStore({
    servers: { url: redis.url },
    recentUse: { recentUse: () => Promise.resolve([]) },
    clock: systemClock,
    log: { info: () => undefined, warn: console.warn, error: console.error },
  });
  await store.ready(10_000);
  for (const scopes of [2, 5]) LINES.push(await measure("Redis", store, scopes, redis));
  store.close();
  await redis.close();
}

async function measure(
  name: string,
  store: LimitStore,
  scopes: number,
  redis?: TestRedis,
): Promise<Line> {
  const orgs = Array.from({ length: ORGS }, (_, at) => scopesOf(at, scopes));
  await cycles(store, orgs, claimsPerLine / 5);
  const serverBefore = await serverCpuUs(redis);
  const startMs = systemClock.monotonicMs();
  const both = await cpuUs(() => cycles(store, orgs, claimsPerLine));
  const seconds = (systemClock.monotonicMs() - startMs) / 1_000;
  const server = (await serverCpuUs(redis)) - serverBefore;
  return {
    store: name,
    scopes,
    claimUs: round(await claimsAlone(store, orgs)),
    claimAndReleaseUs: round(both / claimsPerLine),
    ...(redis === undefined ? {} : { serverUsPerClaimAndRelease: round(server / claimsPerLine) }),
    claimsPerSecond: Math.round(claimsPerLine / seconds),
  };
}

function scopesOf(org: number, count: number): readonly ScopeClaim[] {
  return SCOPES.slice(0, count).map((scope) => ({
    scope,
    id: `${scope}:${scope}_9f2c41d07a3b${org}`,
    limits,
    countsRequests: true,
  }));
}

async function cycles(
  store: LimitStore,
  orgs: readonly (readonly ScopeClaim[])[],
  count: number,
): Promise<void> {
  await inFlight(count, async (at) => {
    store.release(await claimOne(store, orgs, at), observed, systemClock.monotonicMs());
  });
}

/** Processor microseconds of one claim, when the releases are not counted. */
async function claimsAlone(
  store: LimitStore,
  orgs: readonly (readonly ScopeClaim[])[],
): Promise<number> {
  let spent = 0;
  const blocks = Math.ceil(claimsPerLine / BLOCK);
  for (let block = 0; block < blocks; block += 1) {
    const leases: LimitLease[] = [];
    spent += await cpuUs(() =>
      inFlight(BLOCK, async (at) => void leases.push(await claimOne(store, orgs, at))),
    );
    for (const lease of leases) store.release(lease, observed, systemClock.monotonicMs());
    // The releases are over when a claim behind them is answered.
    store.undo(await claimOne(store, orgs, 0), systemClock.monotonicMs());
  }
  return spent / (blocks * BLOCK);
}

async function claimOne(
  store: LimitStore,
  orgs: readonly (readonly ScopeClaim[])[],
  at: number,
): Promise<LimitLease> {
  const org = at % ORGS;
  const claim: LimitClaim = {
    orgId: "org" as OrgId,
    slot: `{org:org_9f2c41d07a3b${org}}`,
    scopes: orgs[org] ?? [],
    ...tokenCount(1_200, 4_096),
    nowMs: systemClock.monotonicMs(),
  };
  const answer = store.claim(claim);
  const outcome = answer instanceof Promise ? await answer : answer;
  if (outcome.kind !== "claimed") throw new Error(JSON.stringify(outcome));
  return outcome.lease;
}

async function inFlight(count: number, one: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await one((next += 1));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

async function cpuUs(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

async function serverCpuUs(redis: TestRedis | undefined): Promise<number> {
  const info = (await redis?.command("info", "cpu")) as string | undefined;
  const seconds = (name: string): number =>
    Number(new RegExp(`${name}:([0-9.]+)`).exec(info ?? "")?.[1] ?? 0);
  return (seconds("used_cpu_user") + seconds("used_cpu_sys")) * 1e6;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
