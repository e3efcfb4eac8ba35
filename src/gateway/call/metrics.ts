import type { Deployment } from "../../catalog/index.ts";
import {
  type Family,
  floorToMicroUsd,
  type Histogram,
  HistogramFamily,
  increment,
  type KeptTrace,
  ListingFold,
  type ListingLabels,
  LISTINGS_MAX,
  mapped,
  microDollars,
  type MicroUsd,
  oneValue,
  outputTokensTotal,
  picoDollars,
  type PicoUsd,
  ReadFamily,
  type Refusal,
  type RefusalClass,
  type Sample,
  type ServedModel,
  TOKEN_BUCKET_NAMES,
  TOKEN_BUCKETS,
} from "../../kernel/index.ts";
import type { AttemptResult } from "../../upstream/index.ts";
import { lacksUsage, type Settlement } from "./settle.ts";

type Listing = Pick<Deployment, "providerId" | "modelId">;

export interface EndedRequest {
  readonly route: string;
  /** HTTP status; 0 if nothing was answered. */
  readonly status: number;
  readonly refusal: Refusal | undefined;
  readonly isStream: boolean;
  readonly gone: boolean;
  readonly hasBroken: boolean;
  readonly durationMs: number;
  readonly trace?: KeptTrace;
}

type RequestEnd = "served" | "refused" | "failed" | "gone";

/** The histograms of one route, kept so that no label text is built for each request. */
interface RouteSeries {
  readonly overhead: Histogram;
  readonly durations: Map<RequestEnd, Histogram>;
  readonly streamDurations: Map<RequestEnd, Histogram>;
}

/** Counters that the hot path increments. The internal listener turns them into text. */
export class GatewayMetrics {
  /** Requests by `route|status|error class`. */
  readonly requests: Map<string, number> = new Map();
  /** Attempts by `provider|model|outcome`. */
  readonly attempts: Map<string, number> = new Map();
  /** Complete answers without the usage or cost by which to charge them, by `provider|model`. */
  readonly usageMissing: Map<string, number> = new Map();
  /** Answers whose reported usage or cost was impossible, by `provider|model`. */
  readonly usageImpossible: Map<string, number> = new Map();
  /** Answers from another model than the listing allows, by `provider|model`. */
  readonly substituted: Map<string, number> = new Map();
  readonly debitedMicroUsd: Map<string, bigint> = new Map();
  /** Requests that a limit refused, by `scope|kind|origin`. */
  readonly limitRefusals: Map<string, number> = new Map();
  /** Attempts after which another candidate was tried, by `provider|error class`. */
  readonly failovers: Map<string, number> = new Map();
  /** Requests sent again because the provider had closed the reused connection, by provider. */
  readonly resends: Map<string, number> = new Map();
  /** Requests whose headers have arrived and whose answer has not ended. */
  inFlight = 0;
  readonly fold: ListingFold;
  readonly #durations = new HistogramFamily("tm_request_duration_seconds");
  readonly #overhead = new HistogramFamily("tm_overhead_seconds");
  readonly #attemptDurations = new HistogramFamily("tm_attempt_duration_seconds");
  readonly #firstOutputs = new HistogramFamily("tm_first_output_seconds");
  readonly #outputTokens = new HistogramFamily("tm_output_token_seconds");
  readonly #routes: Map<string, RouteSeries> = new Map();
  /** By provider, then by model: nested maps need no combined key for each attempt. */
  readonly #byProvider: Map<string, Map<string, ListingSeries>> = new Map();
  readonly #listings: Map<ListingLabels, ListingSeries> = new Map();

  constructor(listingsMax: number = LISTINGS_MAX) {
    this.fold = new ListingFold(listingsMax);
  }

  request(route: string, status: number, errorClass: RefusalClass | ""): void {
    increment(this.requests, `${route}|${status}|${errorClass}`);
  }

  ended(request: EndedRequest): void {
    const { route, refusal, isStream, durationMs } = request;
    this.request(route, request.status, refusal?.class ?? "");
    const { durations, streamDurations } = this.#openRoute(route);
    const end = classifyEnd(request);
    const ofEnd = isStream ? streamDurations : durations;
    let series = ofEnd.get(end);
    if (series === undefined) {
      series = this.#durations.of(route, String(isStream), end);
      ofEnd.set(end, series);
    }
    series.observe(durationMs / 1000, request.trace);
    if (refusal?.limit === undefined) return;
    const { scope, kind } = refusal.limit;
    increment(this.limitRefusals, `${scope}|${kind}|${refusal.origin ?? ""}`);
  }

  /** Records the gateway's own time (`ownMs`) before it sent a request to its first provider. */
  dispatched(route: string, ownMs: number): void {
    this.#openRoute(route).overhead.observe(ownMs / 1000);
  }

  attempt(deployment: Deployment, result: AttemptResult): void {
    const { bridge, failure, durationMs, firstOutputMs } = result;
    const outcome = failure === undefined ? "completed" : failure.refusal.class;
    increment(this.attempts, `${toListingKey(deployment)}|${outcome}`);
    const series = this.#openListing(deployment);
    if (series.isOther) this.fold.folded += 1;
    series.attempt.observe(durationMs / 1000);
    if (firstOutputMs !== null) {
      series.firstOutput ??= this.#firstOutputs.of(...series.labels);
      series.firstOutput.observe(firstOutputMs / 1000);
    }
    const isComplete = bridge !== undefined && failure === undefined;
    if (isComplete && lacksUsage(bridge, deployment)) {
      increment(this.usageMissing, toListingKey(deployment));
    }
    this.served(deployment, bridge?.servedModel);
  }

  attemptSettled(
    deployment: Deployment,
    ended: {
      readonly result: AttemptResult;
      readonly settlement: Settlement;
      readonly reserveMicroUsd: MicroUsd;
    },
  ): void {
    const { result, settlement, reserveMicroUsd } = ended;
    const { usage, flag, costPicoUsd, owedPicoUsd = costPicoUsd } = settlement;
    if (flag !== undefined) this.reportedImpossible(deployment);
    const series = this.#openListing(deployment);
    if (usage !== null) {
      const { tokens } = series;
      TOKEN_BUCKET_NAMES.forEach((bucket, at) => {
        tokens[at] = (tokens[at] ?? 0) + usage[bucket];
      });
      this.#observeSpeed(series, result, outputTokensTotal(usage));
    }
    addCost(series, { costPicoUsd, owedPicoUsd, reserveMicroUsd });
  }

  /** Observes the mean time per output token after the first, for streams that were read whole. */
  #observeSpeed(series: ListingSeries, result: AttemptResult, outputTokens: number): void {
    const { firstOutputMs, durationMs, failure } = result;
    if (firstOutputMs === null || failure !== undefined || outputTokens < 2) return;
    series.outputToken ??= this.#outputTokens.of(...series.labels);
    series.outputToken.observe((durationMs - firstOutputMs) / (outputTokens - 1) / 1000);
  }

  reportedImpossible(listing: Listing): void {
    increment(this.usageImpossible, toListingKey(listing));
  }

  /** Records the cost of a job that outlived its request. */
  owed(listing: Listing, cost: Cost): void {
    addCost(this.#openListing(listing), cost);
  }

  failedOver({ providerId }: Listing, cls: RefusalClass): void {
    increment(this.failovers, `${providerId}|${cls}`);
  }

  sentAgain(providerId: string): void {
    increment(this.resends, providerId);
  }

  served(listing: Listing, served: ServedModel | undefined): void {
    if (served?.isSubstituted !== true) return;
    increment(this.substituted, toListingKey(listing));
  }

  settled(model: string, debit: MicroUsd): void {
    this.debitedMicroUsd.set(model, (this.debitedMicroUsd.get(model) ?? 0n) + debit);
  }

  families(): readonly Family[] {
    return [
      this.#durations,
      this.#overhead,
      this.#attemptDurations,
      this.#firstOutputs,
      this.#outputTokens,
      ...listingFamilies(this.#listings),
      ...callFamilies(this),
    ];
  }

  #openRoute(route: string): RouteSeries {
    const known = this.#routes.get(route);
    if (known !== undefined) return known;
    const overhead = this.#overhead.of(route);
    const made = { overhead, durations: new Map(), streamDurations: new Map() };
    this.#routes.set(route, made);
    return made;
  }

  #openListing({ providerId, modelId }: Listing): ListingSeries {
    const known = this.#byProvider.get(providerId)?.get(modelId);
    if (known !== undefined) return known;
    const labels = this.fold.place(providerId, modelId);
    const series = this.#listings.get(labels) ?? {
      labels,
      isOther: this.fold.isOther(labels),
      attempt: this.#attemptDurations.of(...labels),
      firstOutput: undefined,
      outputToken: undefined,
      tokens: new Float64Array(TOKEN_KINDS.length),
      owedPicoUsd: 0n,
      overrunMicroUsd: 0n,
    };
    this.#listings.set(labels, series);
    const models = this.#byProvider.get(providerId) ?? new Map<string, ListingSeries>();
    this.#byProvider.set(providerId, models.set(modelId, series));
    return series;
  }
}

function listingFamilies(listings: ReadonlyMap<ListingLabels, ListingSeries>): readonly Family[] {
  function* samplesOf(read: (series: ListingSeries) => number): Iterable<Sample> {
    for (const series of listings.values()) yield [series.labels, read(series)];
  }
  return [
    new ReadFamily("tm_tokens_total", function* () {
      for (const { labels, tokens } of listings.values()) {
        for (const [at, kind] of TOKEN_KINDS.entries()) {
          yield [[...labels, kind], tokens[at] ?? 0] satisfies Sample;
        }
      }
    }),
    new ReadFamily("tm_provider_cost_usd_total", () =>
      samplesOf(({ owedPicoUsd }) => picoDollars(owedPicoUsd)),
    ),
    new ReadFamily("tm_overrun_usd_total", () =>
      samplesOf(({ overrunMicroUsd }) => microDollars(overrunMicroUsd)),
    ),
  ];
}

function callFamilies(metrics: GatewayMetrics): readonly Family[] {
  const { fold } = metrics;
  return [
    mapped("tm_requests_total", metrics.requests),
    mapped("tm_limit_refusals_total", metrics.limitRefusals),
    mapped("tm_failovers_total", metrics.failovers),
    mapped("tm_resends_total", metrics.resends),
    ...fold.counters({
      tm_attempts_total: metrics.attempts,
      tm_usage_missing_total: metrics.usageMissing,
      tm_usage_impossible_total: metrics.usageImpossible,
      tm_substituted_total: metrics.substituted,
    }),
    new ReadFamily("tm_debited_usd_total", function* () {
      for (const [model, debitMicroUsd] of metrics.debitedMicroUsd) {
        yield [[fold.modelLabel(model)], microDollars(debitMicroUsd)] satisfies Sample;
      }
    }),
    oneValue("tm_requests_in_flight", () => metrics.inFlight),
    oneValue("tm_metrics_folded_total", () => fold.folded),
  ];
}

export function toListingKey({ providerId, modelId }: Listing): string {
  return `${providerId}|${modelId}`;
}

const FAULT_STATUS = 500;

function classifyEnd({ gone, refusal, hasBroken, status }: EndedRequest): RequestEnd {
  if (gone) return "gone";
  if (refusal !== undefined) return refusal.status >= FAULT_STATUS ? "failed" : "refused";
  return hasBroken || status >= FAULT_STATUS ? "failed" : "served";
}

/** The public names of the token buckets, in the order of `TOKEN_BUCKET_NAMES`. */
const TOKEN_KINDS = Object.values(TOKEN_BUCKETS);

/** The metrics of one listing, or of all listings beyond the maximum, which share one series. */
interface ListingSeries {
  readonly labels: ListingLabels;
  readonly isOther: boolean;
  readonly attempt: Histogram;
  firstOutput: Histogram | undefined;
  outputToken: Histogram | undefined;
  readonly tokens: Float64Array;
  owedPicoUsd: bigint;
  overrunMicroUsd: bigint;
}

/** The cost of one attempt to the customer, and the amount that is owed to its provider. */
interface Cost {
  readonly costPicoUsd: PicoUsd;
  readonly owedPicoUsd: PicoUsd;
  readonly reserveMicroUsd: MicroUsd;
}

function addCost(series: ListingSeries, cost: Cost): void {
  const { costPicoUsd, owedPicoUsd, reserveMicroUsd } = cost;
  series.owedPicoUsd += owedPicoUsd;
  const overrun = floorToMicroUsd(costPicoUsd) - reserveMicroUsd;
  if (overrun > 0n) series.overrunMicroUsd += overrun;
}
