import { setImmediate as nextTurn } from "node:timers/promises";

import type { Deployment } from "../src/catalog/index.ts";
import { add, GatewayMetrics } from "../src/call/index.ts";
import { microUsd, picoUsd } from "../src/core/money.ts";
import { systemClock } from "../src/core/time.ts";
import type { AttemptResult } from "../src/dispatch/index.ts";
import { Exposition } from "../src/metrics/exposition.ts";
import { processMetrics } from "../src/metrics/process-metrics.ts";
import { median } from "./results.ts";

/**
 * What the metrics of one request cost, and how long a scrape keeps the event loop from other work.
 * Off and on alternate in one run, in rounds so short that few are interrupted; the median counts.
 * Fails above the bounds. Run: `npm run bench:metrics`.
 */
const REQUESTS = 400;
const ROUNDS = 3_000;
const SCRAPES = 60;
const LISTINGS = 500;
const REQUEST_US_MAX = 1;
const SCRAPE_HOLD_MS_MAX = 15;

const STREAMED: AttemptResult = {
  bridge: undefined,
  failure: undefined,
  timedOut: false,
  hasOutput: true,
  upstreamStatus: 200,
  firstByteMs: 80,
  firstOutputMs: 95,
  durationMs: 1_200,
};
const SETTLEMENT = {
  usage: { prompt: 250, cachedPrompt: 0, cacheWrite: 0, completion: 100, internalReasoning: 0 },
  basis: "reported",
  costPicoUsd: picoUsd(1_250_000_000n),
} as const;
const RESERVE = microUsd(5_000n);
const ROUTE = "/v1/chat/completions";

const listings = Array.from(
  { length: LISTINGS },
  (_, at) =>
    ({
      providerId: `prov-${at % 20}`,
      modelId: `maker/model-${at}`,
      modality: "video",
    }) as unknown as Deployment,
);

/** What a request asks of the metrics since they have histograms; the counters before are in both. */
function withHistograms(metrics: GatewayMetrics, listing: Deployment, at: number): void {
  const startedMs = systemClock.monotonicMs();
  metrics.dispatched(ROUTE, systemClock.monotonicMs() - startedMs);
  metrics.attempt(listing, STREAMED);
  metrics.attemptSettled(listing, {
    result: STREAMED,
    settlement: SETTLEMENT,
    reserveMicroUsd: RESERVE,
  });
  metrics.settled(listing.modelId, RESERVE);
  const ended = { refusal: undefined, isStream: true, gone: false, hasBroken: false };
  metrics.ended({ route: ROUTE, status: 200, durationMs: at & 1023, ...ended });
}

/** The same request as the counters before the histograms had it. */
function countersOnly(metrics: GatewayMetrics, { providerId, modelId }: Deployment): void {
  add(metrics.attempts, `${providerId}|${modelId}|completed`);
  metrics.settled(modelId, RESERVE);
  metrics.request(ROUTE, 200, "");
}

/** Over all rounds, so that every listing is used. */
let served = 0;

function usPerRequest(run: (listing: Deployment, at: number) => void): number {
  const startedMs = systemClock.monotonicMs();
  for (let at = 0; at < REQUESTS; at += 1) {
    served += 1;
    const listing = listings[served % LISTINGS];
    if (listing !== undefined) run(listing, at);
  }
  return ((systemClock.monotonicMs() - startedMs) * 1_000) / REQUESTS;
}

/**
 * The longest stretch of `work` in which nothing else could run, in processor time of all threads:
 * whatever else the machine does is not in it.
 */
async function longestHoldMs(work: () => Promise<unknown>): Promise<number> {
  const watched = { isDone: false };
  let longestMs = 0;
  let lastMs = processorMs();
  const watch = (async () => {
    while (!watched.isDone) {
      await nextTurn();
      const nowMs = processorMs();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      lastMs = nowMs;
    }
  })();
  await nextTurn();
  await work();
  watched.isDone = true;
  await watch;
  return longestMs;
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const off = new GatewayMetrics();
const on = new GatewayMetrics();
const exposition = new Exposition(on.families(), processMetrics());
// As the program does at its start, when there is no listing yet.
await exposition.warmUp();
const offUs: number[] = [];
const onUs: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  offUs.push(usPerRequest((listing) => countersOnly(off, listing)));
  onUs.push(usPerRequest((listing, at) => withHistograms(on, listing, at)));
}
const first = await longestHoldMs(() => exposition.scrape(undefined));
const holds: number[] = [];
let chars = 0;
const beforeMs = processorMs();
for (let round = 0; round < SCRAPES; round += 1) {
  holds.push(
    await longestHoldMs(async () => {
      chars = (await exposition.scrape("application/openmetrics-text")).body.length;
    }),
  );
}
const scrapeMs = (processorMs() - beforeMs) / SCRAPES;
const addedUs = median(onUs) - median(offUs);
const holdMs = median(holds);
console.table({
  "counters alone, us a request": shown(offUs),
  "with histograms, tokens and cost, us a request": shown(onUs),
  "added, median, us a request": addedUs.toFixed(2),
  [`scrape of ${LISTINGS} listings, ms of processor time`]: scrapeMs.toFixed(1),
  "longest hold, first scrape, ms of processor time": first.toFixed(1),
  "longest hold, later scrapes, ms of processor time": shown(holds),
  "text, MB": (chars / 1e6).toFixed(1),
});
const isWithin = addedUs <= REQUEST_US_MAX && Math.max(first, holdMs) <= SCRAPE_HOLD_MS_MAX;
if (!isWithin) {
  console.error(`above ${REQUEST_US_MAX} us a request or ${SCRAPE_HOLD_MS_MAX} ms a scrape`);
  process.exitCode = 1;
}

function best(figures: readonly number[]): number {
  return Math.min(...figures);
}

function shown(figures: readonly number[]): string {
  return `${best(figures).toFixed(2)} (median ${median(figures).toFixed(2)})`;
}
