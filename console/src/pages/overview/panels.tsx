import { Text, Group, List } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState, type ReactNode } from "react";
import { Circle, CircleCheck } from "lucide-react";

import type { Overview, RequestRow } from "../../api/contract.ts";
import type { ChartBucket, ChartPart } from "../../ui/charts/stack-parts.ts";
import { StackedBars } from "../../ui/charts/stacked-bars.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { showUtc, Time } from "../../ui/time.tsx";
import { dayRange } from "../usage/day-range.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { moneyColumn, numberColumn, column } from "../../ui/columns.tsx";
import { type Column, TablePanel } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { NameLine } from "../../ui/name-line.tsx";
import { endingOfRequest } from "../usage/outcome-labels.ts";
import { EndingBadge } from "../usage/ending-badge.tsx";
import kit from "../../ui/kit.module.css";

type Day = Overview["days"][number];
type Metric = "spend" | "requests" | "errors";

interface DaysPanelProps {
  readonly days: readonly Day[];
  readonly models: Overview["day_models"];
}

export function DaysPanel({ days, models }: DaysPanelProps) {
  const navigate = useNavigate();
  const [metric, setMetric] = useState<Metric>("spend");
  const buckets = useMemo(() => days.map((day) => toBucket(day, metric)), [days, metric]);
  const parts = useMemo(
    () => (metric === "spend" ? spendParts(days, models) : COUNTED[metric]),
    [days, models, metric],
  );
  const isEmpty = days.every(({ requests }) => requests === 0);
  return (
    <Panel
      title="Last 30 days"
      actions={<FilterChips label="Figure" options={METRICS} value={metric} onChange={setMetric} />}
    >
      <StackedBars
        label={LABELS[metric]}
        unit={metric === "spend" ? "usd" : "count"}
        parts={parts}
        buckets={buckets}
        bucketLabel="Day (UTC)"
        onPick={({ id }) => {
          void navigate({ to: "/usage", search: { ...dayRange(id), metric } });
        }}
      />
      <Note size="xs" mt="xs">
        {isEmpty ? null : "Choose a bar to see its day in Usage."}
      </Note>
    </Panel>
  );
}

function toBucket(day: Day, metric: Metric): ChartBucket {
  const label = showUtc(`${day.day}T00:00:00.000Z`, "day");
  return {
    id: day.day,
    label,
    tick: label.split(" ").slice(0, 2).join(" "),
    values: {
      spend: day.spent_by_model,
      requests: { requests: day.requests },
      errors: { errors: day.by_status.failed },
    }[metric],
  };
}

/** Parts from the bottom up: the models by spend, then all others if they have spend on any day. */
function spendParts(days: readonly Day[], models: DaysPanelProps["models"]): readonly ChartPart[] {
  const isRest = days.some(({ spent_by_model }) => Object.hasOwn(spent_by_model, OTHER));
  return [
    ...models.map(({ model, name }) => ({ id: model, name })),
    ...(isRest ? [{ id: OTHER, name: "All others" }] : []),
  ];
}
const OTHER = "other";

const LABELS: Readonly<Record<Metric, string>> = {
  spend: "Spend by model, per day",
  requests: "Requests by day",
  errors: "Failed requests by day",
};
const METRICS = [
  { value: "spend", label: "Spend" },
  { value: "requests", label: "Requests" },
  { value: "errors", label: "Failed" },
] as const;
const COUNTED = {
  requests: [{ id: "requests", name: "Requests", isWhole: true }],
  errors: [{ id: "errors", name: "Failed", isWhole: true }],
} as const;

type TopModel = Overview["top_models"][number];

export function TopModels({ models }: { readonly models: readonly TopModel[] }) {
  return (
    <TablePanel
      title="Top models, last 30 days"
      caption="Models by spend in the last 30 days"
      columns={MODEL_COLUMNS}
      rows={models}
      rowKey={({ model }) => model}
      empty={
        <Empty
          title="Your most used models appear here."
          link={{ to: "/models", label: "View models" }}
        />
      }
    />
  );
}

const MODEL_COLUMNS: readonly Column<TopModel>[] = [
  {
    id: "model",
    label: "Model",
    phone: "lead",
    render: ({ model, name }) => (
      <NameLine of={model} name={name} link={{ to: "/usage", search: { model, range: "30d" } }} />
    ),
    sortValue: ({ name }) => name,
  },
  numberColumn("requests", "Requests", ({ requests }) => requests, {
    isSortable: true,
    phone: "line",
  }),
  moneyColumn("spent", "Spent", ({ spent_usd }) => spent_usd, { isSortable: true, phone: "end" }),
];

export function LatestErrors(props: { readonly requests: readonly RequestRow[] }) {
  return (
    <TablePanel
      title="Recent errors"
      caption="Latest requests that were rejected or failed"
      columns={ERROR_COLUMNS}
      rows={props.requests}
      rowKey={({ request_id }) => request_id}
      empty="No recent errors."
    />
  );
}

const ERROR_COLUMNS: readonly Column<RequestRow>[] = [
  {
    id: "time",
    label: "Time",
    phone: "plain",
    render: ({ request_id, created_at }) => (
      <AppLink to="/requests/$requestId" params={{ requestId: request_id }} size="sm">
        <Time at={created_at} />
      </AppLink>
    ),
  },
  column("model", "Model", ({ model }) => model ?? "–", { phone: "lead" }),
  column("status", "Status", (row) => <EndingBadge ending={endingOfRequest(row)} />, {
    phone: "end",
  }),
];

export function Checklist({ done }: { readonly done: Overview["done"] }) {
  const count = Object.values(done).filter(Boolean).length;
  return (
    <Panel title="Get started" actions={<Note>{count} of 3 done</Note>}>
      <List listStyleType="none" spacing="sm">
        <Task isDone={done.has_key}>
          <AppLink to="/keys">Create a key</AppLink>: programs send it with every request.
        </Task>
        <Task isDone={done.has_credit}>
          <AppLink to="/billing">Add credit</AppLink>: requests are paid from your balance, which
          starts at $0.00.
        </Task>
        <Task isDone={done.has_request}>
          <AppLink to="/playground">Try a model</AppLink> here, or{" "}
          <AppLink to="/welcome">make your first call</AppLink> from your own program.
        </Task>
      </List>
    </Panel>
  );
}

function Task(props: { readonly isDone: boolean; readonly children: ReactNode }) {
  return (
    <List.Item>
      <Group gap="sm" wrap="nowrap" align="flex-start">
        {props.isDone ? (
          <CircleCheck size={20} color="var(--tm-ok)" aria-hidden className={kit.mark} />
        ) : (
          <Circle size={20} color="var(--mantine-color-dimmed)" aria-hidden className={kit.mark} />
        )}
        <Text size="sm" {...(props.isDone ? { c: "dimmed" } : {})}>
          <span className={kit.hidden}>{props.isDone ? "Done: " : "To do: "}</span>
          {props.children}
        </Text>
      </Group>
    </List.Item>
  );
}
