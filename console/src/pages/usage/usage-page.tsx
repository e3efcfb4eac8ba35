import { ActionIcon, Skeleton, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { useCallback, useMemo, useState, type ReactElement } from "react";

import type {
  RouteName,
  Usage,
  UsageFigures,
} from "../../../../src/account/console-api/contract.ts";
import { refreshAnswers, useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { AsOf } from "../../ui/as-of.tsx";
import { Answer } from "../../ui/answer.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Tip } from "../../ui/tip.tsx";
import { FindRequest } from "./find-request.tsx";
import { FilterFields } from "./filter-fields.tsx";
import { GroupsTable } from "./groups-table.tsx";
import { RangeFields } from "./range-fields.tsx";
import { RequestLog } from "./request-log.tsx";
import { UsageChart } from "./usage-chart.tsx";
import {
  chosen,
  readFilters,
  GROUPS,
  METRICS,
  nameBefore,
  RANKS,
  spanBefore,
  type ChangeSearch,
  type Filters,
  type UsageSearch,
} from "./usage-search.ts";
import { UsageTotals } from "./usage-totals.tsx";
import styles from "./usage.module.css";

/** `/usage`: figures by group, and the request log. The page's URL keeps filters and pages. */
export function UsagePage(): ReactElement {
  const [search, setSearch] = useFilters<UsageSearch>();
  const [nowMs, setNow] = useState(() => Date.now());
  const filters = useMemo(() => readFilters(search, nowMs), [search, nowMs]);
  /** Changes the filters. Every change also returns to the first page of the log. */
  const change = useCallback<ChangeSearch>(
    (wanted, how = STEP) => setSearch({ cursor: undefined, ...wanted }, how),
    [setSearch],
  );
  return (
    <Page
      title="Usage"
      isWide
      lead="Days and months are in UTC. Prompts and answers are not stored, only counts, times, and costs."
      actions={
        <>
          <FindRequest />
          <RefreshButton onRefresh={() => setNow(Date.now())} />
        </>
      }
    >
      <div className={styles.filterBar}>
        <RangeFields search={search} change={change} nowMs={nowMs} />
        <FilterFields search={search} change={change} />
      </div>
      <Figures filters={filters} search={search} change={change} nowMs={nowMs} />
      <RequestLog
        filters={filters}
        cursor={search.cursor}
        rows={search.rows}
        onChange={(wanted) => setSearch(wanted, STEP)}
      />
    </Page>
  );
}

/** Every change of ranges, filters and pages adds to the history, so that Back undoes it. */
const STEP = { history: "step" } as const;

const ROUTES: readonly RouteName[] = ["GET /api/console/usage", "GET /api/console/requests"];

function RefreshButton({ onRefresh }: { readonly onRefresh: () => void }): ReactElement {
  const client = useQueryClient();
  return (
    <Tip label="Refresh">
      <ActionIcon
        variant="default"
        size="lg"
        aria-label="Refresh the figures and the log"
        onClick={() => {
          onRefresh();
          void refreshAnswers(client, ROUTES);
        }}
      >
        <RefreshCw size={16} aria-hidden />
      </ActionIcon>
    </Tip>
  );
}

interface FiguresProps {
  readonly filters: Filters;
  readonly search: UsageSearch;
  readonly change: ChangeSearch;
  readonly nowMs: number;
}

function Figures({ filters, search, change, nowMs }: FiguresProps): ReactElement {
  const by = chosen(GROUPS, search.by);
  const metric = chosen(METRICS, search.metric);
  const rank = RANKS[metric];
  const usage = useAnswer(
    "GET /api/console/usage",
    { query: { ...filters, group_by: by, rank_by: rank } },
    { staysDespite: "rank_by" },
  );
  const before = useFiguresBefore(filters, search, usage.data, nowMs);
  const groupBy = (
    <div className={styles.labelled}>
      <span aria-hidden>By</span>
      <FilterChips
        label="Group by"
        options={GROUPS}
        value={by}
        onChange={(value) => change({ by: value })}
      />
    </div>
  );
  // A chart of times has no groups, so the table has the choice of groups instead.
  const isTimes = metric === "ttft";
  return (
    <Answer of={usage} skeleton={<FiguresSkeleton />}>
      {(data: Usage) => (
        <>
          <AsOf at={data.as_of} />
          <UsageTotals usage={data} before={before} than={nameBefore(search)} />
          <Panel
            title="Over time"
            actions={
              <>
                <FilterChips
                  label="Metric"
                  options={METRICS}
                  value={metric}
                  onChange={(value) => change({ metric: value })}
                />
                {isTimes ? null : groupBy}
              </>
            }
          >
            <UsageChart usage={data} by={by} search={search} change={change} />
          </Panel>
          <Panel title={`By ${by}`} actions={isTimes ? groupBy : undefined}>
            <GroupsTable usage={data} by={by} metric={metric} change={change} />
          </Panel>
        </>
      )}
    </Answer>
  );
}

/**
 * Reads the figures of the previous time range. They are loaded last, so that the current figures
 * do not wait for them.
 */
function useFiguresBefore(
  { from: _from, to: _to, ...filters }: Filters,
  search: UsageSearch,
  shown: Usage | undefined,
  nowMs: number,
): UsageFigures | undefined {
  const span = shown === undefined ? undefined : spanBefore(search, shown, nowMs);
  const before = useAnswer(
    "GET /api/console/usage",
    { query: { ...filters, ...span, group_by: "status" } },
    { enabled: span !== undefined },
  ).data?.totals;
  return before === undefined || before.requests === 0 ? undefined : before;
}

const TOTALS_PX = 148;

/** Takes as much space as the figures while they load, so that the log below does not move. */
function FiguresSkeleton(): ReactElement {
  return (
    <Stack gap="lg" role="status" aria-label="Loading the figures">
      <div className={styles.totals}>
        {[0, 1, 2, 3, 4, 5].map((at) => (
          <Skeleton key={at} height={TOTALS_PX} />
        ))}
      </div>
      <Skeleton height={412} />
      <Skeleton height={210} />
    </Stack>
  );
}
