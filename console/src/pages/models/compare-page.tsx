import { Select, Stack, Text } from "@mantine/core";
import { useMemo, type ReactElement } from "react";

import type { Model } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMaybeSession } from "../../api/use-session.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useModelOptions } from "../playground/model-picker.tsx";
import { CompareCosts } from "./compare-costs.tsx";
import { COMPARED_MAX, readPicks, withPick, writePicks } from "./compare-picks.ts";
import { CompareTable } from "./compare-table.tsx";

const CRUMBS = [{ label: "Models", to: "/models" }];

type CompareSearch = Readonly<Partial<Record<"models" | "of", string | undefined>>>;

export function ComparePage(): ReactElement {
  const catalog = useAnswer("GET /api/catalog.json");
  return (
    <Page
      title="Compare models"
      crumbs={CRUMBS}
      lead={`Compare up to ${COMPARED_MAX} models. Share this page by its URL: others see their own costs.`}
      actions={<TryButton />}
    >
      <Answer of={catalog} rows={12}>
        {({ models }) => <Comparison models={models} />}
      </Answer>
    </Page>
  );
}

function TryButton(): ReactElement | null {
  const [{ models }] = useFilters<CompareSearch>();
  const ids = readPicks(models);
  if (ids.length === 0) return null;
  return (
    <LinkButton to="/playground" search={{ model: ids.join(",") }}>
      Try in playground
    </LinkButton>
  );
}

function Comparison({ models }: { readonly models: readonly Model[] }): ReactElement {
  const [search, change] = useFilters<CompareSearch>();
  const isSignedIn = useMaybeSession()?.state === "signed_in";
  const ids = readPicks(search.models);
  const byId = useMemo(() => new Map(models.map((model) => [model.id, model])), [models]);
  const shown = ids.flatMap((id) => byId.get(id) ?? []);
  const options = useModelOptions(models.filter(({ id }) => !ids.includes(id)));
  const unknown = ids.filter((id) => !byId.has(id));
  const pick = (id: string, isPicked: boolean): void =>
    change({ models: writePicks(withPick(ids, id, isPicked)) }, { history: "step" });
  return (
    <Stack gap="lg">
      <Panel>
        <Select
          label="Add a model"
          placeholder={
            ids.length === COMPARED_MAX ? `Up to ${COMPARED_MAX}. Remove one first.` : "Name or ID"
          }
          disabled={ids.length === COMPARED_MAX}
          {...options}
          limit={50}
          maw={420}
          value={null}
          onChange={(id) => (id === null ? undefined : pick(id, true))}
        />
        {unknown.map((id) => (
          <Text key={id} size="sm" mt="sm">
            No model with the id {id} is listed. It may have been removed.
          </Text>
        ))}
      </Panel>
      {shown.length === 0 ? (
        <Panel>
          <Empty
            title="No models selected. Add one above, or select some in the list."
            action={
              <LinkButton to="/models" variant="default">
                View all models
              </LinkButton>
            }
          />
        </Panel>
      ) : (
        <>
          <CompareCosts
            ids={shown.map(({ id }) => id)}
            of={search.of}
            onOf={(of) => change({ of }, { history: "step" })}
            isSignedIn={isSignedIn}
          />
          <Panel title="Side by side">
            <CompareTable models={shown} onRemove={(id) => pick(id, false)} />
          </Panel>
        </>
      )}
    </Stack>
  );
}
