import { assert } from "../core/assert.ts";
import { Histogram } from "./histogram.ts";
import type { MetricRow, MetricType } from "./metric-row.ts";
import { type MetricName, type MetricNameOf, METRICS } from "./metrics-table.ts";
import { headText, labelText, namedValues, type TextForm } from "./text-form.ts";

/** All series of one metric of the table. */
export interface Family {
  readonly name: MetricName;
  /** Head and samples in pieces, between which other work may run; none without a sample. */
  parts(form: TextForm): Iterable<string>;
}

/** What a counter or a gauge shows: its labels' values in the order of the table, and the value. */
export type Sample = readonly [labels: readonly string[], value: number];

/** A metric whose values are read when they are asked for: free otherwise. */
export class ReadFamily implements Family {
  readonly name: MetricNameOf<"counter" | "gauge">;
  readonly #read: () => Iterable<Sample>;
  readonly #names: readonly string[];
  /** Series whose labels are known without any sample: they are shown from the start, as 0. */
  readonly #zeros: readonly (readonly string[])[];

  constructor(name: MetricNameOf<"counter" | "gauge">, read: () => Iterable<Sample>) {
    this.name = name;
    this.#read = read;
    const row = METRICS[name];
    this.#names = labelNames(row);
    this.#zeros = row.type === "counter" && row.mayBeEmpty !== true ? knownSeries(row) : [];
  }

  *parts(form: TextForm): Iterable<string> {
    const shown = new Map<string, number>();
    for (const values of this.#zeros) shown.set(labelText(this.#names, values), 0);
    for (const [values, value] of this.#read()) {
      const labels = labelText(this.#names, values);
      // What was folded into one series comes several times.
      shown.set(labels, (shown.get(labels) ?? 0) + value);
    }
    if (shown.size === 0) return;
    let text = headText(form, { name: this.name, ...METRICS[this.name] });
    for (const [labels, value] of shown) text += `${this.name}${labels} ${value}\n`;
    yield text;
  }
}

/** A gauge or counter of one number. */
export function oneValue(
  name: MetricNameOf<"counter" | "gauge">,
  read: () => number | undefined,
): Family {
  return new ReadFamily(name, () => {
    const value = read();
    return value === undefined ? [] : [[[], value]];
  });
}

/** A counter with the values of a map, whose keys are the labels' values with bars between them. */
export function mapped(
  name: MetricNameOf<"counter" | "gauge">,
  values: ReadonlyMap<string, number>,
): Family {
  return new ReadFamily(name, () => samplesOf(values));
}

export function* samplesOf(values: ReadonlyMap<string, number>): Iterable<Sample> {
  for (const [key, value] of values) yield [key.split("|"), value];
}

/** A piece is made in about a millisecond. */
const PART_CHARS = 128 * 1024;

/** The series of a histogram by their labels; made when they are first asked for. */
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
    if (row.mayBeEmpty !== true) for (const values of knownSeries(row)) this.of(...values);
  }

  /** The series of these labels, the same each time: who observes often keeps it. */
  of(...values: readonly string[]): Histogram {
    const labels = namedValues(this.#names, values);
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

/** Every series there can be, where all labels list their values; none otherwise. */
function knownSeries({ labels = [], type }: MetricRow): readonly (readonly string[])[] {
  if (type === ("gauge" satisfies MetricType)) return [];
  let series: readonly (readonly string[])[] = [[]];
  for (const { values = [] } of labels) {
    series = series.flatMap((before) => values.map((value) => [...before, value]));
  }
  return series;
}
