import { Stack } from "@mantine/core";
import { lazy, Suspense, useMemo, useState, type ReactNode } from "react";

import type { ListingFigures } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useIsSignedIn } from "./use-served.ts";
import { Answer, Loading } from "../../ui/answer.tsx";
import { numberColumn, column } from "../../ui/columns.tsx";
import { formatMs, formatShare } from "../../ui/format.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { dayTitle, listDays, spokenDays, upLabel, type ServedDay } from "./served.ts";
import styles from "./models.module.css";

const ServedChart = lazy(() => import("./served-chart.tsx"));

interface ServedPanelProps {
  readonly of: { readonly model: string } | { readonly provider: string };
  readonly nameOf: (listing: ListingFigures) => ReactNode;
  readonly label: "Provider" | "Model";
}

/**
 * Figures of the organization's own calls, and of all customers' calls if the operator publishes
 * them. If the operator does not, visitors see nothing.
 */
export function ServedPanel(props: ServedPanelProps) {
  const isSignedIn = useIsSignedIn();
  const asked = { query: props.of };
  const own = useAnswer("GET /api/console/listing-figures", asked, { enabled: isSignedIn });
  const shared = useAnswer("GET /api/listing-figures.json", asked).data;
  const isShared = shared?.is_shown === true;
  const [chosen, choose] = useState<Whose>();
  if (!isSignedIn && !isShared) return null;
  const hasOwn = own.data?.listings.length !== 0;
  const whose = isSignedIn ? (chosen ?? (hasOwn || !isShared ? "own" : "all")) : "all";
  return (
    <Panel
      title="Reliability and speed, 30 days"
      actions={
        isSignedIn && isShared ? (
          <FilterChips label="Calls" options={WHOSE} value={whose} onChange={choose} />
        ) : undefined
      }
    >
      <Stack gap="md">
        <Note>
          Uptime is the share of hours with calls in which at least one call succeeded. Time to
          first token and speed are from streamed answers.
        </Note>
        {whose === "own" ? (
          <Answer of={own} rows={2}>
            {({ listings }) => <FiguresTable {...props} {...OWN} listings={listings} />}
          </Answer>
        ) : (
          <FiguresTable {...props} {...SHARED} listings={shared?.listings ?? []} />
        )}
      </Stack>
    </Panel>
  );
}

const OWN = {
  caption: "Your own calls",
  empty:
    "No calls in the last 30 days. Figures appear a few minutes after the end of each hour with calls.",
  hasHours: true,
};
const SHARED = {
  caption: "All customers",
  empty:
    "Not enough calls yet. A day is shown after its end if 3 organizations made 200 calls together, and none of them more than half.",
  hasHours: false,
};

type Whose = "own" | "all";
const WHOSE = [
  { value: "own", label: OWN.caption },
  { value: "all", label: SHARED.caption },
] as const;

function FiguresTable(
  props: ServedPanelProps & {
    readonly caption: string;
    readonly listings: readonly ListingFigures[];
    readonly empty: string;
    readonly hasHours: boolean;
  },
) {
  const { label, nameOf, caption, listings, empty, hasHours } = props;
  const [nowMs] = useState(() => Date.now());
  const lineOf = label === "Provider" ? "provider" : "model";
  const columns = useMemo(() => buildColumns(label, nameOf, nowMs), [label, nameOf, nowMs]);
  return (
    <div className={styles.served}>
      <DataTable
        caption={`Reliability and speed: ${caption.toLowerCase()}`}
        columns={columns}
        rows={listings}
        rowKey={({ provider, model }) => `${provider} ${model}`}
        empty={empty}
      />
      {listings.length === 0 ? null : (
        <Suspense fallback={<Loading rows={4} />}>
          <ServedChart {...{ caption, listings, nowMs, lineOf, hasHours }} />
        </Suspense>
      )}
    </div>
  );
}

function buildColumns(
  label: string,
  nameOf: ServedPanelProps["nameOf"],
  nowMs: number,
): readonly Column<ListingFigures>[] {
  return [
    column("name", label, nameOf),
    // Only the figures of all customers have no count of calls.
    column("days", "By day", ({ days, calls }) => (
      <UptimeDays days={listDays(days, nowMs)} isShared={calls === null} />
    )),
    numberColumn("uptime", "Uptime", ({ uptime }) => uptime, { show: formatShare }),
    numberColumn("success", "Succeeded", ({ success }) => success, { show: formatShare }),
    numberColumn("p50", "First token, p50", ({ ttft_p50_ms: ms }) => ms, { show: formatMs }),
    numberColumn("p95", "First token, p95", ({ ttft_p95_ms: ms }) => ms, { show: formatMs }),
    numberColumn("speed", "Tokens per second", ({ tokens_per_second: speed }) => speed),
    numberColumn("calls", "Calls", ({ calls }) => calls),
  ];
}

function UptimeDays(props: { readonly days: readonly ServedDay[]; readonly isShared: boolean }) {
  const { days, isShared } = props;
  return (
    <span className={styles.days} role="img" aria-label={spokenDays(days, { isShared })}>
      {days.map((each) => (
        <span
          key={each.day}
          className={styles.day}
          data-state={upLabel(each.uptime)}
          title={dayTitle(each, { isShared })}
        />
      ))}
    </span>
  );
}
