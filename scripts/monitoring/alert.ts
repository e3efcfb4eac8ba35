/** Series in promtool's notation, and the time at which they must have the expected result. */
interface Example {
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** Evaluated every ten minutes instead of every minute. */
  readonly isLong?: true;
}

/** One alert of `deploy/prometheus/alerts.yml`. promtool runs its two examples. */
export interface Alert {
  readonly expr: string;
  /** How long the expression must be true. Default: one evaluation is enough. */
  readonly for?: string;
  /** `page` wakes a person, `ticket` waits for the morning. */
  readonly level: "page" | "ticket";
  /** One sentence; `{{ $labels.model }}` is replaced by the label. */
  readonly summary: string;
  /** `labels`: those of the alert, apart from its name and level. */
  readonly fires: Example & { readonly labels?: Readonly<Record<string, string>> };
  readonly quiet: Example;
}

/** Seconds of a day and two hours: the limit for what must happen once a day. */
export const HOURS_26 = 93_600;
