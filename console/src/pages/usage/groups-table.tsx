import { Anchor, Table } from "@mantine/core";
import type { ReactElement } from "react";

import type { Usage, UsageFigures } from "../../../../src/console-api/contract.ts";
import { formatCount, formatMs } from "../../ui/count.tsx";
import { Empty } from "../../ui/empty.tsx";
import kit from "../../ui/kit.module.css";
import { Money } from "../../ui/money.tsx";
import { groupName, NONE, rejectedOf } from "./chart-data.ts";
import { inAndOut } from "./outcome-labels.ts";
import { STATUSES, type ChangeSearch, type GroupBy, type UsageSearch } from "./usage-search.ts";
import styles from "./usage.module.css";

export interface GroupsTableProps {
  readonly usage: Usage;
  readonly by: GroupBy;
  readonly change: ChangeSearch;
}

/** Every group's figures, and the totals of the range below them. Choosing a group filters by it. */
export function GroupsTable({ usage, by, change }: GroupsTableProps): ReactElement {
  const { groups, totals } = usage;
  if (groups.length === 0) return <Empty title="No requests in this time range." />;
  return (
    <div className={kit.tableScroll} tabIndex={0} role="region" aria-label={`Figures by ${by}`}>
      <Table className={kit.table} highlightOnHover verticalSpacing="xs">
        <caption className={kit.hidden}>Figures by {by}</caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{by.charAt(0).toUpperCase() + by.slice(1)}</Table.Th>
            {FIGURES.map(({ label }) => (
              <Table.Th key={label} scope="col" className={kit.right}>
                {label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {groups.map((each) => (
            <Table.Tr key={each.group}>
              <Table.Td>
                <GroupName
                  name={groupName(by, each)}
                  wanted={filterBy(by, each.group)}
                  change={change}
                />
              </Table.Td>
              <FigureCells figures={each.figures} />
            </Table.Tr>
          ))}
        </Table.Tbody>
        <Table.Tfoot>
          <Table.Tr className={styles.total}>
            <Table.Td>All requests</Table.Td>
            <FigureCells figures={totals} />
          </Table.Tr>
        </Table.Tfoot>
      </Table>
    </div>
  );
}

const FIGURES: readonly {
  readonly label: string;
  readonly show: (figures: UsageFigures) => ReactElement | string;
}[] = [
  { label: "Requests", show: ({ requests }) => formatCount(requests) },
  { label: "Failed", show: ({ by_status }) => formatCount(by_status.failed) },
  { label: "Rejected", show: (figures) => formatCount(rejectedOf(figures)) },
  { label: "Tokens in", show: ({ tokens }) => formatCount(inAndOut(tokens).in) },
  { label: "Cached tokens", show: ({ tokens }) => formatCount(tokens.cached_prompt) },
  { label: "Tokens out", show: ({ tokens }) => formatCount(inAndOut(tokens).out) },
  { label: "First token, p50", show: ({ ttft_p50_ms }) => formatMs(ttft_p50_ms) },
  { label: "p95", show: ({ ttft_p95_ms }) => formatMs(ttft_p95_ms) },
  { label: "Spend", show: ({ spent_usd }) => <Money usd={spent_usd} /> },
];

function FigureCells({ figures }: { readonly figures: UsageFigures }): ReactElement {
  return (
    <>
      {FIGURES.map(({ label, show }) => (
        <Table.Td key={label} className={kit.right}>
          <span className={kit.figures}>{show(figures)}</span>
        </Table.Td>
      ))}
    </>
  );
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

/** What choosing a group filters by; undefined: it is not a filter. */
function filterBy(by: GroupBy, group: string): Partial<UsageSearch> | undefined {
  if (group === "other" || group === NONE) return undefined;
  if (by === "model") return { model: group };
  if (by === "key") return { key: group };
  if (by === "provider") return { provider: group };
  if (by === "status")
    return STATUSES.some(({ value }) => value === group) ? { status: group } : undefined;
  const dayMs = Date.parse(`${group}T00:00:00Z`);
  if (Number.isNaN(dayMs)) return undefined;
  const nextDay = new Date(dayMs + 86_400_000).toISOString().slice(0, 10);
  return { range: "custom", from: `${group}T00:00`, to: `${nextDay}T00:00` };
}
