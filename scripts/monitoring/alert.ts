/** Test series in promtool's notation, and the time at which the alert is checked. */
export interface Example {
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
}

/** One alert of `deploy/prometheus/alerts.yml`. promtool runs its examples. */
export interface Alert {
  readonly expr: string;
  /** How long the expression must be true. Default: one evaluation is enough. */
  readonly for?: string;
  /** `page` wakes a person, `ticket` waits for the morning. */
  readonly level: "page" | "ticket";
  /** One sentence; `{{ $labels.model }}` is replaced by the label. */
  readonly summary: string;
  /** Series that fire the alert. The first has the labels that the summary names. */
  readonly fires: Example;
  /** A second way to fire the alert. */
  readonly alsoFires?: Example;
  readonly quiet: Example;
  /** The examples are evaluated every ten minutes instead of every minute. */
  readonly isLong?: true;
}

/** 26 hours in seconds: a daily task that has not happened for longer is overdue. */
export const HOURS_26 = 93_600;
