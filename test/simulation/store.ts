import type { AdoptedAttempt } from "../../src/ledger/attempt-columns.ts";
import {
  type BatchAnswer,
  BatchFault,
  type CloseVerdict,
  type LedgerBatch,
  type LedgerBatchStore,
  type Membership,
  type Renewal,
} from "../../src/ledger/ledger-batch-store.ts";
import type {
  CloseRow,
  PricePin,
  RefusedCount,
  RefusedRequest,
  ReserveRow,
} from "../../src/ledger/ledger-store.ts";
import type { Caller, SimulatedDatabase } from "./database.ts";
import type { Faults } from "./faults.ts";
import type { Random } from "./random.ts";
import type { Actor, VirtualTime } from "./virtual-time.ts";

/** The parts of the scenario that `NetworkedStore` needs. */
interface StoreEnvironment {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly faults: Faults;
  readonly database: SimulatedDatabase;
  readonly databaseActor: Actor;
  note(line: string): void;
  fail(violation: string): void;
}

/** The instance that owns this connection, which may be cut while those of others work. */
export interface StoreUser extends Actor, Caller {
  isDead: boolean;
  troubledUntilMs: number;
  cutOffUntilMs: number;
  /** Crashes at once, by a fault that strikes right after a commit. */
  crash(): void;
}

interface Call<T> {
  readonly verb: string;
  /** Runs the transaction; throws if the database refuses it. */
  readonly transaction: () => T;
  /** Does a part of the work, as when a call of several transactions is cut off between them. */
  readonly partly?: () => void;
  /** Milliseconds after which the caller gives up. */
  readonly timeoutMs: number;
}

type Fate = "answered" | "busy" | "rejected" | "lost before" | "lost after" | "late";

const BATCH_TIMEOUT_MS = 1_900;
const LATE_TIMEOUT_MS = 10_900;
const QUERY_TIMEOUT_MS = 5_000;
const REFUSED_MS = 3;
const LATE_MS_MAX = 8_000;

/** The ledger's storage as one instance reaches it, over a network with faults. */
export class NetworkedStore implements LedgerBatchStore {
  readonly #simulation: StoreEnvironment;
  readonly #user: StoreUser;
  readonly #busyLanes: Set<string> = new Set();

  constructor(simulation: StoreEnvironment, user: StoreUser) {
    this.#simulation = simulation;
    this.#user = user;
  }

  async runBatch(batch: LedgerBatch): Promise<BatchAnswer> {
    return await this.#onLane("ledger lane", {
      verb: verbOf(batch),
      transaction: () => this.#simulation.database.runBatch(this.#user, batch),
      timeoutMs: BATCH_TIMEOUT_MS,
    });
  }

  async closeBatch(rows: readonly CloseRow[]): Promise<readonly CloseVerdict[]> {
    return await this.#onLane("late lane", {
      verb: "late close",
      transaction: () => this.#simulation.database.closeBatch(rows),
      timeoutMs: LATE_TIMEOUT_MS,
    });
  }

  annul(rows: readonly ReserveRow[]): Promise<void> {
    const { database, random } = this.#simulation;
    return this.#query("annulment", {
      transaction: () => rows.forEach((row) => database.annul(row)),
      partly: () => {
        const done = random.between(0, rows.length);
        for (const row of rows.slice(0, done)) database.annul(row);
      },
    });
  }

  recordRefusedBatch(
    requests: readonly RefusedRequest[],
    counts: readonly RefusedCount[],
  ): Promise<void> {
    return this.#query("refused record", {
      transaction: () => {
        for (const count of counts) this.#simulation.database.refusedCounted += count.requests;
        for (const { requestId } of requests) this.#simulation.database.refused.add(requestId);
      },
    });
  }

  ensurePricePins(_pins: readonly PricePin[]): Promise<void> {
    return this.#query("price pins", { transaction: () => undefined });
  }

  join(name: string, leaseMs: number): Promise<Membership> {
    const transaction = (): Membership => this.#simulation.database.join(this.#user, name, leaseMs);
    return this.#query("join", { transaction });
  }

  renewLease({
    member,
    witness,
    leaseMs,
  }: Parameters<LedgerBatchStore["renewLease"]>[0]): Promise<Renewal> {
    const transaction = (): Renewal => {
      const storeNowMs = this.#simulation.database.renewLease(member, leaseMs);
      if (storeNowMs === undefined) return { kind: "taken_over" };
      return { kind: "held", beat: witness.beat + 1n, storeNowMs };
    };
    return this.#query("lease renewal", { transaction });
  }

  /** Never calls back: the simulated connections are not replaced. */
  onReconnect(): void {}

  stopReason(): Promise<undefined> {
    return this.#query("stop reason", { transaction: () => undefined });
  }

  leave(member: Membership): Promise<void> {
    const transaction = (): void => void this.#simulation.database.renewLease(member, 0);
    return this.#query("leave", { transaction });
  }

  takeOverDeadInstances(): Promise<readonly string[]> {
    const transaction = (): readonly string[] =>
      this.#simulation.database.takeOverDeadInstances(this.#user);
    return this.#query("takeover", { transaction });
  }

  recoverOpenAttempts(): Promise<number> {
    const transaction = (): number => this.#simulation.database.recoverOpenAttempts();
    return this.#query("recovery", { transaction });
  }

  maintain(): Promise<void> {
    return this.#query("maintenance", { transaction: () => undefined });
  }

  attachJob(): Promise<boolean> {
    return Promise.reject(new Error("this scenario has no jobs"));
  }

  adoptAttempts(): Promise<readonly AdoptedAttempt[]> {
    return Promise.reject(new Error("this scenario has no jobs"));
  }

  /** Runs a call on a lane. The ledger promises to make one call at a time on each lane. */
  async #onLane<T>(lane: string, call: Call<T>): Promise<T> {
    if (this.#busyLanes.has(lane)) this.#simulation.fail(`two calls at a time on the ${lane}`);
    this.#busyLanes.add(lane);
    try {
      return await this.#call(call);
    } finally {
      this.#busyLanes.delete(lane);
    }
  }

  /** Runs a call outside the lanes. It fails with a plain error, not with a `BatchFault`. */
  async #query<T>(verb: string, call: Pick<Call<T>, "transaction" | "partly">): Promise<T> {
    try {
      return await this.#call({ verb, timeoutMs: QUERY_TIMEOUT_MS, ...call });
    } catch (fault) {
      throw new Error(`${verb}: ${String(fault)}`, { cause: fault });
    }
  }

  #call<T>(call: Call<T>): Promise<T> {
    // A dead process sends nothing: its last microtasks run, but have no effect.
    if (this.#user.isDead) return new Promise(() => undefined);
    const { time, random } = this.#simulation;
    return new Promise((resolve, reject) => {
      const give = new GivenCall(this.#user, time, call, { resolve, reject });
      if (this.#isCut) return give.fault("busy", random.between(1, REFUSED_MS));
      const fate = this.#fateOf(call);
      const wayMs = random.between(1, 3) + this.#slownessMs(call);
      if (fate === "busy" || fate === "rejected") return give.fault(fate, wayMs);
      const givenUpMs = random.chance(0.5) ? random.between(1, 20) : call.timeoutMs;
      if (fate === "lost before") return give.fault("ambiguous", givenUpMs);
      if (fate === "late") {
        give.fault("ambiguous", givenUpMs);
        return this.#execute(call, givenUpMs + random.between(1, LATE_MS_MAX), undefined);
      }
      if (fate === "lost after") give.fault("ambiguous", Math.max(givenUpMs, wayMs));
      this.#execute(call, wayMs, fate === "answered" ? give : undefined);
    });
  }

  #execute<T>(call: Call<T>, afterMs: number, give: GivenCall<T> | undefined): void {
    const { time, databaseActor, random, faults } = this.#simulation;
    time.schedule(databaseActor, afterMs, `${call.verb} of ${this.#user.name} commits`, () => {
      if (this.#isCut) {
        if (random.chance(0.5)) call.partly?.();
        return give?.fault("ambiguous", random.between(1, REFUSED_MS));
      }
      try {
        const result = call.transaction();
        this.#simulation.note(`  ${call.verb}: ${reported(result)}`);
        give?.answer(result, random.between(1, 3), () => this.#isCut);
      } catch (fault) {
        give?.reject(fault, random.between(1, 3));
      }
      if (faults.strikes("instance: crash right after a commit") && !this.#user.isDead) {
        this.#user.crash();
      }
    });
  }

  get #isCut(): boolean {
    const { time, database } = this.#simulation;
    return time.nowMs < Math.max(database.goneUntilMs, this.#user.cutOffUntilMs);
  }

  #fateOf(call: { readonly verb: string }): Fate {
    const { faults } = this.#simulation;
    const isBatch = ["reserve", "batch", "close", "late close"].includes(call.verb);
    if (faults.strikes("database: busy")) return "busy";
    if (isBatch && faults.strikes("database: batch rejected")) return "rejected";
    if (faults.strikes("database: request lost before the commit")) return "lost before";
    if (faults.strikes("database: reply lost after the commit")) return "lost after";
    if (faults.strikes("database: commit after the caller gave up")) return "late";
    return "answered";
  }

  #slownessMs(call: { readonly timeoutMs: number }): number {
    const { faults, random, time } = this.#simulation;
    if (!faults.strikes("database: slow")) return 0;
    const slownessMs = random.between(100, call.timeoutMs - 10);
    this.#user.troubledUntilMs = time.nowMs + slownessMs;
    return slownessMs;
  }
}

/** The caller's side of one call. The answer or fault arrives as an event of the caller. */
class GivenCall<T> {
  readonly #user: StoreUser;
  readonly #time: VirtualTime;
  readonly #call: Call<T>;
  readonly #promise: { resolve(value: T): void; reject(fault: unknown): void };

  constructor(
    user: StoreUser,
    time: VirtualTime,
    call: Call<T>,
    promise: { resolve(value: T): void; reject(fault: unknown): void },
  ) {
    this.#user = user;
    this.#time = time;
    this.#call = call;
    this.#promise = promise;
  }

  answer(value: T, afterMs: number, isCut: () => boolean): void {
    this.#time.schedule(this.#user, afterMs, `${this.#call.verb} answered`, () => {
      if (isCut()) return this.#reject(this.#faultOf("ambiguous"));
      this.#promise.resolve(value);
    });
  }

  fault(kind: BatchFault["kind"], afterMs: number): void {
    this.reject(this.#faultOf(kind), afterMs);
  }

  reject(fault: unknown, afterMs: number): void {
    this.#time.schedule(this.#user, afterMs, `${this.#call.verb} failed`, () =>
      this.#reject(fault),
    );
  }

  #reject(fault: unknown): void {
    this.#user.troubledUntilMs = this.#time.nowMs;
    this.#promise.reject(fault);
  }

  #faultOf(kind: BatchFault["kind"]): BatchFault {
    return new BatchFault(kind, `simulated: ${kind}`, undefined);
  }
}

function verbOf({ closings, holds }: LedgerBatch): string {
  return closings.length === 0 ? "reserve" : holds.length === 0 ? "close" : "batch";
}

function reported(result: unknown): string {
  return JSON.stringify(result, (_key, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
}
