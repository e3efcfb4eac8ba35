import type { Deployment } from "../../catalog/index.ts";
import {
  floorToMicroUsd,
  type MicroUsd,
  outputTokensTotal,
  type PicoUsd,
  TOKEN_BUCKET_NAMES,
  TOKEN_BUCKETS,
  type Usage,
  type Family,
  type Histogram,
  HistogramFamily,
  type ListingFold,
  type ListingLabels,
  microDollars,
  picoDollars,
  ReadFamily,
  type Sample,
} from "../../kernel/index.ts";
import type { AttemptResult } from "../../upstream/index.ts";

type Listing = Pick<Deployment, "providerId" | "modelId">;

/** The buckets of tokens, in the order in which they are counted and by the names they are shown. */
const TOKEN_KINDS = Object.values(TOKEN_BUCKETS);

/** All series of one listing, or of all that have no place of their own. */
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

/** What an attempt costs, what of that its provider is owed, and what was held for it. */
export interface Cost {
  readonly costPicoUsd: PicoUsd;
  readonly owedPicoUsd: PicoUsd;
  readonly reserveMicroUsd: MicroUsd;
}

/** What is counted by listing: found by two maps, so that an attempt costs little. */
export class ListingCounts {
  readonly #fold: ListingFold;
  readonly #attempts = new HistogramFamily("tm_attempt_duration_seconds");
  readonly #firstOutputs = new HistogramFamily("tm_first_output_seconds");
  readonly #outputTokens = new HistogramFamily("tm_output_token_seconds");
  readonly #byProvider: Map<string, Map<string, ListingSeries>> = new Map();
  readonly #series: Map<ListingLabels, ListingSeries> = new Map();

  constructor(fold: ListingFold) {
    this.#fold = fold;
  }

  attempt(listing: Listing, { durationMs, firstOutputMs }: AttemptResult): void {
    const series = this.#of(listing);
    if (series.isOther) this.#fold.folded += 1;
    series.attempt.observe(durationMs / 1000);
    if (firstOutputMs === null) return;
    series.firstOutput ??= this.#firstOutputs.of(...series.labels);
    series.firstOutput.observe(firstOutputMs / 1000);
  }

  /** What an attempt used and owes is known. */
  settled(
    listing: Listing,
    ended: { readonly result: AttemptResult; readonly usage: Usage | null; readonly cost: Cost },
  ): void {
    const series = this.#of(listing);
    const { usage } = ended;
    if (usage !== null) {
      addTokens(series.tokens, usage);
      this.#outputSpeed(series, ended.result, outputTokensTotal(usage));
    }
    addCost(series, ended.cost);
  }

  cost(listing: Listing, cost: Cost): void {
    addCost(this.#of(listing), cost);
  }

  families(): readonly Family[] {
    return [
      this.#attempts,
      this.#firstOutputs,
      this.#outputTokens,
      new ReadFamily("tm_tokens_total", () => this.#tokenSamples()),
      new ReadFamily("tm_provider_cost_usd_total", () =>
        this.#samples(({ owedPicoUsd }) => picoDollars(owedPicoUsd)),
      ),
      new ReadFamily("tm_overrun_usd_total", () =>
        this.#samples(({ overrunMicroUsd }) => microDollars(overrunMicroUsd)),
      ),
    ];
  }

  /** The mean time of a token behind the first, of a stream that was observed to its end. */
  #outputSpeed(series: ListingSeries, result: AttemptResult, outputTokens: number): void {
    const { firstOutputMs, durationMs, failure } = result;
    if (firstOutputMs === null || failure !== undefined || outputTokens < 2) return;
    series.outputToken ??= this.#outputTokens.of(...series.labels);
    series.outputToken.observe((durationMs - firstOutputMs) / (outputTokens - 1) / 1000);
  }

  *#samples(read: (series: ListingSeries) => number): Iterable<Sample> {
    for (const series of this.#series.values()) yield [series.labels, read(series)];
  }

  *#tokenSamples(): Iterable<Sample> {
    for (const { labels, tokens } of this.#series.values()) {
      for (const [at, kind] of TOKEN_KINDS.entries()) yield [[...labels, kind], tokens[at] ?? 0];
    }
  }

  #of({ providerId, modelId }: Listing): ListingSeries {
    const known = this.#byProvider.get(providerId)?.get(modelId);
    return known ?? this.#make(providerId, modelId);
  }

  #make(providerId: string, modelId: string): ListingSeries {
    const labels = this.#fold.place(providerId, modelId);
    const series = this.#series.get(labels) ?? {
      labels,
      isOther: this.#fold.isOther(labels),
      attempt: this.#attempts.of(...labels),
      firstOutput: undefined,
      outputToken: undefined,
      tokens: new Float64Array(TOKEN_KINDS.length),
      owedPicoUsd: 0n,
      overrunMicroUsd: 0n,
    };
    this.#series.set(labels, series);
    const models = this.#byProvider.get(providerId) ?? new Map<string, ListingSeries>();
    this.#byProvider.set(providerId, models.set(modelId, series));
    return series;
  }
}

/** In the order of `TOKEN_KINDS`. */
function addTokens(tokens: Float64Array, usage: Usage): void {
  TOKEN_BUCKET_NAMES.forEach((bucket, at) => {
    tokens[at] = (tokens[at] ?? 0) + usage[bucket];
  });
}

function addCost(series: ListingSeries, cost: Cost): void {
  const { costPicoUsd, owedPicoUsd, reserveMicroUsd } = cost;
  series.owedPicoUsd += owedPicoUsd;
  const overrun = floorToMicroUsd(costPicoUsd) - reserveMicroUsd;
  if (overrun > 0n) series.overrunMicroUsd += overrun;
}
