import {
  type Dashboard as DashboardModel,
  type DataQuery,
  LegendDisplayMode,
  type Panel as PanelModel,
  SortOrder,
  TooltipDisplayMode,
} from "@grafana/schema";
import type { Options } from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

import { namedMetrics } from "./named-metrics.ts";

/** The unit of a chart follows from the units of its metrics. */
export interface Panel {
  readonly title: string;
  /** Default: the value itself. */
  readonly as?: "each second" | "each hour" | "share";
  /** The queries by their legends, which are in Grafana's `legendFormat`. */
  readonly queries: Readonly<Record<string, string>>;
}

export interface Dashboard {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const VALUE_UNITS: Readonly<Record<string, string>> = {
  seconds: "s",
  USD: "currencyUSD",
  share: "percentunit",
  bytes: "bytes",
};
const SECOND_UNITS: Readonly<Record<string, string>> = { count: "cps", rows: "cps" };

/** Returns Grafana's name of the unit. Throws an error for mixed units, except in shares. */
function unitOf({ title, as, queries }: Panel): string {
  if (as === "share") return "percentunit";
  // The part after `and` only selects series.
  const shown = Object.values(queries).map((expr) => expr.replace(/ and on\(.*$/, ""));
  const named = shown.flatMap((expr) => [...namedMetrics(expr).values()]);
  const units = new Set(named.map(({ unit }) => unit));
  const [unit = "count"] = units;
  if (units.size !== 1) throw new Error(`${title}: ${[...units].join(", ")} in one chart`);
  if (as === "each second") return SECOND_UNITS[unit] ?? "short";
  return VALUE_UNITS[unit] ?? "short";
}

/** Grafana's data source for Prometheus reads these fields, which its published types lack. */
type PrometheusQuery = DataQuery & { readonly expr: string; readonly legendFormat: string };

const OPTIONS = {
  legend: {
    calcs: [],
    displayMode: LegendDisplayMode.List,
    placement: "bottom",
    showLegend: true,
  },
  tooltip: { mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending },
} satisfies Options;

const HEIGHT = 8;
const WIDTH = 8;
const IN_ROW = 3;

/** Returns the file for Grafana. A field that is not in Grafana's types does not compile. */
export function dashboardText(id: string, { title, panels }: Dashboard): string {
  const dashboard = {
    uid: `tokenmarket-${id}`,
    title,
    tags: ["tokenmarket"],
    timezone: "utc",
    refresh: "30s",
    schemaVersion: 39,
    time: { from: "now-6h", to: "now" },
    templating: {
      list: [{ name: "datasource", type: "datasource", query: "prometheus", label: "Data source" }],
    },
    panels: panels.map(panelObject),
  } satisfies DashboardModel;
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function panelObject(panel: Panel, at: number): PanelModel {
  const datasource = { type: "prometheus", uid: "${datasource}" };
  const [x, y] = [(at % IN_ROW) * WIDTH, Math.floor(at / IN_ROW) * HEIGHT];
  const hint = panel.as === "each second" || panel.as === "each hour" ? ` (${panel.as})` : "";
  return {
    id: at + 1,
    type: "timeseries",
    title: `${panel.title}${hint}`,
    datasource,
    gridPos: { h: HEIGHT, w: WIDTH, x, y },
    fieldConfig: { defaults: { unit: unitOf(panel) }, overrides: [] },
    options: OPTIONS,
    targets: Object.entries(panel.queries).map(([legendFormat, expr], index) => {
      const refId = "ABCDEFGH".charAt(index);
      return { refId, datasource, expr, legendFormat } satisfies PrometheusQuery;
    }),
  };
}
