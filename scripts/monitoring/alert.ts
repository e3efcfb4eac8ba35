/** Series as promtool writes them, and the time at which the result is expected. */
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

/** A day and two hours to spare, in seconds, for what happens once a day. */
export const HOURS_26 = 93_600;
