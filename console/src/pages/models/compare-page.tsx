import { Select, Stack, Text, Button } from "@mantine/core";
import { useMemo } from "react";

import type { Model } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page, Panel } from "../../ui/page.tsx";
import { useModelOptions } from "../playground/model-picker.tsx";
import { CompareCosts } from "./compare-costs.tsx";
import { COMPARED_MAX, readPicks, withPick, writePicks } from "./compare-picks.ts";
import kit from "../../ui/kit.module.css";
import { NameLine } from "../../ui/name-line.tsx";
import { TRUST, overbilledWords } from "../verification/verification-labels.ts";
import { compareFacts, type FactCell } from "./compare-facts.ts";
import styles from "./models.module.css";
import { useIsSignedIn, useServed } from "./use-served.ts";

const CRUMBS = [{ label: "Models", to: "/models" }];

type CompareSearch = Readonly<Partial<Record<"models" | "of", string | undefined>>>;

export function ComparePage() {
  const catalog = useAnswer("GET /api/catalog.json");
  const ids = readPicks(useFilters<CompareSearch>()[0].models);
  return (
    <Page
      title="Compare models"
      crumbs={CRUMBS}
      lead={`Compare up to ${COMPARED_MAX} models. Share this page by its URL: others see their own costs.`}
      actions={
        ids.length === 0 ? null : (
          <LinkButton to="/playground" search={{ model: ids.join(",") }} variant="filled">
            Try in playground
          </LinkButton>
        )
      }
    >
      <Answer of={catalog} rows={12}>
        {({ models }) => <Comparison models={models} />}
      </Answer>
    </Page>
  );
}

function Comparison({ models }: { readonly models: readonly Model[] }) {
  const [search, change] = useFilters<CompareSearch>();
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
            link={{ to: "/models", label: "View all models" }}
          />
        </Panel>
      ) : (
        <>
          <CompareCosts
            ids={shown.map(({ id }) => id)}
            of={search.of}
            onOf={(of) => change({ of }, { history: "step" })}
          />
          <Panel title="Side by side">
            <CompareTable models={shown} onRemove={(id) => pick(id, false)} />
          </Panel>
        </>
      )}
    </Stack>
  );
}

function CompareTable(props: {
  readonly models: readonly Model[];
  readonly onRemove: (id: string) => void;
}) {
  const { models, onRemove } = props;
  // At most four models are compared. React requires the same number of hooks each time.
  const [first, second, third, fourth] = models;
  const verdicts = [useVerdict(first), useVerdict(second), useVerdict(third), useVerdict(fourth)];
  const served = useServed();
  return (
    <div className={kit.tableScroll} tabIndex={0} role="group" aria-label="Models side by side">
      <table className={`${kit.table} ${styles.compareTable}`}>
        <caption className={kit.hidden}>Models side by side</caption>
        <thead>
          <tr>
            <th scope="col">Fact</th>
            {models.map((model) => (
              <th key={model.id} scope="col">
                <NameLine
                  of={model.id}
                  name={model.name}
                  link={{ to: "/models/$", params: { _splat: model.id }, fw: 600 }}
                />
                <Button
                  variant="subtle"
                  size="compact-xs"
                  aria-label={`Remove ${model.name}`}
                  onClick={() => onRemove(model.id)}
                >
                  Remove
                </Button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {compareFacts(models, verdicts.slice(0, models.length), served?.of).map(
            ({ label, cells }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {cells.map((cell, at) => (
                  <td key={models[at]?.id ?? at}>
                    <Cell {...cell} />
                  </td>
                ))}
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ text, note, isBest }: FactCell) {
  return (
    <>
      <span className={isBest ? styles.best : undefined}>{text}</span>
      {isBest ? <span className={kit.hidden}> (best)</span> : null}
      {note === undefined ? null : <span className={styles.priceNote}>{note}</span>}
    </>
  );
}

/** The verdict on the model's first listing. Undefined for visitors and until it is known. */
function useVerdict(model: Model | undefined): string | undefined {
  const isSignedIn = useIsSignedIn();
  const listing = model?.providers[0];
  const query = { model: model?.id, provider: listing?.provider };
  const options = { enabled: isSignedIn && listing !== undefined };
  const { data } = useAnswer("GET /api/console/verification", { query }, options);
  const trust = data?.listings[0];
  if (trust === undefined) return undefined;
  const billing = overbilledWords(trust.overbilled_percent);
  const words = [TRUST[trust.state].word, ...(billing === undefined ? [] : [billing])].join(", ");
  return trust.suspect === null ? words : `${words}, but live answers break its promises`;
}
