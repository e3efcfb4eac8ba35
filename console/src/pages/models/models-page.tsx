import {
  Anchor,
  Button,
  SegmentedControl,
  Select,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
} from "@mantine/core";
import { useMemo, useState, type ReactElement } from "react";

import type { Model } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { formatCount } from "../../ui/count.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useIsPhone } from "../../ui/use-table-state.ts";
import { CompareBar, type Picks } from "./compare-bar.tsx";
import { readPicks, writePicks } from "./compare-picks.ts";
import { ModelCard } from "./model-card.tsx";
import {
  choicesOf,
  filterModels,
  hasPriceFilter,
  hasSpeedFilter,
  type ModelSearch,
} from "./model-filters.ts";
import { CLEARED, ModelFilterBar } from "./model-filter-bar.tsx";
import { orderBySort, orderChoices, orderInAddress, orderModels, orderOf } from "./model-order.ts";
import { ModelTable } from "./model-table.tsx";
import styles from "./models.module.css";
import type { ServedModels } from "./served.ts";
import { useServed, type ServedFor } from "./use-served.ts";

/** Every model that can be called, newest first. Open to every visitor. */
export function ModelsPage(): ReactElement {
  const catalog = useAnswer("GET /api/catalog.json");
  return (
    <Page
      title="Models"
      isWide
      lead={
        <>
          Prices are per million tokens, of the provider that is tried first. For scripts:{" "}
          <Anchor href="/api/models.json">model IDs as JSON</Anchor>.
        </>
      }
    >
      <Answer of={catalog} skeleton={<ModelsSkeleton />}>
        {({ models }) => <ModelList models={models} />}
      </Answer>
    </Page>
  );
}

function ModelList({ models }: { readonly models: readonly Model[] }): ReactElement {
  const [search, change] = useFilters<ModelSearch>();
  const choices = useMemo(() => choicesOf(models), [models]);
  const served = useServed();
  const found = useMemo(
    () => orderModels(filterModels(models, search, served?.of), search, served?.of),
    [models, search, served],
  );
  const picks = useMemo(
    (): Picks => ({
      ids: readPicks(search.compare),
      change: (ids) => change({ compare: writePicks(ids), page: search.page }),
    }),
    [search.compare, search.page, change],
  );
  const isTable = search.view === "table";
  if (models.length === 0) {
    return (
      <Panel>
        <Empty title="No models yet. The operator adds them with a manifest." />
      </Panel>
    );
  }
  return (
    <Stack gap="md">
      <Panel>
        <ModelFilterBar
          search={search}
          change={change}
          choices={choices}
          hasFigures={served !== undefined}
        />
      </Panel>
      <div className={styles.resultLine}>
        <Text size="sm" c="dimmed" role="status">
          {found.length === models.length
            ? countLabel(models.length)
            : `${formatCount(found.length)} of ${countLabel(models.length)}`}
          {filterNotes(search, served)}
        </Text>
        <div className={styles.order}>
          <Select
            aria-label="Sort by"
            size="xs"
            allowDeselect={false}
            value={orderOf(search).value}
            onChange={(sort) => change({ sort: orderInAddress(sort) }, STEP)}
            data={orderChoices(search, served?.of).map(({ value, label }) => ({ value, label }))}
          />
          <SegmentedControl
            size="xs"
            aria-label="View"
            value={isTable ? "table" : "cards"}
            data={[
              { value: "cards", label: "Cards" },
              { value: "table", label: "Table" },
            ]}
            onChange={(view) => change({ view: view === "cards" ? undefined : view }, STEP)}
          />
        </div>
      </div>
      <CompareBar models={models} picks={picks} />
      {found.length === 0 ? (
        <Panel>
          <Empty
            title="No models match these filters."
            action={
              <Button variant="default" onClick={() => change(CLEARED, STEP)}>
                Clear filters
              </Button>
            }
          />
        </Panel>
      ) : isTable ? (
        <Panel>
          <ModelTable
            models={found}
            search={search}
            served={served}
            onSort={(sort) => change({ sort: orderBySort(sort) }, STEP)}
            picks={picks}
          />
        </Panel>
      ) : (
        <ModelCards models={found} search={search} served={served?.of} picks={picks} />
      )}
    </Stack>
  );
}

/** Back undoes a choice. */
const STEP = { history: "step" } as const;

function countLabel(count: number): string {
  return count === 1 ? "1 model" : `${formatCount(count)} models`;
}

/** The meaning of the filters that are set, after the count. */
function filterNotes(search: ModelSearch, served: ServedFor | undefined): string {
  const notes = [
    hasPriceFilter(search)
      ? "A model matches by the price of the provider that is tried first."
      : "",
    hasSpeedFilter(search) ? (served === undefined ? NO_FIGURES : speedNote(served)) : "",
  ];
  return notes.map((note) => (note === "" ? "" : ` · ${note}`)).join("");
}
const NO_FIGURES = "Speeds are not known here, so that filter is not applied.";

function speedNote({ whose }: ServedFor): string {
  return `Speeds are those of ${whose} in the last 30 days; unmeasured models do not match.`;
}

/** More cards than this wait for a press: each is a good deal of page, and on a phone a third of it. */
const CARDS_STEP = 60;
const PHONE_CARDS_STEP = 12;

function ModelCards(props: {
  readonly models: readonly Model[];
  readonly search: ModelSearch;
  readonly served: ServedModels | undefined;
  readonly picks: Picks;
}): ReactElement {
  const { models, search, served, picks } = props;
  const step = useIsPhone() ? PHONE_CARDS_STEP : CARDS_STEP;
  const [steps, setSteps] = useState(1);
  const shown = models.slice(0, steps * step);
  const left = models.length - shown.length;
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }} spacing="md">
        {shown.map((model) => (
          <ModelCard key={model.id} model={model} search={search} served={served} picks={picks} />
        ))}
      </SimpleGrid>
      {left === 0 ? null : (
        <Button variant="default" onClick={() => setSteps(steps + 1)} mx="auto">
          Show {formatCount(Math.min(step, left))} more of {countLabel(models.length)}
        </Button>
      )}
    </>
  );
}

function ModelsSkeleton(): ReactElement {
  return (
    <Stack gap="md" role="status" aria-label="Loading models">
      <Skeleton height={190} />
      <Skeleton height={30} />
      <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }} spacing="md">
        {Array.from({ length: 6 }, (_none, at) => (
          <Skeleton key={at} height={190} />
        ))}
      </SimpleGrid>
    </Stack>
  );
}
