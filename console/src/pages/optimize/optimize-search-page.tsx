import { Button, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Square } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import type { OptimizeResult, OptimizeSearch } from "../../api/contract.ts";
import { refreshAnswers, useAnswer, useChange, useMay, useSession } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { ConfirmName } from "../../ui/confirm-name.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/format.ts";
import { moneyColumn, column } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { FigureCard } from "../../ui/figure-card.tsx";
import { parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { notifyDone } from "../../ui/notice.ts";
import { Note, Page, Panel, RoleNote } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { AnswersPanel } from "./answers-panel.tsx";
import classes from "./optimize.module.css";
import { findWinner, isUndecided, objectiveLabel, STATES } from "./optimize-labels.ts";

const POLL_MS = 2_000;
const CRUMBS = [{ label: "Optimize", to: "/optimize" }];

export function OptimizeSearchPage() {
  const { searchId = "" } = useParams({ strict: false }) as { readonly searchId?: string };
  const asked = { params: { search_id: searchId } };
  const search = useAnswer("GET /api/console/optimize/:search_id", asked, {
    refetchMs: (last) => (last?.state === "running" ? POLL_MS : undefined),
  });
  const { data } = search;
  const isRunning = data?.state === "running";
  useBalanceAtEnd(isRunning);
  return (
    <Page
      title={data?.name ?? "Optimize search"}
      crumbs={CRUMBS}
      actions={isRunning ? <StopButton search={data} /> : null}
      lead={data === undefined ? undefined : <Lead search={data} />}
    >
      <Answer of={search} rows={8}>
        {(found) => <SearchView search={found} />}
      </Answer>
    </Page>
  );
}

/** Fetches the balance again when a search ends while the page is open. */
function useBalanceAtEnd(isRunning: boolean): void {
  const client = useQueryClient();
  const wasRunning = useRef(false);
  useEffect(() => {
    if (wasRunning.current && !isRunning) void refreshAnswers(client, []);
    wasRunning.current = isRunning;
  }, [client, isRunning]);
}

function Lead({ search }: { readonly search: OptimizeSearch }) {
  const [tone, words] = STATES[search.state];
  return (
    <span>
      <StatusBadge tone={tone}>{words}</StatusBadge> {objectiveLabel(search.objective)}
      {search.judge_model === null ? "" : `, judged by ${search.judge_model}`}, started{" "}
      <Time at={search.created_at} />
      {search.ended_at === null ? null : (
        <>
          , ended <Time at={search.ended_at} />
        </>
      )}
    </span>
  );
}

const UNDECIDED =
  "The judge chose an answer to fewer than half of the prompts. Choose another judge.";

function SearchView({ search }: { readonly search: OptimizeSearch }) {
  const share = search.calls_planned === 0 ? 0 : search.calls_done / search.calls_planned;
  const best = findWinner(search);
  const noWinner = isUndecided(search) ? UNDECIDED : "No answer yet";
  const { org } = useSession();
  const mayRead = useMay("keys");
  return (
    <Stack gap="lg">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        <FigureCard
          label={search.state === "finished" ? "Best" : "Best so far"}
          value={
            <Text inherit className={classes.best}>
              {best?.model ?? (isUndecided(search) ? "Not decided" : "–")}
            </Text>
          }
          hint={
            best === undefined ? (
              noWinner
            ) : (
              <AppLink to="/playground" search={{ tab: "chat", model: best.model }} size="xs">
                Try it in the playground
              </AppLink>
            )
          }
        />
        <FigureCard
          label="Calls"
          value={`${formatCount(search.calls_done)} of ${formatCount(search.calls_planned)}`}
          hint={`${formatCount(search.prompts)} prompts, ${search.models.length} models`}
        />
        <FigureCard
          label="Spent"
          value={<Money usd={search.spent_usd} headline />}
          hint={
            <>
              exactly <Money usd={search.spent_usd} />
            </>
          }
        />
        <FigureCard
          label="Budget"
          value={<Money usd={search.budget_usd} headline />}
          hint="Cap on the search's key"
        />
      </SimpleGrid>
      {search.state === "running" ? (
        <Progress.Root size="lg">
          <Progress.Section
            value={Math.max(1, share * 100)}
            animated
            aria-label={`${Math.floor(share * 100)} percent of the calls are done`}
          />
        </Progress.Root>
      ) : null}
      {search.message === null ? null : <Text role="status">Why it ended: {search.message}.</Text>}
      <Panel title="Results">
        <Stack gap="sm">
          <DataTable<OptimizeResult>
            caption="Results by model"
            rows={search.results}
            rowKey={({ model }) => model}
            columns={COLUMNS}
            sort={{ id: "rank", direction: "ascending" }}
            empty={<Text c="dimmed">No answers yet.</Text>}
          />
          <Note size="xs">
            Cost per answer is the cost of a model's calls divided by its answers. The judge's calls
            count toward the total spend, but not toward any model's cost.
          </Note>
        </Stack>
      </Panel>
      {mayRead ? (
        <AnswersPanel key={search.search_id} search={search} orgId={org?.org_id ?? ""} />
      ) : (
        <RoleNote need="keys" what="read answers" />
      )}
      <Text size="sm" c="dimmed" component="div">
        Search ID <Copyable value={search.search_id} label="search ID" /> · the calls of searches
        are in{" "}
        <AppLink to="/usage" search={{ key: "optimize", range: "30d" }} size="sm">
          Usage
        </AppLink>
      </Text>
    </Stack>
  );
}

function StopButton({ search }: { readonly search: OptimizeSearch }) {
  const [isAsking, setAsking] = useState(false);
  const mayStop = useMay("keys");
  const stop = useChange("POST /api/console/optimize/:search_id/stop", [
    "GET /api/console/optimize",
    "GET /api/console/optimize/:search_id",
  ]);
  return (
    <>
      <Button
        variant="default"
        leftSection={<Square size={14} aria-hidden />}
        disabled={!mayStop}
        onClick={() => setAsking(true)}
      >
        Stop
      </Button>
      <ConfirmName
        opened={isAsking}
        title="Stop search"
        name={search.name}
        confirmLabel="Stop search"
        onConfirm={async () => {
          await stop.mutateAsync({ params: { search_id: search.search_id } });
          setAsking(false);
          notifyDone(`“${search.name}” was stopped`);
        }}
        onClose={() => setAsking(false)}
      >
        Calls in progress are canceled and billed for what they used. The results so far are kept. A
        stopped search cannot be resumed.
      </ConfirmName>
    </>
  );
}

/** Sorts a model without a rank last. */
const LAST_RANK = 1_000;

const COLUMNS: readonly Column<OptimizeResult>[] = [
  column("rank", "Rank", ({ rank }) => rank ?? "–", { sortValue: ({ rank }) => rank ?? LAST_RANK }),
  {
    id: "model",
    label: "Model",
    render: ({ model }) => (
      <AppLink to="/models/$" params={{ _splat: model }}>
        {model}
      </AppLink>
    ),
    sortValue: ({ model }) => model,
  },
  column(
    "answers",
    "Answers",
    ({ calls, failed }) => `${formatCount(calls - failed)} of ${formatCount(calls)}`,
    { align: "right", sortValue: ({ calls, failed }) => calls - failed },
  ),
  moneyColumn("each", "Cost per answer", ({ cost_per_call_usd: each }) => each, {
    sortValue: ({ cost_per_call_usd: each }) => (each === null ? -1n : parseUsd(each)),
  }),
  moneyColumn("cost", "Total cost", ({ cost_usd: cost }) => cost, { isSortable: true }),
  column("ttft", "Time to first token, p50", ({ ttft_p50_ms: ms }) => formatMs(ms), {
    align: "right",
    sortValue: ({ ttft_p50_ms: ms }) => ms ?? Number.MAX_SAFE_INTEGER,
  }),
  column("wins", "Win rate", ({ win_rate: share }) => (share === null ? "–" : formatShare(share)), {
    align: "right",
    sortValue: ({ win_rate: share }) => share ?? -1,
  }),
];
