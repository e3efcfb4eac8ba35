import { Anchor, Button, Skeleton, Stack } from "@mantine/core";
import { SlidersHorizontal } from "lucide-react";
import { useMemo, useState } from "react";

import type { Model } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { Empty } from "../../ui/empty.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Note, Page, Panel } from "../../ui/page.tsx";
import { SearchField, useSearchText } from "../../ui/search-field.tsx";
import { CompareBar, type Picks } from "./compare-bar.tsx";
import { readPicks, writePicks } from "./compare-picks.ts";
import { filterModels, hasSpeedFilter, listChoices, type ModelSearch } from "./model-filters.ts";
import { CLEARED, countFilters, ModelFilterRail } from "./model-filter-rail.tsx";
import { MODALITY_NAMES } from "./model-labels.ts";
import { ModelTable } from "./model-table.tsx";
import styles from "./models.module.css";
import { useServed, type ServedFor } from "./use-served.ts";
import { SmallButton } from "../../ui/buttons.tsx";

export function ModelsPage() {
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
      <Answer of={catalog} skeleton={SKELETON}>
        {({ models }) => <ModelList models={models} />}
      </Answer>
    </Page>
  );
}

const RAIL = "model-filters";
const TYPING_MS = 250;
const STEP = { history: "step" } as const;

function ModelList({ models }: { readonly models: readonly Model[] }) {
  const [search, change] = useFilters<ModelSearch>();
  const [isOpen, setOpen] = useState(false);
  const [q, setQ] = useSearchText(
    search.q,
    (text) => change({ q: text }, { history: "typed" }),
    TYPING_MS,
  );
  const choices = useMemo(() => listChoices(models), [models]);
  const served = useServed();
  const found = useMemo(() => filterModels(models, search, served?.of), [models, search, served]);
  const picks = useMemo(
    (): Picks => ({
      ids: readPicks(search.compare),
      change: (ids) => change({ compare: writePicks(ids), page: search.page }),
    }),
    [search.compare, search.page, change],
  );
  if (models.length === 0) {
    return (
      <Panel>
        <Empty title="No models yet. The operator adds them with a manifest." />
      </Panel>
    );
  }
  const set = countFilters(search);
  const clear = (
    <Button variant="subtle" size="compact-sm" onClick={() => change(CLEARED, STEP)}>
      Clear filters
    </Button>
  );
  return (
    <Stack gap="md">
      <div className={styles.filterLine}>
        <SearchField label="Search models and providers" value={q} onChange={setQ} />
        <FilterChips
          label="Output"
          value={search.modality ?? ""}
          onChange={(modality) => change({ modality }, STEP)}
          options={[
            { value: "", label: "All" },
            ...choices.modalities.map((each) => ({ value: each, label: MODALITY_NAMES[each] })),
          ]}
        />
        <SmallButton
          aria-expanded={isOpen}
          aria-controls={RAIL}
          leftSection={<SlidersHorizontal size={14} aria-hidden />}
          onClick={() => setOpen(!isOpen)}
        >
          {set === 0 ? "Filters" : `Filters (${set})`}
        </SmallButton>
        {set === 0 && search.q === undefined && search.modality === undefined ? null : clear}
      </div>
      <Note role="status" className={styles.note}>
        {speedNote(search, served)}
      </Note>
      <CompareBar models={models} picks={picks} />
      <div className={isOpen ? styles.withRail : undefined}>
        {isOpen ? (
          <ModelFilterRail
            id={RAIL}
            search={search}
            change={change}
            choices={choices}
            hasFigures={served !== undefined}
            found={found.length}
            onClose={() => setOpen(false)}
          />
        ) : null}
        <Panel>
          <ModelTable
            models={found}
            search={search}
            served={served}
            picks={picks}
            isNarrow={isOpen}
            onNone={clear}
          />
        </Panel>
      </div>
    </Stack>
  );
}

function speedNote(search: ModelSearch, served: ServedFor | undefined): string {
  if (served === undefined) {
    return hasSpeedFilter(search)
      ? "Speeds are not known here, so that filter is not applied."
      : "";
  }
  const rest = hasSpeedFilter(search) ? "; unmeasured models do not match" : "";
  return `Speed, uptime and share of calls are those of ${served.whose} in the last 30 days${rest}.`;
}

const SKELETON = (
  <Stack gap="md" role="status" aria-label="Loading models">
    <Skeleton height={36} />
    <Skeleton height={720} />
  </Stack>
);
