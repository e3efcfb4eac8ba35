import { ActionIcon, Skeleton, Stack, Group, TextInput } from "@mantine/core";
import { focusManager, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { useCallback, useEffect, useMemo, useReducer, useState } from "react";
import { useNavigate } from "@tanstack/react-router";

import type { RouteName, Usage, UsageFigures } from "../../api/contract.ts";
import { refreshAnswers, useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { controlled, submitting } from "../../ui/fields.ts";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { AsOf, Note, Page, Panel } from "../../ui/page.tsx";
import { Tip } from "../../ui/tip.tsx";
import { FilterFields } from "./filter-fields.tsx";
import { GroupsTable, type FiguresProps } from "./groups-table.tsx";
import { RangeFields } from "./range-fields.tsx";
import { RequestLog } from "./request-log.tsx";
import {
  chosen,
  readFilters,
  GROUPS,
  METRIC_FACTS,
  METRICS,
  MINUTE_MS,
  nameBefore,
  nameSelection,
  spanBefore,
  type ChangeSearch,
  type SearchProps,
  type Filters,
  type UsageSearch,
} from "./usage-search.ts";
import { UsageTotals } from "./usage-totals.tsx";
import styles from "./usage.module.css";
import { StackedBars } from "../../ui/charts/stacked-bars.tsx";
import { chartData, spanOfBucket } from "./chart-data.ts";
import { writeMinute } from "./day-range.ts";
import { findId } from "../../app/find-id.ts";
import { SmallButton } from "../../ui/buttons.tsx";

/** `/usage`: figures by group, and the request log. The page's URL keeps filters and pages. */
export function UsagePage() {
  const [search, setSearch] = useFilters<UsageSearch>();
  const [nowMs, readClock] = useClock();
  const filters = useMemo(() => readFilters(search, nowMs), [search, nowMs]);
  const change = useCallback<ChangeSearch>(
    (wanted, how = STEP) => setSearch(wanted, how),
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
          <RefreshButton onRefresh={readClock} />
        </>
      }
    >
      <div className={styles.filterBar}>
        <RangeFields search={search} change={change} nowMs={nowMs} />
        <FilterFields search={search} change={change} />
      </div>
      <Figures filters={filters} search={search} change={change} />
      <RequestLog
        filters={filters}
        search={search}
        onChange={(wanted) => setSearch(wanted, STEP)}
      />
    </Page>
  );
}

/** Updates the time each minute while the page is visible, and on return. A range may end "now". */
function useClock(): readonly [nowMs: number, readClock: () => void] {
  const [nowMs, readClock] = useReducer(Date.now, 0, Date.now);
  useEffect(() => {
    const readVisible = (): void => {
      if (focusManager.isFocused()) readClock();
    };
    const timer = setInterval(readVisible, MINUTE_MS);
    const stop = focusManager.subscribe(readVisible);
    return () => {
      clearInterval(timer);
      stop();
    };
  }, []);
  return [nowMs, readClock];
}

/** The default of `change`: the change adds to the history, so that Back undoes it. */
const STEP = { history: "step" } as const;

const ROUTES: readonly RouteName[] = ["GET /api/console/usage", "GET /api/console/requests"];

function RefreshButton({ onRefresh }: { readonly onRefresh: () => void }) {
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

function Figures({ filters, search, change }: SearchProps & { readonly filters: Filters }) {
  const by = chosen(GROUPS, search.by);
  const metric = chosen(METRICS, search.metric);
  const usage = useAnswer(
    "GET /api/console/usage",
    { query: { ...filters, group_by: by, rank_by: METRIC_FACTS[metric].rank } },
    { subject: `${nameSelection(search)} ${by}`, refetchMs: MINUTE_MS },
  );
  const before = useFiguresBefore(filters, search, usage);
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
  // A chart of times has no groups, so the choice of groups moves to the table.
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
            <UsageChart usage={data} by={by} metric={metric} change={change} />
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
 * The figures of the previous time range, up to the same point in the range. They are loaded last,
 * so that the current figures do not wait for them.
 */
function useFiguresBefore(
  { from: _from, to: _to, ...filters }: Filters,
  search: UsageSearch,
  usage: UseQueryResult<Usage>,
): UsageFigures | undefined {
  const { data: shown, dataUpdatedAt: readMs, isPlaceholderData: isOld } = usage;
  const span = shown === undefined || isOld ? undefined : spanBefore(search, shown, readMs);
  const before = useAnswer(
    "GET /api/console/usage",
    { query: { ...filters, ...span, group_by: "status" } },
    { enabled: span !== undefined, subject: nameSelection(search) },
  ).data?.totals;
  return before === undefined || before.requests === 0 ? undefined : before;
}

const TOTALS_PX = 148;

/** As high as the figures, so that the request log does not move down when they are loaded. */
function FiguresSkeleton() {
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

function UsageChart({ usage, by, metric, change }: FiguresProps) {
  const { parts, buckets } = useMemo(() => chartData(usage, metric, by), [usage, metric, by]);
  const { label, unit } = METRIC_FACTS[metric];
  const isTimes = metric === "ttft";
  const isSplit = parts.length > 1 && !isTimes;
  return (
    <>
      <StackedBars
        label={`${label}${isSplit ? ` by ${by}` : ""}, per ${BUCKETS[usage.bucket]}`}
        bucketLabel={usage.bucket === "day" ? "Day (UTC)" : "Time"}
        unit={unit}
        parts={parts}
        buckets={buckets}
        shape={isTimes ? "lines" : "bars"}
        onPick={(bucket) => {
          const { fromMs, toMs } = spanOfBucket(bucket.id, usage.bucket);
          change({ range: "custom", from: writeMinute(fromMs), to: writeMinute(toMs) });
        }}
      />
      <Note size="xs" mt="xs">
        {usage.totals.requests === 0
          ? null
          : `${isTimes ? "Of all requests. " : ""}Choose ${isTimes ? "a point" : "a bar"} to see its ${BUCKETS[usage.bucket]}.`}
      </Note>
    </>
  );
}

const BUCKETS: Readonly<Record<Usage["bucket"], string>> = {
  five_minutes: "five minutes",
  hour: "hour",
  day: "day",
};

function FindRequest() {
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string>();
  const submit = (): void => {
    const place = findId(typed);
    if (place?.label === "Request") void navigate({ to: place.to, params: place.params });
    else setProblem("Paste the whole x-request-id, such as 0193a5b0-1234-7abc-9def-0123456789ab.");
  };
  return (
    <form {...submitting(submit)} noValidate>
      <Group gap="xs" align="flex-start" wrap="nowrap">
        <TextInput
          aria-label="Find a request by its ID"
          placeholder="Request ID"
          size="xs"
          w="14rem"
          maw="100%"
          spellCheck={false}
          maxLength={200}
          {...controlled(typed, (text) => {
            setTyped(text);
            setProblem(undefined);
          })}
          error={problem}
        />
        <SmallButton type="submit">Find</SmallButton>
      </Group>
    </form>
  );
}
