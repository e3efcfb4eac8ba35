import {
  type AttemptId,
  attemptIdMaker,
  type Clock,
  LEASE_MS,
  LEASE_RENEW_MS,
  type Logger,
  MAINTAIN_EVERY_MS,
  utcDay,
} from "../kernel/index.ts";
import { StuckAttempts } from "./books-figures.ts";
import {
  BatchFault,
  type LedgerBatchStore,
  type Membership,
  type Witness,
} from "./ledger-batch-store.ts";
import type { LedgerCounts } from "./ledger-counts.ts";

/** The clocks of two hosts drift apart by less than one millisecond in this time. */
const MS_PER_DRIFT_MS = 2_000;
/** The store reports its clock in whole milliseconds, rounded down. */
const READING_MS = 1;

/**
 * Estimates the store's clock, and is never ahead of it. Each answer of the store contains a
 * reading, taken at an unknown time between the question and the answer. Several readings narrow
 * the estimate, so that one slow answer does not make it less exact.
 */
export class StoreClock {
  readonly #clock: Clock;
  #ahead: ClockBounds;

  constructor(clock: Clock, first: StoreReading) {
    this.#clock = clock;
    this.#ahead = this.#saidBy(first);
  }

  /** Returns the lowest possible time of the store's clock, in milliseconds since 1970. */
  nowMs(): number {
    return Math.floor(this.#clock.monotonicMs() + this.#ahead.leastMs);
  }

  /** Adds a reading. Call it as soon as the answer has arrived: a delay makes it less exact. */
  observe(reading: StoreReading): void {
    const said = this.#saidBy(reading);
    const known = this.#ahead;
    const driftMs = (said.atMs - known.atMs) / MS_PER_DRIFT_MS;
    const leastMs = Math.max(said.leastMs, known.leastMs - driftMs);
    const mostMs = Math.min(said.mostMs, known.mostMs + driftMs);
    // If the bounds contradict each other, the store's clock was set meanwhile.
    this.#ahead = leastMs <= mostMs ? { leastMs, mostMs, atMs: said.atMs } : said;
  }

  #saidBy({ askedAtMs, storeNowMs }: StoreReading): ClockBounds {
    const atMs = this.#clock.monotonicMs();
    return { leastMs: storeNowMs - atMs, mostMs: storeNowMs + READING_MS - askedAtMs, atMs };
  }
}

/** The store's clock minus the monotonic clock at `atMs`. Drift widens the bounds over time. */
interface ClockBounds {
  readonly leastMs: number;
  readonly mostMs: number;
  readonly atMs: number;
}

export interface StoreReading {
  readonly askedAtMs: number;
  readonly storeNowMs: number;
}

/** How long before the end of its lease an instance stops taking traffic. */
const SAFETY_MS = 1_000;
const RECOVERY_EVERY_MS = 3_000;
/**
 * How long an instance must have held its lease before it declares others dead. After an outage of
 * the store all leases have ended, and living instances need this time to renew theirs.
 */
const SETTLED_MS = 3 * LEASE_RENEW_MS;
const ATTEMPT_TIME_SHIFT = 22n;

export interface LedgerOptions {
  readonly store: LedgerBatchStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Must stay the same when an instance restarts, and differ between instances. */
  readonly instanceName: string;
  readonly counts?: LedgerCounts;
  /** The reaction if a restore of the database has removed commits; `stop` if absent. */
  readonly onGoneBack?: "stop" | "go_on";
}

/** Renews the lease of this instance, and closes attempts that dead instances have left open. */
export class InstanceLease {
  readonly #options: LedgerOptions;
  #member: Membership;
  #makeAttemptId: (nowMs: number) => AttemptId;
  #attemptFloorMs: number;
  readonly #storeClock: StoreClock;
  #maintainedAtMs: number;
  /** The store's UTC day, in days since 1970, at the last maintenance. */
  #maintainedDay: number;
  #validUntilMs: number;
  #heldSinceMs: number;
  #renewal: NodeJS.Timeout | undefined;
  #recovery: NodeJS.Timeout | undefined;
  #isEnded = false;
  #witness: Witness;
  /** Why this instance takes no traffic; undefined if it may take traffic. */
  #stopReason: string | undefined;
  /** True if this instance went on serving after the books were rolled back (`onGoneBack`). */
  #hasGoneOn = false;
  #renewing: Promise<void> = Promise.resolve();
  readonly #stuck = new StuckAttempts((attemptId, fault) => {
    this.#options.log.error(
      { attemptId: String(attemptId), err: fault },
      "the closing of an open attempt breaks a rule of the books; run `tokenmarket ledger audit`",
    );
  });

  private constructor(
    options: LedgerOptions,
    member: Membership,
    { askedAtMs, joinedAtMs }: { readonly askedAtMs: number; readonly joinedAtMs: number },
  ) {
    this.#options = options;
    this.#member = member;
    this.#makeAttemptId = attemptIdMaker(member.number);
    this.#attemptFloorMs = computeFloorMs(member);
    const { storeNowMs } = member;
    this.#storeClock = new StoreClock(options.clock, { askedAtMs: joinedAtMs, storeNowMs });
    this.#maintainedAtMs = askedAtMs;
    this.#maintainedDay = utcDay(storeNowMs);
    this.#heldSinceMs = askedAtMs;
    this.#validUntilMs = askedAtMs + LEASE_MS - SAFETY_MS;
    this.#witness = freshWitness(member);
  }

  /** Joins the ledger, and closes the attempts that an earlier run of this instance left open. */
  static async start(options: LedgerOptions): Promise<InstanceLease> {
    const askedAtMs = options.clock.monotonicMs();
    await options.store.maintain();
    const stopReason =
      options.onGoneBack === "go_on" ? undefined : await options.store.stopReason();
    const joinedAtMs = options.clock.monotonicMs();
    // While an alarm stops all instances, this one joins without a lease, because the books can be
    // reopened only while no instance has one.
    const leaseMs = stopReason === undefined ? LEASE_MS : 0;
    const member = await options.store.join(options.instanceName, leaseMs);
    const lease = new InstanceLease(options, member, { askedAtMs, joinedAtMs });
    if (stopReason === undefined) await lease.#recover();
    else lease.#stop(stopReason);
    options.store.onReconnect(() => lease.#prove());
    lease.#renewal = setTimeout(() => void lease.#renewLoop(), LEASE_RENEW_MS).unref();
    lease.#recovery = setTimeout(() => void lease.#recoveryLoop(), RECOVERY_EVERY_MS).unref();
    return lease;
  }

  get member(): Membership {
    return this.#member;
  }

  /** True while this instance may take traffic; false once its process has slept past its lease. */
  get isHeld(): boolean {
    if (this.#isEnded || this.#stopReason !== undefined) return false;
    return this.#options.clock.monotonicMs() < this.#validUntilMs;
  }

  /** True while lost commits stop this instance, or once it has gone on despite such a loss. */
  get hasGoneBack(): boolean {
    return this.#stopReason !== undefined || this.#hasGoneOn;
  }

  /** Notes an attempt whose hold has committed. The next renewal checks that the books have it. */
  noteCommitted(attemptId: AttemptId): void {
    this.#witness = { ...this.#witness, attemptId };
  }

  /** How many milliseconds this instance may take traffic without another renewal. */
  get leftMs(): number {
    if (this.#isEnded) return 0;
    return Math.max(0, this.#validUntilMs - this.#options.clock.monotonicMs());
  }

  /** Makes an attempt id with the store's time, because a host's clock may be wrong by days. */
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
      // The fault is only logged, because the lease expires by itself.
      this.#options.log.warn({ err: error }, "the ledger lease could not be ended");
    }
  }

  async #renewLoop(): Promise<void> {
    try {
      await this.#renewNow();
    } catch (error) {
      this.#options.log.warn({ err: error }, "the ledger lease could not be renewed");
    }
    if (this.#isEnded) return;
    this.#renewal = setTimeout(() => void this.#renewLoop(), LEASE_RENEW_MS).unref();
  }

  /** Checks that no commit is gone: a new connection may lead to a restored database. */
  async #prove(): Promise<void> {
    if (this.#isEnded) return;
    try {
      await this.#renewNow();
    } catch (error) {
      throw new BatchFault("busy", "it could not be asked whether the books went back", error);
    }
  }

  /** Renews the lease after a running renewal, so that this renewal begins after the call. */
  #renewNow(): Promise<void> {
    const renewed = this.#renewing.then(() => this.#renew());
    this.#renewing = renewed.catch(() => undefined);
    return renewed;
  }

  async #renew(): Promise<void> {
    const { store, clock, log } = this.#options;
    if (this.#stopReason !== undefined) return await this.#resume();
    const askedAtMs = clock.monotonicMs();
    if (askedAtMs >= this.#validUntilMs) this.#heldSinceMs = askedAtMs;
    const member = this.#member;
    const goesOn = this.#options.onGoneBack === "go_on";
    const asked = { member, witness: this.#witness, leaseMs: LEASE_MS, goesOn };
    const renewal = await store.renewLease(asked);
    if (renewal.kind === "held") {
      const { beat, storeNowMs } = renewal;
      this.#witness = { ...this.#witness, beat, storeNowMs };
      this.#storeClock.observe({ askedAtMs, storeNowMs });
      this.#validUntilMs = askedAtMs + LEASE_MS - SAFETY_MS;
      return;
    }
    if (renewal.kind === "taken_over") {
      log.error({ instance: member.instanceId }, "declared dead by a peer; joining again");
    } else if (goesOn) {
      this.#hasGoneOn = true;
      log.error(
        { finding: renewal.finding },
        `${WENT_BACK}; books.gone_back is go_on: joining again`,
      );
    } else {
      return this.#stop(renewal.finding);
    }
    await this.#joinAgain(renewal.kind === "taken_over" ? this.#witness.attemptId : null);
  }

  #stop(finding: string): void {
    this.#stopReason = finding;
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    this.#options.log.error(
      { finding, next: ["tokenmarket ledger reopen --reason TEXT"] },
      `${WENT_BACK}; no request is taken before they are reopened`,
    );
  }

  async #resume(): Promise<void> {
    const reason = await this.#options.store.stopReason();
    if (reason !== undefined) return;
    await this.#joinAgain(null);
    this.#stopReason = undefined;
    this.#options.log.warn({ life: this.#member.life }, "the books were reopened; serving again");
  }

  async #joinAgain(lastAttemptId: AttemptId | null): Promise<void> {
    const { store, clock, instanceName } = this.#options;
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    const askedAtMs = clock.monotonicMs();
    const { number } = this.#member;
    this.#member = await store.join(instanceName, LEASE_MS);
    this.#witness = { ...freshWitness(this.#member), attemptId: lastAttemptId };
    // An instance whose number is unchanged keeps its id maker, so that no id is made twice.
    if (this.#member.number !== number) this.#makeAttemptId = attemptIdMaker(this.#member.number);
    this.#attemptFloorMs = computeFloorMs(this.#member);
    this.#storeClock.observe({ askedAtMs, storeNowMs: this.#member.storeNowMs });
    this.#heldSinceMs = askedAtMs;
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

  /** Also runs on a new day of the store: its clock may be set to a day without a partition. */
  async #maintain(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    const day = utcDay(this.#storeClock.nowMs());
    const isRecent = nowMs - this.#maintainedAtMs < MAINTAIN_EVERY_MS;
    if (isRecent && day === this.#maintainedDay) return;
    await this.#options.store.maintain();
    this.#maintainedAtMs = nowMs;
    this.#maintainedDay = day;
  }

  async #recover(): Promise<void> {
    const { counts, store } = this.#options;
    const attempts = await store.recoverOpenAttempts(this.#stuck);
    if (counts !== undefined) {
      counts.recovered += attempts;
      counts.stuck = this.#stuck.size;
    }
    if (attempts === 0) return;
    this.#options.log.warn(
      { attempts },
      "open attempts of a dead instance closed at their reserve",
    );
  }
}

const WENT_BACK = "the books went back: what was committed is not there any more";

function freshWitness({ storeNowMs }: Membership): Witness {
  return { beat: 0n, storeNowMs, attemptId: null };
}

/** Returns the store's time from which new ids exceed all ids in the books; 0 if they do now. */
function computeFloorMs(member: Membership): number {
  const nowMs = member.storeNowMs;
  const probe: bigint = attemptIdMaker(member.number)(nowMs);
  if (member.attemptIdFloor < probe) return 0;
  return nowMs + Number((member.attemptIdFloor - probe) >> ATTEMPT_TIME_SHIFT) + 1;
}
