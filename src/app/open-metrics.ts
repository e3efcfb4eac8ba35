import { performance } from "node:perf_hooks";

import { type Catalog, type Deployment, isBelowCost } from "../catalog/index.ts";
import {
  type CallPorts,
  INSTANCE_STATES,
  type InstanceState,
  type LimitStoreCounts,
  type OpenTracing,
  type Verification,
  type VideoMetrics,
} from "../gateway/index.ts";
import {
  type Clock,
  Exposition,
  type Family,
  Job,
  mapped,
  microDollars,
  oneValue,
  processMetrics,
  programSchemaLevel,
  ReadFamily,
  type Sample,
} from "../kernel/index.ts";
import type { BooksFigures, LedgerCounts, OpenedLedger } from "../ledger/index.ts";
import type { ConsoleOptions } from "./open-console.ts";
import { programVersion } from "./shipped-files.ts";

interface MetricSources extends Pick<
  ConsoleOptions,
  "config" | "clock" | "log" | "backend" | "events"
> {
  readonly serve: CallPorts;
  readonly holder: { readonly current: Catalog };
  readonly verification: Verification;
  readonly videos: { readonly videoMetrics: VideoMetrics };
  readonly readiness: { readonly state: InstanceState };
  readonly counts: LedgerCounts;
  readonly limits: { readonly counts: LimitStoreCounts };
  readonly ledger: Pick<OpenedLedger, "hasGoneBack">;
  readonly tracing: Pick<OpenTracing, "figures"> | undefined;
}

/** Each metric in `METRICS` must occur exactly once in `families`. */
export function openMetrics(sources: MetricSources) {
  const { clock, serve } = sources;
  const books = new BooksWatch(sources);
  const loop = new LoopUse();
  const families = [
    ...instanceFamilies(sources, books),
    oneValue("tm_event_loop_utilization", () => loop.share),
    ...serve.metrics.families(),
    oneValue("tm_detached_reads", () => serve.drains.active),
    ...listingFamilies(sources),
    ...sources.videos.videoMetrics.families(serve.metrics.fold),
    ...sources.counts.families(clock),
    ...booksFamilies(books, sources),
    ...databaseFamilies(sources),
    ...sources.limits.counts.families(),
    ...sources.events.families(),
    ...countFamilies(sources),
  ];
  return {
    exposition: new Exposition(families, processMetrics()),
    start: () => books.job.startNow(),
    close: async () => {
      loop.close();
      await books.job.close();
    },
  };
}

function instanceFamilies(sources: MetricSources, books: BooksWatch): readonly Family[] {
  const { config, holder, readiness } = sources;
  const build: Sample = [[programVersion(), config.buildCommit, process.version], 1];
  const programLevel = programSchemaLevel();
  return [
    new ReadFamily("tm_build_info", () => [build]),
    new ReadFamily("tm_schema_level", () => {
      const level = books.figures?.schemaLevel;
      const program: Sample = [["program"], programLevel];
      return level === undefined ? [program] : [[["database"], level], program];
    }),
    new ReadFamily("tm_catalog_info", () => [[[holder.current.buildId], 1]]),
    new ReadFamily("tm_instance_state", () =>
      INSTANCE_STATES.map((state) => [[state], Number(state === readiness.state)]),
    ),
  ];
}

function booksFamilies(books: BooksWatch, { ledger }: MetricSources): readonly Family[] {
  return [
    oneValue("tm_books_open_attempts", () => books.figures?.openAttempts),
    oneValue("tm_books_oldest_open_seconds", () => books.figures?.oldestOpenSeconds),
    oneValue("tm_books_partitions_ahead", () => books.figures?.partitionsAhead),
    oneValue("tm_books_partitions_unsummed", () => books.figures?.partitionsUnsummed),
    oneValue("tm_books_unclosed_periods", () => books.figures?.unclosedPeriods),
    oneValue("tm_books_owed_usd", () => {
      const owed = books.figures?.owedMicroUsd;
      return owed === undefined ? undefined : microDollars(owed);
    }),
    oneValue("tm_books_went_back", () => Number(ledger.hasGoneBack)),
    oneValue("tm_books_last_audit_timestamp_seconds", () => {
      const audit = books.figures?.lastAudit;
      return audit === undefined ? undefined : audit.endedAtMs / 1000;
    }),
    oneValue("tm_books_last_audit_violations", () => books.figures?.lastAudit?.violations),
  ];
}

function databaseFamilies({ backend }: MetricSources): readonly Family[] {
  return [
    new ReadFamily("tm_db_connections", () =>
      Object.entries(backend.connections()).flatMap(([pool, { busy, idle }]): Sample[] => [
        [[pool, "busy"], busy],
        [[pool, "idle"], idle],
      ]),
    ),
    new ReadFamily("tm_db_waiting", () =>
      Object.entries(backend.connections()).map(([pool, { waiting }]) => [[pool], waiting]),
    ),
  ];
}

function countFamilies({ backend, tracing }: MetricSources): readonly Family[] {
  return [
    new ReadFamily("tm_spans_total", () => {
      const { exported, dropped } = tracing?.figures ?? {};
      if (exported === undefined || dropped === undefined) return [];
      return [
        [["exported"], exported],
        [["dropped"], dropped],
      ];
    }),
    oneValue("tm_traces_above_ceiling_total", () => tracing?.figures.tracesAboveCeiling),
    mapped("tm_changes_total", backend.changeLog.counts),
  ];
}

const LOOP_EVERY_MS = 5_000;

/** The share (0 to 1) of the last full five seconds in which the event loop was busy. */
class LoopUse {
  share = 0;
  #before = performance.eventLoopUtilization();
  readonly #timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    this.share = performance.eventLoopUtilization(now, this.#before).utilization;
    this.#before = now;
  }, LOOP_EVERY_MS).unref();

  close(): void {
    clearInterval(this.#timer);
  }
}

function listingFamilies(sources: MetricSources): readonly Family[] {
  const { serve, verification } = sources;
  const { clock, health, pools } = serve;
  type Name = ReadFamily["name"];
  const ofListings = (name: Name, isOn: (listing: Deployment, nowMs: number) => boolean): Family =>
    new ReadFamily(name, () => listingSamples(sources, isOn));
  const ofPools = (name: Name, valueOf: (poolId: string, nowMs: number) => number): Family =>
    new ReadFamily(name, () => poolSamples(sources, (id) => valueOf(id, clock.monotonicMs())));
  return [
    ofListings("tm_listing_verified", (listing) => verification.isVerified(listing)),
    ofListings("tm_listing_suspect", (listing) => verification.isSuspect(listing)),
    ofListings("tm_listing_below_cost", isBelowCost),
    ofListings("tm_circuit_open", ({ id }, nowMs) => health.mayTry(id, nowMs) !== "yes"),
    ofPools("tm_pool_cooldown", (id, nowMs) => Number(pools.cooldownMs(id, nowMs) > 0)),
    ofPools("tm_pool_usable_ratio", (id, nowMs) => pools.usablePercent(id, nowMs) / 100),
  ];
}

/** Yields 1 for each routed listing with `isOn`, else 0. `ReadFamily` adds up equal labels. */
function* listingSamples(
  { serve, holder }: MetricSources,
  isOn: (listing: Deployment, nowMs: number) => boolean,
): Iterable<Sample> {
  const nowMs = serve.clock.monotonicMs();
  const routed = holder.current.models.flatMap(({ deployments }) => deployments);
  for (const [labels, listing] of serve.metrics.fold.forAll(routed)) {
    yield [labels, Number(isOn(listing, nowMs))];
  }
}

/** Yields a sample for each capacity pool of a routed listing, up to `metrics.listings_max`. */
function* poolSamples(
  { serve, holder }: MetricSources,
  valueOf: (poolId: string) => number,
): Iterable<Sample> {
  const { listingsMax } = serve.metrics.fold;
  const shown = new Set<string>();
  for (const { deployments } of holder.current.models) {
    for (const { pool } of deployments) {
      if (shown.has(pool.id) || shown.size >= listingsMax) continue;
      shown.add(pool.id);
      yield [[pool.id], valueOf(pool.id)];
    }
  }
}

const READ_EVERY_MS = 60_000;
/** Ledger figures that were read longer ago than this are not exported. */
const KEPT_MS = 3 * READ_EVERY_MS;

/** Reads the ledger's figures once a minute, so that no scrape queries the database. */
class BooksWatch {
  readonly #clock: Clock;
  #figures: BooksFigures | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  readonly job: Job;

  constructor({ backend, clock, log }: Pick<MetricSources, "backend" | "clock" | "log">) {
    this.#clock = clock;
    this.job = new Job(
      READ_EVERY_MS,
      async () => {
        this.#figures = await backend.readBooksFigures();
        this.#readAtMs = clock.monotonicMs();
      },
      (err) => log.warn({ err }, "the figures of the books could not be read for the metrics"),
    );
  }

  get figures(): BooksFigures | undefined {
    const isKept = this.#clock.monotonicMs() - this.#readAtMs < KEPT_MS;
    return isKept ? this.#figures : undefined;
  }
}
