import {
  type AttemptId,
  attemptIdMaker,
  type Clock,
  LEASE_MS,
  LEASE_RENEW_MS,
  type Logger,
  MAINTAIN_EVERY_MS,
} from "../core/index.ts";
import type { LedgerBatchStore, Membership } from "./ledger-batch-store.ts";
import type { LedgerCounts } from "./ledger-counts.ts";
import { StoreClock } from "./store-clock.ts";

/** Stop taking traffic this long before the store may give the instance away. */
const SAFETY_MS = 1_000;
const RECOVERY_EVERY_MS = 3_000;
/**
 * After an outage of the store every lease has run out: an instance that declares others dead must
 * have held its own lease for so long that the living have renewed theirs.
 */
const SETTLED_MS = 3 * LEASE_RENEW_MS;
const ATTEMPT_TIME_SHIFT = 22n;

export interface InstanceLeaseOptions {
  readonly store: LedgerBatchStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly instanceName: string;
  /** Attempts that were recovered are added here. */
  readonly counts?: Pick<LedgerCounts, "recovered">;
}

/** This instance's place among the others: its epoch, its lease, and the care for dead peers. */
export class InstanceLease {
  readonly #options: InstanceLeaseOptions;
  #member: Membership;
  #makeAttemptId: (nowMs: number) => AttemptId;
  #attemptFloorMs: number;
  readonly #storeClock: StoreClock;
  #maintainedAtMs: number;
  #validUntilMs: number;
  #heldSinceMs: number;
  #renewal: NodeJS.Timeout | undefined;
  #recovery: NodeJS.Timeout | undefined;
  #isEnded = false;

  private constructor(
    options: InstanceLeaseOptions,
    member: Membership,
    { askedAtMs, joinedAtMs }: { readonly askedAtMs: number; readonly joinedAtMs: number },
  ) {
    this.#options = options;
    this.#member = member;
    this.#makeAttemptId = attemptIdMaker(member.number);
    this.#attemptFloorMs = floorMsOf(member);
    const { storeNowMs } = member;
    this.#storeClock = new StoreClock(options.clock, { askedAtMs: joinedAtMs, storeNowMs });
    this.#maintainedAtMs = askedAtMs;
    this.#heldSinceMs = askedAtMs;
    this.#validUntilMs = askedAtMs + LEASE_MS - SAFETY_MS;
  }

  /** Joins, and closes what an earlier life of this instance left open. */
  static async start(options: InstanceLeaseOptions): Promise<InstanceLease> {
    const askedAtMs = options.clock.monotonicMs();
    await options.store.maintain();
    const joinedAtMs = options.clock.monotonicMs();
    const member = await options.store.join(options.instanceName, LEASE_MS);
    const lease = new InstanceLease(options, member, { askedAtMs, joinedAtMs });
    await lease.#recover();
    lease.#renewal = setTimeout(() => void lease.#renewLoop(), LEASE_RENEW_MS).unref();
    lease.#recovery = setTimeout(() => void lease.#recoveryLoop(), RECOVERY_EVERY_MS).unref();
    return lease;
  }

  get member(): Membership {
    return this.#member;
  }

  /** By the monotonic clock, so a process that slept through its lease knows at once. */
  get isHeld(): boolean {
    return !this.#isEnded && this.#options.clock.monotonicMs() < this.#validUntilMs;
  }

  /** For how long it is held without another renewal. */
  get leftMs(): number {
    if (this.#isEnded) return 0;
    return Math.max(0, this.#validUntilMs - this.#options.clock.monotonicMs());
  }

  /** By the store's clock: a host's own clock may be days off. */
  newAttemptId(): AttemptId {
    return this.#makeAttemptId(Math.max(this.#storeClock.nowMs(), this.#attemptFloorMs));
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    clearTimeout(this.#renewal);
    clearTimeout(this.#recovery);
    try {
      await this.#options.store.leave(this.#member);
    } catch (error) {
      // The lease ends by itself.
      this.#options.log.warn({ err: error }, "the ledger lease could not be ended");
    }
  }

  async #renewLoop(): Promise<void> {
    try {
      await this.#renew();
    } catch (error) {
      this.#options.log.warn({ err: error }, "the ledger lease could not be renewed");
    }
    if (this.#isEnded) return;
    this.#renewal = setTimeout(() => void this.#renewLoop(), LEASE_RENEW_MS).unref();
  }

  async #renew(): Promise<void> {
    const { store, clock, log, instanceName } = this.#options;
    const askedAtMs = clock.monotonicMs();
    if (askedAtMs >= this.#validUntilMs) this.#heldSinceMs = askedAtMs;
    const storeNowMs = await store.renewLease(this.#member, LEASE_MS);
    if (storeNowMs !== undefined) {
      this.#storeClock.observe({ askedAtMs, storeNowMs });
    } else {
      log.error({ instance: this.#member.instanceId }, "declared dead by a peer; joining again");
      this.#validUntilMs = Number.NEGATIVE_INFINITY;
      const { number } = this.#member;
      this.#member = await store.join(instanceName, LEASE_MS);
      // The old maker continues where it can: it knows the ids that are still in flight.
      if (this.#member.number !== number) {
        this.#makeAttemptId = attemptIdMaker(this.#member.number);
      }
      this.#attemptFloorMs = floorMsOf(this.#member);
      this.#storeClock.observe({ askedAtMs, storeNowMs: this.#member.storeNowMs });
      this.#heldSinceMs = askedAtMs;
    }
    this.#validUntilMs = askedAtMs + LEASE_MS - SAFETY_MS;
  }

  async #recoveryLoop(): Promise<void> {
    const heldMs = this.#options.clock.monotonicMs() - this.#heldSinceMs;
    try {
      if (this.isHeld && heldMs >= SETTLED_MS) {
        const dead = await this.#options.store.takeOverDeadInstances();
        if (dead.length > 0) this.#options.log.warn({ dead }, "instances declared dead");
        await this.#recover();
      }
      await this.#maintain();
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        "recovery of dead instances failed; it will be retried",
      );
    }
    if (this.#isEnded) return;
    this.#recovery = setTimeout(() => void this.#recoveryLoop(), RECOVERY_EVERY_MS).unref();
  }

  async #maintain(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#maintainedAtMs < MAINTAIN_EVERY_MS) return;
    await this.#options.store.maintain();
    this.#maintainedAtMs = nowMs;
  }

  async #recover(): Promise<void> {
    const attempts = await this.#options.store.recoverOpenAttempts();
    if (attempts === 0) return;
    const { counts } = this.#options;
    if (counts !== undefined) counts.recovered += attempts;
    this.#options.log.warn(
      { attempts },
      "open attempts of a dead instance closed at their reserve",
    );
  }
}

/** The store's millisecond from which every new id is above the journal's last one. */
function floorMsOf(member: Membership): number {
  const nowMs = member.storeNowMs;
  const probe: bigint = attemptIdMaker(member.number)(nowMs);
  if (member.attemptIdFloor < probe) return 0;
  return nowMs + Number((member.attemptIdFloor - probe) >> ATTEMPT_TIME_SHIFT) + 1;
}
