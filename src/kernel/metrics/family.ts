import { assert } from "../core/assert.ts";
import type { MetricRow, MetricType } from "./metric-row.ts";
import { type MetricName, type MetricNameOf, METRICS } from "./metrics-table.ts";

export interface Family {
  readonly name: MetricName;
  /** Yields the metric's text in parts, between which other work runs; nothing without samples. */
  parts(form: TextForm): Iterable<string>;
}

/** One series of a counter or gauge. Label values are in the order of `MetricRow.labels`. */
export type Sample = readonly [labels: readonly string[], value: number];

/** A metric whose values are read at each scrape, so that it costs nothing in between. */
export class ReadFamily implements Family {
  readonly name: MetricNameOf<"counter" | "gauge">;
  readonly #read: () => Iterable<Sample>;
  readonly #names: readonly string[];
  /**
   * Label values of the series that are shown as 0 before their first sample: all series of a
   * counter whose labels list all their values, unless the counter's row has `mayBeEmpty`.
   */
  readonly #zeros: readonly (readonly string[])[];

  constructor(name: MetricNameOf<"counter" | "gauge">, read: () => Iterable<Sample>) {
    this.name = name;
    this.#read = read;
    const row = METRICS[name];
    this.#names = labelNames(row);
    this.#zeros = row.type === "counter" && row.mayBeEmpty !== true ? listKnownSeries(row) : [];
  }

  *parts(form: TextForm): Iterable<string> {
    const shown = new Map<string, number>();
    for (const values of this.#zeros) shown.set(labelText(this.#names, values), 0);
    for (const [values, value] of this.#read()) {
      const labels = labelText(this.#names, values);
      // Several listings have the labels `other`: their values are added up.
      shown.set(labels, (shown.get(labels) ?? 0) + value);
    }
    if (shown.size === 0) return;
    let text = headText(form, { name: this.name, ...METRICS[this.name] });
    for (const [labels, value] of shown) text += `${this.name}${labels} ${value}\n`;
    yield text;
  }
}

/** A metric with one series, which is absent while `read` returns undefined. */
export function oneValue(
  name: MetricNameOf<"counter" | "gauge">,
  read: () => number | undefined,
): Family {
  return new ReadFamily(name, () => {
    const value = read();
    return value === undefined ? [] : [[[], value]];
  });
}

/** Makes a metric from a map whose keys are the label values, joined by `|`. */
export function mapped(
  name: MetricNameOf<"counter" | "gauge">,
  values: ReadonlyMap<string, number>,
): Family {
  return new ReadFamily(name, () => iterateSamples(values));
}

export function increment<K>(counter: Map<K, number>, key: K, by = 1): void {
  counter.set(key, (counter.get(key) ?? 0) + by);
}

export function* iterateSamples(values: ReadonlyMap<string, number>): Iterable<Sample> {
  for (const [key, value] of values) yield [key.split("|"), value];
}

/** A part is yielded once it is this long. Formatting this much text takes about a millisecond. */
const PART_CHARS = 128 * 1024;

export class HistogramFamily implements Family {
  readonly name: MetricNameOf<"histogram">;
  readonly #names: readonly string[];
  readonly #bounds: readonly number[];
  readonly #series: Map<string, Histogram> = new Map();

  constructor(name: MetricNameOf<"histogram">) {
    const row = METRICS[name];
    assert(row.buckets !== undefined, `${name} has buckets`);
    this.name = name;
    this.#names = labelNames(row);
    this.#bounds = row.buckets;
    if (row.mayBeEmpty !== true) for (const values of listKnownSeries(row)) this.of(...values);
  }

  /** Returns the same object for the same label values, so that a caller can keep it. */
  of(...values: readonly string[]): Histogram {
    const labels = renderLabels(this.#names, values);
    const known = this.#series.get(labels);
    if (known !== undefined) return known;
    const made = new Histogram(this.name, this.#bounds, labels);
    this.#series.set(labels, made);
    return made;
  }

  *parts(form: TextForm): Iterable<string> {
    if (this.#series.size === 0) return;
    let text = headText(form, { name: this.name, ...METRICS[this.name] });
    for (const series of this.#series.values()) {
      text += series.text(form);
      if (text.length < PART_CHARS) continue;
      yield text;
      text = "";
    }
    yield text;
  }
}

function labelNames({ labels = [] }: MetricRow): readonly string[] {
  return labels.map(({ name }) => name);
}

/** Returns all combinations of label values; none for a gauge, or if a label lists no values. */
function listKnownSeries({ labels = [], type }: MetricRow): readonly (readonly string[])[] {
  if (type === ("gauge" satisfies MetricType)) return [];
  let series: readonly (readonly string[])[] = [[]];
  for (const { values = [] } of labels) {
    series = series.flatMap((before) => values.map((value) => [...before, value]));
  }
  return series;
}

/** A trace that sampling has kept. OpenMetrics shows it as the exemplar of a histogram bucket. */
export interface KeptTrace {
  readonly traceId: string;
  readonly atMs: number;
}

interface Exemplar extends KeptTrace {
  readonly value: number;
}

/**
 * One series of a histogram. `cells` contains the count of each bucket, the count above the last
 * bound, and the sum. An observation without a trace allocates nothing.
 */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #cells: Float64Array;
  /** The last kept trace of each bucket; undefined before the first one. */
  #exemplars: (Exemplar | undefined)[] | undefined;
  #prefixes: readonly string[] | undefined;
  readonly #name: string;
  readonly #labels: string;

  /** `labels` is text such as `a="1",b="2"`, or empty. */
  constructor(name: string, bounds: readonly number[], labels: string) {
    this.#name = name;
    this.#bounds = bounds;
    this.#cells = new Float64Array(bounds.length + 2);
    this.#labels = labels;
  }

  observe(value: number, trace?: KeptTrace): void {
    const bounds = this.#bounds;
    const cells = this.#cells;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
    cells[at] = (cells[at] ?? 0) + 1;
    const sum = cells.length - 1;
    cells[sum] = (cells[sum] ?? 0) + value;
    if (trace !== undefined) (this.#exemplars ??= [])[at] = { ...trace, value };
  }

  text(form: TextForm): string {
    this.#prefixes ??= this.#makePrefixes();
    const prefixes = this.#prefixes;
    const cells = this.#cells;
    const buckets = this.#bounds.length + 1;
    const exemplars = form === "openmetrics" ? this.#exemplars : undefined;
    let text = "";
    let count = 0;
    for (let at = 0; at < buckets; at += 1) {
      count += cells[at] ?? 0;
      const exemplar = exemplars?.[at];
      text += prefixes[at];
      text += exemplar === undefined ? `${count}\n` : `${count}${exemplarText(exemplar)}\n`;
    }
    return `${text}${prefixes[buckets]}${cells[buckets]}\n${prefixes[buckets + 1]}${count}\n`;
  }

  #makePrefixes(): readonly string[] {
    const labels = this.#labels;
    const before = labels === "" ? "" : `${labels},`;
    const bounds = [...this.#bounds.map(boundText), "+Inf"];
    const own = labels === "" ? "" : `{${labels}}`;
    return [
      ...bounds.map((bound) => `${this.#name}_bucket{${before}le="${bound}"} `),
      `${this.#name}_sum${own} `,
      `${this.#name}_count${own} `,
    ];
  }
}

function exemplarText({ traceId, value, atMs }: Exemplar): string {
  return ` # {trace_id="${traceId}"} ${value} ${(atMs / 1000).toFixed(3)}`;
}

/** Prometheus text formats: the older one, and OpenMetrics, which has exemplars. */
export type TextForm = "classic" | "openmetrics";

/** Formats labels as `{a="1",b="2"}`, or "" if there are none. */
export function labelText(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return "";
  return `{${renderLabels(names, values)}}`;
}

function renderLabels(names: readonly string[], values: readonly string[]): string {
  return names.map((name, at) => `${name}="${escapeLabel(values[at] ?? "")}"`).join(",");
}

/** Formats a bound with a decimal point, so that a series has the same labels in both formats. */
function boundText(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

export function headText(
  form: TextForm,
  metric: { readonly name: string; readonly type: string; readonly help: string },
): string {
  const { name, type } = metric;
  // In OpenMetrics, a counter's family has no `_total`, but its samples do.
  const family = form === "openmetrics" && type === "counter" ? name.replace(/_total$/, "") : name;
  const help = metric.help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  const quoted = form === "openmetrics" ? help.replaceAll('"', '\\"') : help;
  return `# HELP ${family} ${quoted}\n# TYPE ${family} ${type}\n`;
}

function escapeLabel(value: string): string {
  if (!/["\\\n]/.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

export type ListingLabels = readonly [provider: string, model: string];

export const LISTINGS_MAX = 1_000;

const OTHER = "other";
const OTHER_LISTING: ListingLabels = [OTHER, OTHER];

/**
 * Bounds the number of series: only the first listings in use have their own series; all others
 * share `other`. A listing keeps its series until the process ends, so no series changes meaning.
 */
export class ListingFold {
  readonly listingsMax: number;
  readonly #places: Map<string, ListingLabels> = new Map();
  readonly #models: Set<string> = new Set();
  folded = 0;

  constructor(listingsMax: number) {
    this.listingsMax = listingsMax;
  }

  /** Returns a listing's own labels if it has or now gets a series, else `other`. */
  place(provider: string, model: string): ListingLabels {
    const key = `${provider}|${model}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (this.#places.size >= this.listingsMax) return OTHER_LISTING;
    const labels: ListingLabels = [provider, model];
    this.#places.set(key, labels);
    this.#models.add(model);
    return labels;
  }

  isOther(labels: ListingLabels): boolean {
    return labels === OTHER_LISTING;
  }

  /** Makes a family for each map. Its keys are provider, model and other labels, joined by `|`. */
  counters(
    maps: Readonly<Partial<Record<MetricNameOf<"counter">, ReadonlyMap<string, number>>>>,
  ): readonly Family[] {
    const named = Object.entries(maps) as [MetricNameOf<"counter">, ReadonlyMap<string, number>][];
    return named.map(([name, values]) => new ReadFamily(name, () => this.#folded(values)));
  }

  *#folded(values: ReadonlyMap<string, number>): Iterable<Sample> {
    for (const [[provider = "", model = "", ...rest], value] of iterateSamples(values)) {
      yield [[...this.place(provider, model), ...rest], value];
    }
  }

  /** Returns the model's id if a listing of it has or can get series of its own, else `other`. */
  modelLabel(model: string): string {
    return this.#models.has(model) || this.#places.size < this.listingsMax ? model : OTHER;
  }

  /**
   * Returns labels for all listings, used or not. Listings without a series of their own get free
   * series, until `listingsMax` is reached, but only in this result; the others get `other`.
   */
  forAll<T extends { readonly providerId: string; readonly modelId: string }>(
    listings: readonly T[],
  ): readonly (readonly [ListingLabels, T])[] {
    let free = this.listingsMax - this.#places.size;
    return listings.map((listing) => {
      const known = this.#places.get(`${listing.providerId}|${listing.modelId}`);
      if (known !== undefined) return [known, listing];
      free -= 1;
      return [free >= 0 ? [listing.providerId, listing.modelId] : OTHER_LISTING, listing];
    });
  }
}
