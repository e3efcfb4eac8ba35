/** Series of one example, as promtool writes them, and the time at which its result counts. */
interface Example {
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** Long examples are evaluated each ten minutes instead of each. */
  readonly isLong?: true;
}

/** One alert of `deploy/prometheus/alerts.yml`; its two examples are run by promtool. */
export interface Alert {
  readonly expr: string;
  /** How long it must hold; default: once is enough. */
  readonly for?: string;
  /** `page` wakes a person, `ticket` waits for the morning. */
  readonly level: "page" | "ticket";
  /** One sentence; `{{ $labels.model }}` is replaced by the label. */
  readonly summary: string;
  /** `labels`: of the alert, besides its name and level. */
  readonly fires: Example & { readonly labels?: Readonly<Record<string, string>> };
  readonly quiet: Example;
}

/** A day and two hours to spare, in seconds: for what is done once a day. */
export const HOURS_26 = 93_600;
