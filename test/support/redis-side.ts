import { healthScripts } from "../../src/gateway/routing/shared-health.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import {
  tokenCount,
  type ClaimOutcome,
  type LimitLease,
  type ScopeClaim,
} from "../../src/gateway/limits/limit-store.ts";
import type { RecentCharge } from "../../src/gateway/limits/recent-use-rows.ts";
import {
  RedisLimitStore,
  type RedisLimitStoreOptions,
} from "../../src/gateway/limits/redis/redis-limit-store.ts";
import { silentLog } from "./silent-log.ts";

let slots = 0;
export const newSlot = (): string => `{org:shared-${(slots += 1)}}`;

export class Side {
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
      servers: { url },
      recentUse,
      clock,
      log: silentLog,
      sharedScripts: healthScripts,
      // Longer than any delay on a busy machine, so that no claim is refused for it.
      answerWithinMs: 30_000,
      ...more,
    });
  }

  async claim(slot: string, scopes: readonly ScopeClaim[], tokens = 1): Promise<ClaimOutcome> {
    const orgId = "o" as OrgId;
    return await this.store.claim({
      orgId,
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

export function charged(
  charge: Omit<RecentCharge, "promptTokens" | "completionTokens">,
): RecentCharge {
  return { ...charge, promptTokens: charge.tokens, completionTokens: 0 };
}

export const orgScope = (limits: ScopeClaim["limits"]): readonly ScopeClaim[] => [
  { scope: "org", id: "org:shared", limits },
];
