import { CALL_ROWS } from "./call-rows.ts";
import { INSTANCE_ROWS, STORE_ROWS } from "./store-rows.ts";
import type { MetricRow, MetricType } from "./metric-row.ts";

const ROWS = { ...CALL_ROWS, ...STORE_ROWS, ...INSTANCE_ROWS } as const;

export type MetricName = keyof typeof ROWS;

export type MetricNameOf<T extends MetricType> = {
  [N in MetricName]: (typeof ROWS)[N]["type"] extends T ? N : never;
}[MetricName];

export const METRICS: Readonly<Record<MetricName, MetricRow>> = ROWS;
