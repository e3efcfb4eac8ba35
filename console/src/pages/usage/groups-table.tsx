import { dayRange } from "./day-range.ts";
import { Anchor } from "@mantine/core";
import { useMemo, type ReactElement } from "react";

import type { Usage, UsageFigures } from "../../api/contract.ts";
import { formatMs } from "../../ui/format.ts";
import { moneyColumn, numberColumn } from "../../ui/columns.tsx";
import { DataTable, type Column, type Kept } from "../../ui/data-table.tsx";
import charts from "../../ui/charts/charts.module.css";
import { findHighest, measureLength, toWhole } from "../../ui/charts/measure.ts";
import { toColour, choosePaints, type Paint } from "../../ui/charts/part-paint.ts";
import { chartData, groupName, metricOf, NONE } from "./chart-data.ts";
import { countRejected, inAndOut } from "./outcome-labels.ts";
import {
  METRIC_FACTS,
  STATUSES,
  type ChangeSearch,
  type GroupBy,
  type Metric,
  type UsageSearch,
} from "./usage-search.ts";
import styles from "./usage.module.css";

export interface FiguresProps {
  readonly usage: Usage;
  readonly by: GroupBy;
  readonly metric: Metric;
  readonly change: ChangeSearch;
}

type Group = Usage["groups"][number];

/** The prefix is needed, because the request log uses the query parameters without a prefix. */
const KEPT: Kept = { id: "usage-groups", rows: ["group", "groups"], prefix: "group-" };

export function GroupsTable({ usage, by, metric, change }: FiguresProps) {
  const { groups } = usage;
  const bars = useMemo(() => barsOf(usage, metric, by), [usage, metric, by]);
  const columns = useMemo(
    () => buildColumns(by, usage.totals, { bars, change }),
    [by, usage, bars, change],
  );
  return (
    <DataTable
      caption={`Figures by ${by}`}
      kept={KEPT}
      columns={columns}
      rows={groups}
      rowKey={({ group }) => group}
      empty="No requests in this time range."
    />
  );
}

function buildColumns(
  by: GroupBy,
  totals: UsageFigures,
  { bars, change }: { readonly bars: Bars; readonly change: ChangeSearch },
): readonly Column<Group>[] {
  return [
    {
      id: "group",
      label: by.charAt(0).toUpperCase() + by.slice(1),
      sortValue: (each) => groupName(by, each),
      total: "All requests",
      phone: "lead",
      render: (each) => (
        <>
          <GroupName name={groupName(by, each)} wanted={filterBy(by, each.group)} change={change} />
          {bars.get(each.group)}
        </>
      ),
    },
    ...FIGURES.map((each) => ({ ...each, total: each.render({ figures: totals }) })),
  ];
}

type Figured = Pick<Group, "figures">;

const FIGURES: readonly Column<Figured>[] = [
  count("requests", "Requests", ({ requests }) => requests, { phone: "line" }),
  count("failed", "Failed", ({ by_status }) => by_status.failed, { phone: "line" }),
  count("rejected", "Rejected", countRejected),
  count("in", "Tokens in", ({ tokens }) => inAndOut(tokens).in),
  count("cached", "Cached tokens", ({ tokens }) => tokens.cached_prompt, { shownFrom: "wide" }),
  count("out", "Tokens out", ({ tokens }) => inAndOut(tokens).out),
  duration("p50", "First token, p50", ({ ttft_p50_ms }) => ttft_p50_ms),
  duration("p95", "p95", ({ ttft_p95_ms }) => ttft_p95_ms),
  moneyColumn("spend", "Spend", ({ figures }) => figures.spent_usd, {
    isSortable: true,
    phone: "end",
  }),
];

function count(
  id: string,
  label: string,
  read: (figures: UsageFigures) => number,
  more?: Partial<Column<Figured>>,
): Column<Figured> {
  return numberColumn(id, label, ({ figures }) => read(figures), { isSortable: true, ...more });
}

function duration(
  id: string,
  label: string,
  read: (figures: UsageFigures) => number | null,
): Column<Figured> {
  return numberColumn(id, label, ({ figures }) => read(figures), {
    show: formatMs,
    sortValue: ({ figures }) => read(figures) ?? -1,
  });
}

type Bars = ReadonlyMap<string, ReactElement>;

/** A bar per group, relative to the largest. If the chart has the group, the colors are equal. */
function barsOf(usage: Usage, metric: Metric, by: GroupBy): Bars {
  const { unit } = METRIC_FACTS[metric];
  const amounts = usage.groups.map(({ figures }) => toWhole(unit, metricOf(figures, metric)));
  const highest = findHighest(amounts);
  const { parts } = chartData(usage, metric, by);
  const paints = choosePaints(parts, false);
  const paintOf = (group: string): Paint =>
    paints[parts.findIndex(({ id }) => id === group)] ?? { colour: "own", mark: 0 };
  return new Map(
    usage.groups.map(({ group }, at) => [
      group,
      <svg key={group} className={`${charts.rankTrack} ${charts.palette}`} aria-hidden>
        <rect
          width={`${measureLength(amounts[at] ?? 0n, highest) * 100}%`}
          height="100%"
          rx={2}
          fill={toColour(paintOf(group))}
        />
      </svg>,
    ]),
  );
}

function GroupName(props: {
  readonly name: string;
  readonly wanted: Partial<UsageSearch> | undefined;
  readonly change: ChangeSearch;
}) {
  const { name, wanted } = props;
  if (wanted === undefined) return <>{name}</>;
  return (
    <Anchor
      component="button"
      type="button"
      size="sm"
      className={styles.groupName}
      onClick={() => props.change(wanted)}
    >
      {name}
    </Anchor>
  );
}

/** The filter that is set when the reader chooses a group. */
function filterBy(by: GroupBy, group: string): Partial<UsageSearch> | undefined {
  if (group === "other" || group === NONE) return undefined;
  if (by === "day") return dayRange(group);
  if (by === "status" && !STATUSES.some(({ value }) => value === group)) return undefined;
  return { [by]: group };
}
