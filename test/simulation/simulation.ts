import type { Principal } from "../../src/gateway/accounts/principal.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { attemptInstantMs } from "../../src/kernel/core/ids.ts";
import type { Ledger } from "../../src/ledger/ledger-store.ts";
import { simulatedCatalog } from "./catalog.ts";
import { Checks } from "./checks.ts";
import { SimulatedDatabase } from "./database.ts";
import { Faults, type FaultKind } from "./faults.ts";
import { SimulatedInstance } from "./instance.ts";
import { statedCost } from "./prices.ts";
import { Random } from "./random.ts";
import { brokenWhenIdle, isIdle, isChargedRefusal, leftByTheDead } from "./idle-checks.ts";
import { fillBooks, shapeOf, type SimulationShape } from "./shape.ts";
import { Trace } from "./trace.ts";
import { anyRequest } from "./traffic.ts";
import { VirtualTime, type Actor, type Happening } from "./virtual-time.ts";

interface SimulationOptions {
  readonly seed: number;
  /** True to keep the whole trace, false (the default) to keep its last lines. */
  readonly keepsTrace?: boolean;
  /** Puts a faulty ledger in place of the real one; the checks must notice that. */
  readonly sabotage?: (ledger: Ledger) => Ledger;
}

/** The result of one seed's scenario. */
export interface SimulationOutcome {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedMs: number;
  /** The part of `simulatedMs` in which faults could strike. */
  readonly faultyMs: number;
  readonly requests: number;
  readonly dispatches: number;
  readonly endings: ReadonlyMap<string, number>;
  readonly faults: ReadonlyMap<FaultKind, number>;
  /** The number of crashes, pauses and clock faults, by the label of the event that came next. */
  readonly struck: ReadonlyMap<string, number>;
  /** Attempts that a peer had closed before an instance, paused past its lease, sent them. */
  readonly lateDispatches: number;
  readonly pendingAnswers: number;
  /** The number of complete answers for each kind of price at which they were settled. */
  readonly priceKinds: ReadonlyMap<string, number>;
  readonly recovered: number;
  /** Refusals that were charged the reserve: the hold's answer was lost and the instance died. */
  readonly chargedRefusals: number;
  readonly traceHash: string;
  readonly trace: readonly string[];
  /** The first broken promise; undefined if there is none. */
  readonly violation: { readonly message: string; readonly step: number } | undefined;
}

interface Slot {
  readonly instanceName: string;
  host: string;
  lives: number;
  instance: SimulatedInstance | undefined;
}

/** Requests sent to each instance at the end, when everything must work again. */
const PROBES_PER_INSTANCE = 2;
/** Longer than a circuit stays open (a minute, with jitter), and than the limit windows. */
const QUIET_MS = 90_000;
/** Longer than requests, the wait of a rejected closing, and recovery can take. */
const IDLE_WITHIN_MS = 240_000;
const PROBE_TAKES_MS = 60_000;
const TICK_MS = 1_000;
const RESTART_MS_MAX = 4_000;
const READY_ONLY = 0.9;
const BURST = 0.3;

/** Scales the probability of a fault before these events: low for frequent, high for rare ones. */
const WEIGHTS: Readonly<Record<string, number>> = {
  timer: 0.05,
  interval: 0.02,
  "provider bytes": 0.15,
  "annulment answered": 5,
  "annulment failed": 5,
};

const catalog = simulatedCatalog();

/** Runs the scenario of one seed to its end. Two runs of one seed do exactly the same. */
export async function simulate(options: SimulationOptions): Promise<SimulationOutcome> {
  return await new Simulation(options).run();
}

/** The instances, their database, providers and clients, and the faults between them. */
export class Simulation {
  readonly catalog: Catalog = catalog;
  readonly random: Random;
  readonly shape: SimulationShape;
  readonly startMs: number;
  readonly time: VirtualTime = new VirtualTime({
    beforeStep: (happening) => this.#strike(happening),
    afterStep: (happening) => this.#looked(happening),
  });
  readonly faults: Faults;
  readonly database: SimulatedDatabase;
  readonly databaseActor: Actor = { name: "database", isDead: false, pausedUntilMs: 0 };
  readonly checks: Checks;
  readonly sabotage: (ledger: Ledger) => Ledger;
  readonly slots: readonly Slot[];
  readonly #seed: number;
  readonly #self: Actor = { name: "world", isDead: false, pausedUntilMs: 0 };
  readonly #trace: Trace;
  readonly principals: readonly Principal[];
  readonly #struck: Map<string, number> = new Map();
  #numbers = 0;
  #isOver = false;
  #violation: SimulationOutcome["violation"];

  constructor(options: SimulationOptions) {
    this.#seed = options.seed;
    this.#trace = new Trace(options.keepsTrace ?? false);
    this.sabotage = options.sabotage ?? ((ledger) => ledger);
    this.random = new Random(options.seed);
    this.shape = shapeOf(this.random.fork());
    this.startMs = this.shape.startMs;
    this.faults = new Faults(this.random.fork());
    this.database = new SimulatedDatabase(() => this.startMs + this.time.nowMs);
    this.checks = new Checks(this);
    this.principals = fillBooks(this.database.books, this.random.fork());
    this.slots = Array.from({ length: this.shape.instances }, (_, at) => ({
      instanceName: `gateway-${at + 1}`,
      host: this.shape.isOneHost ? "host" : `host-${at + 1}`,
      lives: 0,
      instance: undefined,
    }));
  }

  async run(): Promise<SimulationOutcome> {
    for (const slot of this.slots) this.#startLife(slot, this.random.between(0, 500));
    this.#planTraffic();
    this.#planAccidents();
    this.#later(this.shape.faultsEndMs, "faults end", () => this.#endFaults());
    await this.time.run(() => this.#isOver || this.#violation !== undefined);
    return this.#outcome();
  }

  note(line: string): void {
    this.#trace.note(line);
  }

  /** Records a broken promise. The first one ends the scenario. */
  fail(message: string): void {
    this.note(`BROKEN: ${message}`);
    this.#violation ??= { message, step: this.time.steps };
  }

  get running(): readonly SimulatedInstance[] {
    return this.slots.flatMap(({ instance }) =>
      instance !== undefined && !instance.isDead && instance.state === "running" ? instance : [],
    );
  }

  #later(afterMs: number, label: string, run: () => void): void {
    this.time.schedule(this.#self, afterMs, label, run);
  }

  #startLife(slot: Slot, afterMs: number): void {
    this.#later(afterMs, `${slot.instanceName} starts`, () => {
      slot.lives += 1;
      const { instanceName, host, lives: life } = slot;
      const onDeath = (): void => this.#planNextLife(slot);
      const instance = new SimulatedInstance(this, { instanceName, life, host, onDeath });
      slot.instance = instance;
      this.time.schedule(instance, 0, "start", () => void instance.start());
    });
  }

  #planNextLife(slot: Slot): void {
    if (this.faults.strikes("instance: restarted on another host")) {
      slot.host = `${slot.host}'`;
    }
    this.#startLife(slot, this.random.between(1, RESTART_MS_MAX));
  }

  #planTraffic(): void {
    const { requests, trafficMs } = this.shape;
    const burstMs = this.random.between(0, trafficMs);
    for (let n = 0; n < requests; n++) {
      const atMs = this.random.chance(BURST) ? burstMs : this.random.between(0, trafficMs);
      this.#later(atMs, "request arrives", () => this.#arrive());
    }
  }

  /** A load balancer sends to ready instances, but sometimes does not know yet that one is not. */
  #arrive(): void {
    const ready = this.running.filter(({ isReady }) => isReady);
    const open = this.random.chance(READY_ONLY) && ready.length > 0 ? ready : this.running;
    if (open.length > 0) this.#send(this.random.pick(open), this.random.pick(this.principals));
  }

  #send(instance: SimulatedInstance, principal: Principal): void {
    const nowMs = this.startMs + this.time.nowMs;
    const request = anyRequest(this.random, ++this.#numbers, principal, nowMs);
    this.note(`  request ${request.number} is ${request.requestId}`);
    this.time.schedule(instance, 0, "request", () => instance.serve(request));
  }

  /** Plans faults that strike at random times, whatever the instances are doing then. */
  #planAccidents(): void {
    const { faultsEndMs } = this.shape;
    for (let atMs = 0; ;) {
      atMs += this.random.gapMs(15_000);
      if (atMs >= faultsEndMs) return;
      this.#later(atMs, "accident", () => this.#accident());
    }
  }

  #accident(): void {
    const lastsMs = this.random.pick([
      this.random.between(50, 2_000),
      this.random.between(1, 25_000),
    ]);
    const untilMs = Math.min(this.time.nowMs + lastsMs, this.shape.faultsEndMs);
    const kind = this.random.between(1, 3);
    const victim = this.running.length > 0 ? this.random.pick(this.running) : undefined;
    if (kind === 1 && this.faults.strikes("database: gone for a while")) {
      this.note(`  the database is gone for ${lastsMs} ms`);
      this.database.goneUntilMs = untilMs;
    } else if (victim === undefined) {
      return;
    } else if (kind === 2 && this.faults.strikes("database: out of reach of one instance")) {
      this.note(`  ${victim.name} is cut off for ${lastsMs} ms`);
      victim.cutOffUntilMs = untilMs;
    } else if (kind === 3 && this.faults.strikes("instance: restarted in order")) {
      this.time.schedule(victim, 0, "SIGTERM", () => void victim.shutDown());
    }
  }

  /** Called before an event of an instance: may crash it, pause it or change its clocks. */
  #strike(happening: Happening): void {
    const { actor, label } = happening;
    if (!(actor instanceof SimulatedInstance)) return;
    const weight = WEIGHTS[label] ?? 1;
    const struck = (kind: FaultKind): boolean => {
      const does = this.faults.strikes(kind, weight);
      if (does) {
        this.note(`  ${kind} before "${label}"`);
        this.#struck.set(label, (this.#struck.get(label) ?? 0) + 1);
      }
      return does;
    };
    if (struck("instance: crash")) actor.crash();
    else if (struck("instance: paused")) this.#pause(actor);
    else if (struck("instance: frozen, its monotonic clock too")) this.#freeze(actor);
    else if (struck("instance: wall clock jumps forwards")) {
      actor.clock.wallOffsetMs += this.random.pick([500, 60_000, 30 * 86_400_000]);
    } else if (struck("instance: wall clock jumps backwards")) {
      actor.clock.wallOffsetMs -= this.random.pick([1, 500, 60_000, 86_400_000]);
    }
  }

  #pause(instance: SimulatedInstance): number {
    const forMs = this.random.pick([
      this.random.between(1, 500),
      this.random.between(1_000, 9_000),
      this.random.between(10_000, 30_000),
    ]);
    const untilMs = Math.min(this.time.nowMs + forMs, this.shape.faultsEndMs);
    instance.pausedUntilMs = untilMs;
    instance.troubledUntilMs = untilMs;
    return untilMs - this.time.nowMs;
  }

  #freeze(instance: SimulatedInstance): void {
    const forMs = this.#pause(instance);
    instance.wasFrozen = true;
    // Set just before the instance continues, because none of its code reads a clock until then.
    this.#later(forMs - 0.5, "thaw", () => {
      instance.clock.frozenMs += forMs;
    });
  }

  #endFaults(): void {
    this.faults.areOver = true;
    this.database.goneUntilMs = 0;
    for (const { instance } of this.slots) if (instance !== undefined) instance.cutOffUntilMs = 0;
    this.#waitForIdle();
  }

  /** Liveness: everything must come to rest in bounded time, and then everything must work. */
  #waitForIdle(): void {
    const { faultsEndMs } = this.shape;
    const quietMs = this.time.nowMs - faultsEndMs;
    const restless = isIdle(this);
    for (const left of leftByTheDead(this, faultsEndMs)) this.fail(left);
    if (quietMs > IDLE_WITHIN_MS) return this.fail(`no rest: ${restless ?? "?"}`);
    if (restless !== undefined || quietMs < QUIET_MS) {
      return this.#later(TICK_MS, "waits for rest", () => this.#waitForIdle());
    }
    const before = new Set(this.checks.requests.keys());
    const [rich] = this.principals;
    for (const instance of this.running) {
      for (let n = 0; n < PROBES_PER_INSTANCE; n++) {
        // Sent one after the other, because a half-open circuit lets through one request at a time.
        this.#later(n * PROBE_TAKES_MS, "sends a probe", () => {
          if (rich !== undefined) this.#send(instance, rich);
        });
      }
    }
    this.#later(PROBES_PER_INSTANCE * PROBE_TAKES_MS, "end", () => {
      for (const broken of brokenWhenIdle(this, before)) this.fail(broken);
      this.#isOver = true;
    });
  }

  #looked(happening: Happening): void {
    const { actor, label } = happening;
    this.note(`${this.time.steps} ${this.time.nowMs} ${actor.name} ${label}`);
    this.checks.afterStep();
  }

  #outcome(): SimulationOutcome {
    const endings = new Map<string, number>();
    for (const { client } of this.checks.requests.values()) {
      const ending = client.ending ?? "waiting";
      endings.set(ending, (endings.get(ending) ?? 0) + 1);
    }
    const priceKinds = new Map<string, number>();
    for (const [attemptId, { usage, isWhole, deployment }] of this.checks.served) {
      if (usage === undefined || !isWhole) continue;
      const { kind } = statedCost(deployment.id, attemptInstantMs(attemptId), usage);
      priceKinds.set(kind, (priceKinds.get(kind) ?? 0) + 1);
    }
    const attempts = this.database.books.lines();
    const records = [...this.checks.requests.values()];
    return {
      seed: this.#seed,
      steps: this.time.steps,
      simulatedMs: this.time.nowMs,
      faultyMs: Math.min(this.time.nowMs, this.shape.faultsEndMs),
      requests: this.checks.requests.size,
      dispatches: this.checks.served.size,
      endings,
      faults: this.faults.counts,
      struck: this.#struck,
      lateDispatches: this.checks.lateDispatches,
      pendingAnswers: this.checks.pendingAnswers,
      priceKinds,
      recovered: attempts.filter(({ state }) => state === "unknown_after_crash").length,
      chargedRefusals: records.filter((record) => isChargedRefusal(this, record)).length,
      traceHash: this.#trace.hash,
      trace: this.#trace.lines,
      violation: this.#violation,
    };
  }
}
