import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "../../src/kernel/core/time.ts";
import type { TortureDatabase } from "./database.ts";
import type { GatewayLife } from "./gateway-slot.ts";

const POLL_MS = 100;
/** Far longer than any promised time: reaching it shows that a promise was broken. */
const GIVE_UP_MS = 90_000;

/** A gateway that was killed or paused, as the ledger knows it. */
export interface Departed {
  readonly instanceId: string;
  readonly epoch: bigint;
  /** Number of attempts that it left open. */
  readonly open: number;
  /** End of its lease, in monotonic milliseconds. */
  readonly leaseEndsMs: number;
}

/** How other gateways closed the attempts of a departed one. */
export interface TakeOver {
  readonly how: "killed" | "frozen";
  readonly open: number;
  /** Milliseconds from the end of its lease to its last closing; negative if that came before. */
  readonly closedAfterLeaseMs: number;
}

/** Reads the gateway's row in the table of instances just after it stopped. */
export async function noteDeparture(
  database: TortureDatabase,
  life: GatewayLife,
): Promise<Departed> {
  const rows = await database.query<DepartedRow>(departedSql, [life.identity]);
  const row = rows[0];
  if (row === undefined) throw new Error("a gateway at work is an instance of the ledger");
  return {
    instanceId: row.instance_id,
    epoch: row.epoch,
    open: await openAttempts(database, row.instance_id, row.epoch),
    leaseEndsMs: systemClock.monotonicMs() + row.lease_left_ms,
  };
}

/** Waits up to 90 seconds until other gateways have closed all that the departed one left open. */
export async function awaitTakeOver(
  database: TortureDatabase,
  departed: Departed,
  how: TakeOver["how"],
): Promise<TakeOver> {
  const { instanceId, epoch, open, leaseEndsMs } = departed;
  const lastMs = systemClock.monotonicMs() + GIVE_UP_MS;
  for (;;) {
    const left = await openAttempts(database, instanceId, epoch);
    const nowMs = systemClock.monotonicMs();
    if (left === 0 || nowMs > lastMs) {
      return { how, open, closedAfterLeaseMs: Math.round(nowMs - leaseEndsMs) };
    }
    await sleep(POLL_MS);
  }
}

/** Returns whether the gateway has a lease, the old one or a new one. */
export async function holdsLease(database: TortureDatabase, life: GatewayLife): Promise<boolean> {
  const rows = await database.query<DepartedRow>(departedSql, [life.identity]);
  return (rows[0]?.lease_left_ms ?? 0) > 0;
}

async function openAttempts(
  database: TortureDatabase,
  instanceId: string,
  epoch: bigint,
): Promise<number> {
  const rows = await database.query<{ count: bigint }>(openSql, [instanceId, epoch]);
  return Number(rows[0]?.count);
}

interface DepartedRow {
  readonly instance_id: string;
  readonly epoch: bigint;
  readonly lease_left_ms: number;
}

const departedSql = `
  select i.instance_id, i.epoch,
    (extract(epoch from l.lease_until - clock_timestamp()) * 1000)::double precision
      as lease_left_ms
  from instance i join instance_lease l using (instance_id) where i.process = $1
  order by l.lease_until desc limit 1`;

const openSql = `
  select count(*) from hold where instance_id = $1 and epoch = $2 and not annulled`;
