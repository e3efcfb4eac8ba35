/** Where the values of a label come from: a list, or a description of a set that the program knows. */
export interface MetricLabel {
  readonly name: string;
  /** All values there are: each has its series from the start, so that a rate begins at 0. */
  readonly values?: readonly string[];
  /** The meaning of values that are not listed here; for the reference page. */
  readonly of?: string;
}

export type MetricType = "counter" | "gauge" | "histogram";

/** One metric of `/metrics`: its series, its reference and the checks of dashboards come from here. */
export interface MetricRow {
  readonly type: MetricType;
  /** One sentence. */
  readonly help: string;
  readonly unit?: "seconds" | "USD" | "tokens" | "rows" | "share";
  readonly labels?: readonly MetricLabel[];
  /** Upper bounds of a histogram, ascending. */
  readonly buckets?: readonly number[];
  /** An instance that works well may show no series of it, so a dashboard's query may be empty. */
  readonly mayBeEmpty?: true;
}

const OTHER = "`other` beyond `metrics.listings_max` listings";

export const PROVIDER: MetricLabel = { name: "provider", of: `ids of the catalog; ${OTHER}` };
export const MODEL: MetricLabel = { name: "model", of: `ids of the catalog; ${OTHER}` };
export const POOL: MetricLabel = {
  name: "pool",
  of: "pools of the catalog, no more than `metrics.listings_max`",
};
export const ROUTE: MetricLabel = { name: "route", of: "paths of the route table, or `unknown`" };
export const ERROR: MetricLabel = {
  name: "error",
  of: "classes of [errors](errors.md), empty without one",
};

/** A label whose values are all known here. */
export function oneOf(name: string, ...values: readonly string[]): MetricLabel {
  return { name, values };
}
