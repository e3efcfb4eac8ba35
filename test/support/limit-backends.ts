import type { OrgId } from "../../src/kernel/core/ids.ts";
import { systemClock, type Clock } from "../../src/kernel/core/time.ts";
import {
  tokenCount,
  type ClaimOutcome,
  type LimitClaim,
  type LimitLease,
  type LimitSet,
  type LimitStore,
  type ScopeClaim,
  type ScopeUsage,
  type TokenCount,
} from "../../src/gateway/limits/limit-store.ts";
import { MemoryLimitStore } from "../../src/gateway/limits/memory/memory-limit-store.ts";
import { RedisLimitStore } from "../../src/gateway/limits/redis/redis-limit-store.ts";
import { redisProgram, startRedis } from "./redis.ts";
import { silentLog } from "./silent-log.ts";

const REFRESH_MS = 2_500;
const START_MS = 1_700_000_000_000;

/** A limit store whose clock the test moves. */
export interface LimitBackend {
  readonly store: LimitStore;
  readonly nowMs: number;
  /** Moves the clock, and runs the work that the store does by itself from time to time. */
  advance(ms: number): Promise<void>;
  /** Returns a new slot (a Redis hash tag). Claims in different slots do not affect each other. */
  newSlot(): string;
  close(): Promise<void>;
}

export const limitBackends: readonly {
  readonly name: string;
  readonly isMissing: boolean;
  open(): Promise<LimitBackend>;
}[] = [
  { name: "in memory", isMissing: false, open: () => Promise.resolve(memoryBackend()) },
  { name: "in Redis", isMissing: redisProgram === undefined, open: redisBackend },
];

/** Returns a clock and slots for a store; `onAdvance` runs when the clock has moved. */
function timeAndSlots(onAdvance: (ms: number) => Promise<void>) {
  let nowMs = START_MS;
  let slots = 0;
  return {
    get nowMs() {
      return nowMs;
    },
    advance: async (ms: number) => {
      nowMs += ms;
      await onAdvance(ms);
    },
    newSlot: () => `{org:${(slots += 1)}}`,
  };
}

function memoryBackend(): LimitBackend {
  const close = (): Promise<void> => Promise.resolve();
  return Object.assign(timeAndSlots(close), { store: new MemoryLimitStore(), close });
}

async function redisBackend(): Promise<LimitBackend> {
  const redis = await startRedis();
  // The caller's clock moves only in `advance`, so that no claim is too old on a busy machine.
  let movedMs = 0;
  let refreshedMs = 0;
  const clock: Clock = { ...systemClock, monotonicMs: () => movedMs };
  const time = timeAndSlots(async (ms) => {
    movedMs += Math.max(0, ms);
    if (movedMs - refreshedMs < REFRESH_MS) return;
    refreshedMs = movedMs;
    await store.refresh();
  });
  const store = new RedisLimitStore({
    servers: { url: redis.url },
    recentUse: () => Promise.resolve([]),
    clock,
    log: silentLog,
    now: () => time.nowMs,
  });
  await store.ready(10_000);
  const close = async (): Promise<void> => {
    store.close();
    await redis.close();
  };
  return Object.assign(time, { store, close });
}

/** A caller in one slot, which claims at the time of the store's clock. */
export class LimitCaller {
  readonly #world: LimitBackend;
  readonly slot: string;
  /** Keeps this slot's scope ids apart from others, because the memory store ignores slots. */
  readonly #mark: string;

  constructor(world: LimitBackend) {
    this.#world = world;
    this.slot = world.newSlot();
    this.#mark = `@${this.slot.slice(1, -1)}`;
  }

  scope(name: ScopeClaim["scope"], id: string, limits: LimitSet): ScopeClaim {
    return { scope: name, id: `${name}:${id}${this.#mark}`, limits };
  }

  async claim(
    scopes: readonly ScopeClaim[],
    tokens: TokenCount | number = 1,
    departed?: readonly ScopeClaim[],
  ): Promise<ClaimOutcome> {
    const claim: LimitClaim = {
      orgId: "o" as OrgId,
      slot: this.slot,
      scopes,
      departed,
      ...(typeof tokens === "number" ? tokenCount(tokens, 0) : tokens),
      nowMs: this.#world.nowMs,
    };
    return await this.#world.store.claim(claim);
  }

  /** Claims, and throws if the claim is refused. */
  async take(scopes: readonly ScopeClaim[], tokens: TokenCount | number = 1): Promise<LimitLease> {
    const outcome = await this.claim(scopes, tokens);
    if (outcome.kind !== "claimed") throw new Error(`not granted: ${JSON.stringify(outcome)}`);
    return outcome.lease;
  }

  release(lease: LimitLease, observed: TokenCount | number): void {
    const tokens = typeof observed === "number" ? tokenCount(observed, 0) : observed;
    this.#world.store.release(lease, tokens, this.#world.nowMs);
  }

  depart(lease: LimitLease, departed: readonly ScopeClaim[]): void {
    this.#world.store.depart(lease, departed, this.#world.nowMs);
  }

  undo(lease: LimitLease): void {
    this.#world.store.undo(lease, this.#world.nowMs);
  }

  async peek(scopes: readonly ScopeClaim[]): Promise<readonly ScopeUsage[] | undefined> {
    return await this.#world.store.peek({ slot: this.slot, scopes, nowMs: this.#world.nowMs });
  }

  cool({ id }: ScopeClaim, seconds: number): void {
    this.#world.store.cool(this.slot, id, seconds, this.#world.nowMs);
  }
}
