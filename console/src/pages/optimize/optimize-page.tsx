import type { OptimizeSearch } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { moneyColumn, timeColumn, column } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { NewestNote, Page, Panel } from "../../ui/page.tsx";
import { NewSearchForm } from "./new-search-form.tsx";
import { objectiveLabel, STATES } from "./optimize-labels.ts";

const POLL_MS = 5_000;
/** Maximum number of searches that the server lists. */
const LISTED_MAX = 200;

export function OptimizePage() {
  const searches = useAnswer("GET /api/console/optimize", undefined, {
    refetchMs: (last) =>
      last?.data.some(({ state }) => state === "running") === true ? POLL_MS : undefined,
  });
  const catalog = useAnswer("GET /api/catalog.json");
  return (
    <Page
      title="Optimize"
      lead={
        "Send your prompts to several models and compare cost, speed, and optionally " +
        "quality. Calls are billed like any other request, up to a budget you set."
      }
    >
      <Answer of={catalog} rows={8}>
        {({ models }) => (
          <NewSearchForm models={models.filter(({ modality }) => modality === "text")} />
        )}
      </Answer>
      <Panel title="Searches">
        <Answer of={searches}>
          {({ data }) => (
            <>
              <DataTable<OptimizeSearch>
                caption="Searches"
                rows={data}
                rowKey={({ search_id: id }) => id}
                columns={COLUMNS}
                empty="No searches yet. Start one above."
              />
              <NewestNote
                rows={data}
                max={LISTED_MAX}
                older="Older ones, if any, are in the file of your data, under Settings."
              />
            </>
          )}
        </Answer>
      </Panel>
    </Page>
  );
}

const COLUMNS: readonly Column<OptimizeSearch>[] = [
  {
    id: "name",
    label: "Name",
    render: ({ search_id: searchId, name }) => (
      <AppLink to="/optimize/$searchId" params={{ searchId }}>
        {name}
      </AppLink>
    ),
    sortValue: ({ name }) => name,
  },
  column("state", "State", ({ state }) => {
    const [tone, words] = STATES[state];
    return <StatusBadge tone={tone}>{words}</StatusBadge>;
  }),
  column("objective", "Objective", ({ objective }) => objectiveLabel(objective)),
  column("best", "Best so far", ({ results }) => (
    <code>{results.find(({ rank }) => rank === 1)?.model ?? "–"}</code>
  )),
  moneyColumn("spent", "Spent", ({ spent_usd: spent }) => spent),
  moneyColumn("budget", "Budget", ({ budget_usd: budget }) => budget, { isBrief: true }),
  timeColumn("created", "Started", ({ created_at: at }) => at, { isSortable: true }),
];
