import { dayRange } from "./day-range.ts";
import { Anchor } from "@mantine/core";
import { useMemo, type ReactElement } from "react";

import type { Usage, UsageFigures } from "../../../../src/account/console-api/contract.ts";
import { formatCount, formatMs } from "../../ui/count.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import kit from "../../ui/kit.module.css";
import { parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import type { ShownFrom } from "../../ui/table-state.ts";
import type { Kept } from "../../ui/use-table-state.ts";
import { groupName, NONE, rejectedOf } from "./chart-data.ts";
import { inAndOut } from "./outcome-labels.ts";
import { STATUSES, type ChangeSearch, type GroupBy, type UsageSearch } from "./usage-search.ts";
import styles from "./usage.module.css";

export interface GroupsTableProps {
  readonly usage: Usage;
  readonly by: GroupBy;
  readonly change: ChangeSearch;
}

type Group = Usage["groups"][number];

/** The log on the same page has the plain names of the address. */
const KEPT: Kept = { id: "usage-groups", rows: ["group", "groups"], prefix: "group-" };

/** Every group's figures, and the totals of the range below them. Choosing a group filters by it. */
export function GroupsTable({ usage, by, change }: GroupsTableProps): ReactElement {
  const { groups, totals } = usage;
  const columns = useMemo(() => columnsOf(by, totals, change), [by, totals, change]);
  return (
    <DataTable
      caption={`Figures by ${by}`}
      kept={KEPT}
      columns={columns}
      rows={groups}
      rowKey={({ group }) => group}
      empty={<Empty title="No requests in this time range." />}
    />
  );
}

function columnsOf(
  by: GroupBy,
  totals: UsageFigures,
  change: ChangeSearch,
): readonly Column<Group>[] {
  return [
    {
      id: "group",
      label: by.charAt(0).toUpperCase() + by.slice(1),
      sortValue: (each) => groupName(by, each),
      total: "All requests",
      render: (each) => (
        <GroupName name={groupName(by, each)} wanted={filterBy(by, each.group)} change={change} />
      ),
    },
    ...FIGURES.map(({ id, label, show, valueOf, shownFrom = "always" }): Column<Group> => {
      const cell = (figures: UsageFigures): ReactElement => (
        <span className={kit.figures}>{show(figures)}</span>
      );
      return {
        id,
        label,
        shownFrom,
        align: "right",
        total: cell(totals),
        sortValue: ({ figures }) => valueOf(figures),
        render: ({ figures }) => cell(figures),
      };
    }),
  ];
}

const FIGURES: readonly {
  readonly id: string;
  readonly label: string;
  readonly shownFrom?: ShownFrom;
  readonly show: (figures: UsageFigures) => ReactElement | string;
  readonly valueOf: (figures: UsageFigures) => number | bigint;
}[] = [
  count("requests", "Requests", ({ requests }) => requests),
  count("failed", "Failed", ({ by_status }) => by_status.failed),
  count("rejected", "Rejected", rejectedOf),
  count("in", "Tokens in", ({ tokens }) => inAndOut(tokens).in),
  count("cached", "Cached tokens", ({ tokens }) => tokens.cached_prompt, "wide"),
  count("out", "Tokens out", ({ tokens }) => inAndOut(tokens).out),
  duration("p50", "First token, p50", ({ ttft_p50_ms }) => ttft_p50_ms),
  duration("p95", "p95", ({ ttft_p95_ms }) => ttft_p95_ms),
  {
    id: "spend",
    label: "Spend",
    show: ({ spent_usd }) => <Money usd={spent_usd} />,
    valueOf: ({ spent_usd }) => parseUsd(spent_usd),
  },
];

function count(
  id: string,
  label: string,
  valueOf: (figures: UsageFigures) => number,
  shownFrom: ShownFrom = "always",
): (typeof FIGURES)[number] {
  return { id, label, shownFrom, valueOf, show: (figures) => formatCount(valueOf(figures)) };
}

function duration(
  id: string,
  label: string,
  msOf: (figures: UsageFigures) => number | null,
): (typeof FIGURES)[number] {
  return {
    id,
    label,
    valueOf: (figures) => msOf(figures) ?? -1,
    show: (figures) => formatMs(msOf(figures)),
  };
}

function GroupName(props: {
  readonly name: string;
  readonly wanted: Partial<UsageSearch> | undefined;
  readonly change: ChangeSearch;
}): ReactElement {
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

/** The filter that choosing a group sets; undefined where it is not a filter. */
function filterBy(by: GroupBy, group: string): Partial<UsageSearch> | undefined {
  if (group === "other" || group === NONE) return undefined;
  if (by === "model") return { model: group };
  if (by === "key") return { key: group };
  if (by === "provider") return { provider: group };
  if (by === "status")
    return STATUSES.some(({ value }) => value === group) ? { status: group } : undefined;
  return dayRange(group);
}
