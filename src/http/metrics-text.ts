import { Counter, Gauge, Registry, collectDefaultMetrics } from "prom-client";

import type { GatewayMetrics } from "../call/index.ts";
import type { VideoMetrics } from "../videos/index.ts";
import { INSTANCE_STATES, type InstanceState } from "./readiness.ts";

const MICRO_PER_USD = 1e6;

/** Batches that the ledger has sent, and the rows in them, by kind. */
export interface LedgerBatchCounts {
  readonly batches: ReadonlyMap<string, number>;
  readonly rows: ReadonlyMap<string, number>;
}

/** The gateway's counters in Prometheus' text form; read on request, free otherwise. */
export function metricsRegistry(
  metrics: GatewayMetrics,
  videos: VideoMetrics,
  instance: {
    readonly drains: () => number;
    readonly instanceState: () => InstanceState;
    readonly ledger: LedgerBatchCounts;
    readonly listings: () => readonly ListingState[];
  },
): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  videoCounters(registry, videos);
  counter(registry, {
    name: "tm_requests_total",
    help: "Requests by route, status and error class.",
    labelNames: ["route", "status", "error"],
    values: metrics.requests,
  });
  counter(registry, {
    name: "tm_attempts_total",
    help: "Physical dispatches by provider, model and outcome.",
    labelNames: ["provider", "model", "outcome"],
    values: metrics.attempts,
  });
  counter(registry, {
    name: "tm_usage_missing_total",
    help: "Complete answers of a listing that reported no usage and were therefore not billed.",
    labelNames: ["provider", "model"],
    values: metrics.usageMissing,
  });
  counter(registry, {
    name: "tm_usage_impossible_total",
    help: "Answers of a listing that reported more tokens than there can be; not billed.",
    labelNames: ["provider", "model"],
    values: metrics.usageImpossible,
  });
  counter(registry, {
    name: "tm_substituted_total",
    help: "Answers of a listing whose provider reported a model that the listing does not allow.",
    labelNames: ["provider", "model"],
    values: metrics.substituted,
  });
  counter(registry, {
    name: "tm_debited_usd_total",
    help: "Debited dollars by model, for dashboards; the ledger holds the exact amounts.",
    labelNames: ["model"],
    values: metrics.debitedMicroUsd,
    scale: MICRO_PER_USD,
  });
  ledgerCounters(registry, instance.ledger);
  gauge(registry, "tm_requests_in_flight", "Requests being served.", () => metrics.inFlight);
  gauge(
    registry,
    "tm_drains",
    "Answers that are read to their end after their client disconnected.",
    instance.drains,
  );
  stateGauge(registry, instance.instanceState);
  listingGauges(registry, instance.listings);
  return registry;
}

/** How far one routed listing is trusted. */
export interface ListingState {
  readonly provider: string;
  readonly model: string;
  readonly isVerified: boolean;
  readonly isSuspect: boolean;
}

/** One series a routed listing, so that a query for one that is not verified finds it. */
function listingGauges(registry: Registry, read: () => readonly ListingState[]): void {
  const gauges = [
    {
      name: "tm_listing_verified",
      help: "1: the last conformance run of this routed listing passed and counts; 0: not.",
      valueOf: ({ isVerified }: ListingState) => Number(isVerified),
    },
    {
      name: "tm_listing_suspect",
      help: "1: live answers broke what this routed listing promises, so it is tried last; 0: not.",
      valueOf: ({ isSuspect }: ListingState) => Number(isSuspect),
    },
  ];
  for (const { name, help, valueOf } of gauges) {
    const made: Gauge<"provider" | "model"> = new Gauge({
      name,
      help,
      labelNames: ["provider", "model"],
      registers: [registry],
      collect() {
        made.reset();
        for (const each of read()) {
          made.set({ provider: each.provider, model: each.model }, valueOf(each));
        }
      },
    });
  }
}

interface CounterInput {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly values: ReadonlyMap<string, number | bigint>;
  readonly scale?: number;
}

function counter(registry: Registry, input: CounterInput): void {
  const { name, help, labelNames, values, scale = 1 } = input;
  const made = new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      made.reset();
      for (const [key, value] of values) {
        const parts = key.split("|");
        const labels = Object.fromEntries(labelNames.map((label, at) => [label, parts[at] ?? ""]));
        made.inc(labels, Number(value) / scale);
      }
    },
  });
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const made = new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      made.set(read());
    },
  });
}

/** One series for each state, so that a query for one of them always finds it. */
function stateGauge(registry: Registry, read: () => InstanceState): void {
  const made = new Gauge({
    name: "tm_instance_state",
    help: "1 for the current state of this instance, 0 for the other states.",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const now = read();
      for (const state of INSTANCE_STATES) made.set({ state }, state === now ? 1 : 0);
    },
  });
}

/** Rows divided by batches: how many requests share one commit. */
function ledgerCounters(registry: Registry, ledger: LedgerBatchCounts): void {
  counter(registry, {
    name: "tm_ledger_batches_total",
    help: "Batches that the ledger sent to the database, by kind.",
    labelNames: ["kind"],
    values: ledger.batches,
  });
  counter(registry, {
    name: "tm_ledger_rows_total",
    help: "Holds and closings in the batches of the ledger, by kind.",
    labelNames: ["kind"],
    values: ledger.rows,
  });
}

function videoCounters(registry: Registry, videos: VideoMetrics): void {
  counter(registry, {
    name: "tm_video_looks_total",
    help: "Polls of providers' video jobs by provider and result.",
    labelNames: ["provider", "look"],
    values: videos.polls,
  });
  counter(registry, {
    name: "tm_video_jobs_ended_total",
    help: "Ended video jobs by provider, model and outcome.",
    labelNames: ["provider", "model", "end"],
    values: videos.ended,
  });
  counter(registry, {
    name: "tm_video_cost_missing_total",
    help: "Videos without a reported cost: they were not billed.",
    labelNames: ["provider", "model"],
    values: videos.costMissing,
  });
  counter(registry, {
    name: "tm_video_cost_over_reserve_total",
    help: "Videos that cost more than was held: the platform bears the difference.",
    labelNames: ["provider", "model"],
    values: videos.costOverReserve,
  });
  gauge(
    registry,
    "tm_video_sweeps_failed",
    "Polling rounds that could not read the jobs, since the start.",
    () => videos.failedSweeps,
  );
}
