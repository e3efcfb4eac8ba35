import type { Deployment } from "../../catalog/index.ts";
import {
  type MicroUsd,
  type Refusal,
  type RefusalClass,
  type ServedModel,
  type Family,
  type Histogram,
  HistogramFamily,
  type KeptTrace,
  ListingFold,
  LISTINGS_MAX,
  mapped,
  microDollars,
  oneValue,
  ReadFamily,
  type Sample,
} from "../../kernel/index.ts";
import type { AttemptResult } from "../../upstream/index.ts";
import { type Cost, ListingCounts } from "./listing-counts.ts";
import type { Settlement } from "./settlement.ts";

type Listing = Pick<Deployment, "providerId" | "modelId">;

/** One request that has ended, as its metrics count it. */
export interface EndedRequest {
  readonly route: string;
  /** 0: nothing was answered. */
  readonly status: number;
  readonly refusal: Refusal | undefined;
  /** Was its answer a stream? */
  readonly isStream: boolean;
  /** The client left before the answer ended. */
  readonly gone: boolean;
  /** The answer had begun and ended with an error. */
  readonly hasBroken: boolean;
  readonly durationMs: number;
  readonly trace?: KeptTrace;
}

type RequestEnd = "served" | "refused" | "failed" | "gone";

/** Histograms of one route; the same for all its requests, so that none makes a text to find them. */
interface RouteSeries {
  readonly overhead: Histogram;
  readonly durations: Map<RequestEnd, Histogram>;
  readonly streamDurations: Map<RequestEnd, Histogram>;
}

/** Plain counters that the hot path adds to; the internal listener turns them into text. */
export class GatewayMetrics {
  /** `route|status|error class` to requests. */
  readonly requests: Map<string, number> = new Map();
  /** `provider|model|outcome` to attempts. */
  readonly attempts: Map<string, number> = new Map();
  /** `provider|model` to complete answers without usage: the listing breaks its promise. */
  readonly usageMissing: Map<string, number> = new Map();
  /** `provider|model` to answers whose reported usage is impossible and was not believed. */
  readonly usageImpossible: Map<string, number> = new Map();
  /** `provider|model` to answers of another model than the listing allows. */
  readonly substituted: Map<string, number> = new Map();
  /** `model` to micro-dollars debited. */
  readonly debitedMicroUsd: Map<string, bigint> = new Map();
  /** `scope|kind|origin` to requests that a limit refused. */
  readonly limitRefusals: Map<string, number> = new Map();
  /** `provider|error class` to attempts that were followed by one at another candidate. */
  readonly failovers: Map<string, number> = new Map();
  /** `provider` to requests sent again, as the kept connection of their first had ended. */
  readonly resends: Map<string, number> = new Map();
  /** Requests between their first byte and their last. */
  inFlight = 0;
  readonly fold: ListingFold;
  readonly listings: ListingCounts;
  readonly #durations = new HistogramFamily("tm_request_duration_seconds");
  readonly #overhead = new HistogramFamily("tm_overhead_seconds");
  readonly #routes: Map<string, RouteSeries> = new Map();

  constructor(listingsMax: number = LISTINGS_MAX) {
    this.fold = new ListingFold(listingsMax);
    this.listings = new ListingCounts(this.fold);
  }

  request(route: string, status: number, errorClass: RefusalClass | ""): void {
    add(this.requests, `${route}|${status}|${errorClass}`);
  }

  ended(request: EndedRequest): void {
    const { route, refusal, isStream, durationMs } = request;
    this.request(route, request.status, refusal?.class ?? "");
    const { durations, streamDurations } = this.#routeOf(route);
    const end = endOf(request);
    const ofEnd = isStream ? streamDurations : durations;
    let series = ofEnd.get(end);
    if (series === undefined) {
      series = this.#durations.of(route, String(isStream), end);
      ofEnd.set(end, series);
    }
    series.observe(durationMs / 1000, request.trace);
    if (refusal?.limit === undefined) return;
    const { scope, kind } = refusal.limit;
    add(this.limitRefusals, `${scope}|${kind}|${refusal.origin ?? ""}`);
  }

  /** A request reaches its first provider, after so much time of our own. */
  dispatched(route: string, ownMs: number): void {
    this.#routeOf(route).overhead.observe(ownMs / 1000);
  }

  attempt(deployment: Deployment, result: AttemptResult): void {
    const outcome = result.failure === undefined ? "completed" : result.failure.refusal.class;
    add(this.attempts, `${keyOf(deployment)}|${outcome}`);
    this.listings.attempt(deployment, result);
    // A video's cost is known when its job has ended.
    const isDue = deployment.modality !== "video" && result.failure === undefined;
    const silent = isDue && result.bridge?.usage === undefined;
    if (silent) add(this.usageMissing, keyOf(deployment));
    this.served(deployment, result.bridge?.servedModel);
  }

  /** What an attempt owes is known. */
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
    if (flag !== undefined) add(this.usageImpossible, keyOf(deployment));
    const cost = { costPicoUsd, owedPicoUsd, reserveMicroUsd };
    this.listings.settled(deployment, { result, usage, cost });
  }

  /** What a provider is owed for something that outlived its request. */
  owed(listing: Listing, cost: Cost): void {
    this.listings.cost(listing, cost);
  }

  failedOver({ providerId }: Listing, cls: RefusalClass): void {
    add(this.failovers, `${providerId}|${cls}`);
  }

  sentAgain(providerId: string): void {
    add(this.resends, providerId);
  }

  served(listing: Listing, served: ServedModel | undefined): void {
    if (served?.isSubstituted !== true) return;
    add(this.substituted, keyOf(listing));
  }

  settled(model: string, debit: MicroUsd): void {
    this.debitedMicroUsd.set(model, (this.debitedMicroUsd.get(model) ?? 0n) + debit);
  }

  families(): readonly Family[] {
    return [this.#durations, this.#overhead, ...this.listings.families(), ...callFamilies(this)];
  }

  #routeOf(route: string): RouteSeries {
    const known = this.#routes.get(route);
    if (known !== undefined) return known;
    const overhead = this.#overhead.of(route);
    const made = { overhead, durations: new Map(), streamDurations: new Map() };
    this.#routes.set(route, made);
    return made;
  }
}

/** The plain counters of a gateway, read when they are asked for; listings are folded. */
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

/** One more of `key`. */
export function add(counter: Map<string, number>, key: string): void {
  counter.set(key, (counter.get(key) ?? 0) + 1);
}

function keyOf({ providerId, modelId }: Listing): string {
  return `${providerId}|${modelId}`;
}

const FAULT_STATUS = 500;

function endOf({ gone, refusal, hasBroken, status }: EndedRequest): RequestEnd {
  if (gone) return "gone";
  if (refusal !== undefined) return refusal.status >= FAULT_STATUS ? "failed" : "refused";
  return hasBroken || status >= FAULT_STATUS ? "failed" : "served";
}
