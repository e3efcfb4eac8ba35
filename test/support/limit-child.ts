/**
 * A process with limits in Redis. It claims what its parent orders, reports what was granted, and
 * holds that until it is ordered to release it, or killed.
 */
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import {
  tokenCount,
  type ClaimOutcome,
  type LimitLease,
  type ScopeClaim,
} from "../../src/gateway/limits/limit-store.ts";
import { RedisLimitStore } from "../../src/gateway/limits/redis/redis-limit-store.ts";
import { silentLog } from "./silent-log.ts";

export interface LimitOrder {
  /** `churn`: releases each claim at once, again and again. */
  readonly act: "take" | "churn" | "give back";
  readonly slot: string;
  readonly scopes: readonly ScopeClaim[];
  readonly claims: number;
}

/** How many claims ended in which way. */
export interface LimitTally {
  claimed: number;
  refused: number;
  unavailable: number;
}

const [url = "", storeNowMs = ""] = process.argv.slice(2);
const store = new RedisLimitStore({
  servers: { url },
  recentUse: { recentUse: () => Promise.resolve([]) },
  clock: systemClock,
  log: silentLog,
  // No claim may be refused because the machine is busy.
  answerWithinMs: 60_000,
  ...(storeNowMs === "" ? {} : { now: () => Number(storeNowMs) }),
});
const held: LimitLease[] = [];

process.on("message", (order: LimitOrder) => void obey(order));
process.on("disconnect", () => process.exit(0));
await store.ready(10_000);
process.send?.("ready");

async function obey(order: LimitOrder): Promise<void> {
  const tally: LimitTally = { claimed: 0, refused: 0, unavailable: 0 };
  if (order.act === "give back") giveBack();
  else await Promise.all(Array.from({ length: order.claims }, () => takeOne(order, tally)));
  // The store answers this claim only after it has handled all releases before it.
  await claim({ ...order, scopes: [] });
  process.send?.(tally);
}

async function takeOne(order: LimitOrder, tally: LimitTally): Promise<void> {
  const times = order.act === "churn" ? 20 : 1;
  for (let n = 0; n < times; n += 1) {
    const outcome = await claim(order);
    tally[outcome.kind] += 1;
    if (outcome.kind !== "claimed") continue;
    if (order.act === "take") held.push(outcome.lease);
    else if (n % 2 === 0) store.undo(outcome.lease);
    else store.release(outcome.lease, tokenCount(1, 0));
  }
}

function giveBack(): void {
  for (const lease of held.splice(0)) store.release(lease, tokenCount(1, 0));
}

function claim({ slot, scopes }: LimitOrder): Promise<ClaimOutcome> {
  const orgId = "o" as OrgId;
  // The clock of this process must not matter, so it is far off.
  const nowMs = process.pid * 1_000_000;
  return store.claim({ orgId, slot, scopes, ...tokenCount(1, 0), nowMs });
}
