/** A label has `values` or, if they cannot be listed, `of`, which describes them. */
export interface MetricLabel {
  readonly name: string;
  /** All possible values. Unless `mayBeEmpty`, a counter shows each as 0 before its first use. */
  readonly values?: readonly string[];
  readonly of?: string;
}

export type MetricType = "counter" | "gauge" | "histogram";

export interface MetricRow {
  readonly type: MetricType;
  readonly help: string;
  readonly unit?: "seconds" | "USD" | "tokens" | "rows" | "share";
  readonly labels?: readonly MetricLabel[];
  /** Upper bounds of buckets, ascending. */
  readonly buckets?: readonly number[];
  /** Present if a healthy instance may have no series, so that a dashboard query may be empty. */
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

export function oneOf(name: string, ...values: readonly string[]): MetricLabel {
  return { name, values };
}
