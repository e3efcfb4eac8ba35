import { NO_ABUSE_MONITOR } from "../../src/gateway/abuse/unusual-use.ts";
import { Deadlines } from "../../src/kernel/core/time.ts";
import { refusal } from "../../src/kernel/core/refusals.ts";
import { attemptClassifier } from "../../src/upstream/classifier.ts";
import type { CallKind } from "../../src/gateway/call/call-kind.ts";
import { DetachedReadLimit } from "../../src/gateway/call/detached-read-limit.ts";
import { GatewayMetrics } from "../../src/gateway/call/metrics.ts";
import { serveCall } from "../../src/gateway/call/call.ts";
import type { CallPorts } from "../../src/gateway/call/ports.ts";
import { Shortfalls } from "../../src/gateway/call/refusal-memory.ts";
import type { Logger } from "../../src/kernel/core/log.ts";
import type { Ledger } from "../../src/ledger/ledger-store.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { limitScopes, SPECIFIED_LIMITS } from "../../src/gateway/limits/effective-limits.ts";
import { PoolBoard } from "../../src/gateway/limits/pool-board.ts";
import { MemoryDeploymentHealth, RepeatedFailures } from "../../src/gateway/routing/health.ts";
import { MemoryLimitStore } from "../../src/gateway/limits/memory/memory-limit-store.ts";
import type { ParsedChatRequest } from "../../src/formats/modality/chat/parse-request.ts";
import { chatOn } from "../../src/formats/modality/chat/index.ts";
import { wires } from "../../src/formats/wire/wires.ts";
import { pricePins } from "../../src/app/open-catalog.ts";
import { SimulatedClient, type ClientRequest } from "./client.ts";
import { ObservedHealth } from "./observed-health.ts";
import { ObservedLedger } from "./observed-ledger.ts";
import { ObservedLimits } from "./observed-limits.ts";
import { SimulatedProviders } from "./provider.ts";
import { NetworkedStore, type StoreUser } from "./store.ts";
import { SkewedClock } from "./virtual-time.ts";
import type { Simulation } from "./simulation.ts";
import { Affinity } from "../../src/gateway/routing/plan-route.ts";
import { TRUSTED_LISTINGS, NO_REFUSAL_WINDOW } from "../support/plain-ports.ts";

interface InstanceDeps extends CallPorts {
  readonly health: ObservedHealth;
  readonly limits: ObservedLimits;
}

type InstanceState = "starting" | "running" | "ending" | "over";

interface InstanceOptions {
  /** The name under which it joins the ledger; the same after a restart. */
  readonly instanceName: string;
  /** The number of this process among the processes that had this name, from 1. */
  readonly life: number;
  readonly host: string;
  readonly onDeath: () => void;
}

const GRACE_MS_MAX = 8_000;
const LAST_ANSWERS_MS = 5_000;
const POLL_MS = 50;

/**
 * One process of the gateway: the real call code, ledger lanes, lease, limits, circuits and
 * deadlines, put together as `compose` does it, on a simulated network and with its own clocks.
 */
export class SimulatedInstance implements StoreUser {
  readonly name: string;
  readonly host: string;
  readonly clock: SkewedClock;
  isDead = false;
  pausedUntilMs = 0;
  cutOffUntilMs = 0;
  /** True once its monotonic clock was frozen: it cannot know that its lease has ended. */
  wasFrozen = false;
  state: InstanceState = "starting";
  /** The latest virtual time at which it was paused, or its database failed or was slow. */
  troubledUntilMs: number = Number.NEGATIVE_INFINITY;
  /** True if it logged that its shutdown left something to recovery. */
  saidItLeftSomething = false;
  /** The step in which its shutdown cut the running requests; -1 if it has not. */
  cutAtStep = -1;
  diedAtMs: number = Number.POSITIVE_INFINITY;
  deps: InstanceDeps | undefined;
  readonly clients: Set<SimulatedClient> = new Set();
  readonly #simulation: Simulation;
  readonly #options: InstanceOptions;
  readonly #encodings: WeakMap<ParsedChatRequest, number> = new WeakMap();

  constructor(simulation: Simulation, options: InstanceOptions) {
    this.#simulation = simulation;
    this.#options = options;
    this.name = `${options.instanceName}#${options.life}`;
    this.host = options.host;
    this.clock = new SkewedClock(simulation.time, simulation.startMs);
  }

  /** Must be called in an event whose actor is this instance. */
  async start(): Promise<void> {
    const { clock } = this;
    const store = new NetworkedStore(this.#simulation, this);
    try {
      await store.ensurePricePins(pricePins(this.#simulation.catalog));
      const instanceName = this.#options.instanceName;
      const ledger = await openLedger({ store, clock, log: this.#log(), instanceName });
      this.deps = this.#serveDeps(ledger);
      this.state = "running";
      this.#simulation.checks.started(this);
    } catch (fault) {
      this.#simulation.note(`  ${this.name} could not start: ${String(fault)}`);
      this.crash();
    }
  }

  get isReady(): boolean {
    return this.state === "running" && this.deps?.ledger.healthy === true;
  }

  /** Serves one request to its end. Must be called in an event whose actor is this instance. */
  serve(request: ClientRequest): void {
    const { deps } = this;
    if (deps === undefined || this.state === "over") return;
    const client = new SimulatedClient(this.#simulation, this, request, (ended) => {
      this.#simulation.checks.clientEnded(ended);
    });
    this.clients.add(client);
    const record = this.#simulation.checks.requestArrived(client, this);
    const kind = this.#withOwnBugs(chatOn(wires.get(request.wire), wires), () => {
      record.hasOwnBug = true;
    });
    serveCall(deps, client, kind)
      .catch((fault: unknown) => {
        this.#simulation.note(
          `  request ${request.number} failed in our own code: ${String(fault)}`,
        );
        if (!record.hasOwnBug) this.#simulation.fail(`serveCall failed: ${String(fault)}`);
        client.crashed(refusal("gateway_error", "the gateway failed on this request"));
      })
      .finally(() => {
        record.isRunning = false;
        this.clients.delete(client);
      });
  }

  /** Ends the process without any cleanup, for good. */
  crash(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.diedAtMs = this.#simulation.time.nowMs;
    this.state = "over";
    this.#simulation.note(`  ${this.name} is dead`);
    for (const client of this.clients) client.lostItsServer();
    this.#options.onDeath();
  }

  /** Shuts down as after SIGTERM. Must be called in an event whose actor is this instance. */
  async shutDown(): Promise<void> {
    const { deps } = this;
    if (deps === undefined || this.state !== "running") return;
    this.state = "ending";
    await this.#emptied(deps, this.#simulation.random.between(0, GRACE_MS_MAX));
    this.cutAtStep = this.#simulation.time.steps;
    deps.deadlines.cutAll();
    await this.#emptied(deps, LAST_ANSWERS_MS);
    // The connections that are still open are cut.
    for (const client of this.clients) client.leave();
    await deps.upstream.close();
    await deps.ledger.shutDown();
    this.#simulation.checks.shutDown(this);
    this.crash();
  }

  async #emptied(deps: CallPorts, withinMs: number): Promise<void> {
    const lastMs = deps.clock.monotonicMs() + withinMs;
    while (this.clients.size + deps.drains.active > 0 && deps.clock.monotonicMs() < lastMs) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #serveDeps(ledger: Ledger): InstanceDeps {
    const { clock } = this;
    const { checks, catalog, shape, random } = this.#simulation;
    const limits = new ObservedLimits(new MemoryLimitStore(), (violation) =>
      this.#simulation.fail(`${this.name}: ${violation}`),
    );
    return {
      clock,
      deadlines: new Deadlines(clock),
      catalog: { current: catalog },
      health: new ObservedHealth(new MemoryDeploymentHealth({ random: () => random.unit() })),
      limits,
      pools: new PoolBoard({ limits }),
      usage: NO_ABUSE_MONITOR,
      standing: TRUSTED_LISTINGS,
      refusals: NO_REFUSAL_WINDOW,
      shortfalls: new Shortfalls(clock),
      platform: [],
      limitDefaults: SPECIFIED_LIMITS,
      ledger: new ObservedLedger(this.#simulation.sabotage(ledger), this, checks),
      upstream: new SimulatedProviders(this.#simulation, this, (served, attemptId) =>
        checks.dispatched(this, served, attemptId),
      ),
      opensOwnKeys: false,
      classify: attemptClassifier(clock),
      timeouts: shape.timeouts,
      drains: new DetachedReadLimit(shape.drainsMax),
      metrics: new GatewayMetrics(),
      repeats: new RepeatedFailures(),
      affinity: new Affinity(),
      scopesOf: limitScopes({
        ...SPECIFIED_LIMITS,
        concurrentRequests: shape.concurrentRequests,
      }),
    };
  }

  /** Makes the wire code throw now and then: `serveCall` must cope with a bug there. */
  #withOwnBugs(kind: CallKind<ParsedChatRequest>, onBug: () => void): CallKind<ParsedChatRequest> {
    const { faults } = this.#simulation;
    return {
      ...kind,
      encode: (request, deployment) => {
        const before = this.#encodings.get(request) ?? 0;
        this.#encodings.set(request, before + 1);
        if (before > 0 && faults.strikes("instance: code throws while it encodes a fallback")) {
          onBug();
          throw new Error("simulated bug: encoding a fallback");
        }
        return kind.encode(request, deployment);
      },
      openAnswer: (request, deployment, context) => {
        if (faults.strikes("instance: code throws while it opens an answer")) {
          onBug();
          throw new Error("simulated bug: opening an answer");
        }
        const bridge = kind.openAnswer(request, deployment, context);
        if (faults.strikes("instance: code throws while it finishes an answer")) {
          bridge.finish = () => {
            onBug();
            throw new Error("simulated bug: finishing an answer");
          };
        }
        return bridge;
      },
    };
  }

  #log(): Logger {
    const report = (_detail: object, message: string): void => {
      this.#simulation.note(`  ${this.name} says: ${message}`);
      if (message.startsWith("shut down with open")) this.saidItLeftSomething = true;
    };
    return { info: report, warn: report, error: report };
  }
}
