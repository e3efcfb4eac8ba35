import { Button, Text } from "@mantine/core";
import { X } from "lucide-react";
import { useMemo, type ReactElement } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { FilterMenu, type Choice } from "./filter-menu.tsx";
import {
  STATUSES,
  valuesOf,
  writeValues,
  type ChangeSearch,
  type FilterName,
  type UsageSearch,
} from "./usage-search.ts";
import styles from "./usage.module.css";

export interface FilterFieldsProps {
  readonly search: UsageSearch;
  readonly change: ChangeSearch;
}

/** Which requests are shown: a line of menus, and what is chosen in them. */
export function FilterFields({ search, change }: FilterFieldsProps): ReactElement {
  const choices = useChoices();
  const chosen = FILTERS.map(({ name }) => ({ name, values: valuesOf(search, name) }));
  const isAny = chosen.some(({ values }) => values.length > 0);
  const hasTags = valuesOf(search, "tag").length > 0;
  // Where no key has a tag there is nothing to choose.
  const menus = FILTERS.filter(({ name }) => name !== "tag" || choices.tag.length > 0);
  return (
    <>
      <div className={styles.scrollLine} data-scrolls role="group" aria-label="Filters">
        {menus.map(({ name, label }) => (
          <FilterMenu
            key={name}
            label={label}
            choices={choices[name]}
            values={valuesOf(search, name)}
            // What is ticked in one menu, one after the other, is one step of Back.
            onChange={(values) => change({ [name]: writeValues(values) }, { history: "typed" })}
          />
        ))}
        {chosen.flatMap(({ name, values }) =>
          values.map((value) => (
            <ChosenValue
              key={`${name} ${value}`}
              filter={FILTERS.find((each) => each.name === name)?.label ?? name}
              value={choices[name].find((each) => each.value === value)?.label ?? value}
              onRemove={() => {
                change({ [name]: writeValues(values.filter((other) => other !== value)) });
              }}
            />
          )),
        )}
        {isAny ? (
          <Button size="compact-sm" variant="subtle" onClick={() => change(NO_FILTERS)}>
            Clear filters
          </Button>
        ) : null}
      </div>
      {hasTags ? (
        <Text size="sm" c="dimmed">
          A tag includes the keys that have it now, with all of their requests.
        </Text>
      ) : null}
    </>
  );
}

const FILTERS: readonly { readonly name: FilterName; readonly label: string }[] = [
  { name: "model", label: "Model" },
  { name: "key", label: "Key" },
  { name: "tag", label: "Tag" },
  { name: "provider", label: "Provider" },
  { name: "status", label: "Status" },
];
const NO_FILTERS = {
  model: undefined,
  key: undefined,
  tag: undefined,
  provider: undefined,
  status: undefined,
};

function ChosenValue(props: {
  readonly filter: string;
  readonly value: string;
  readonly onRemove: () => void;
}): ReactElement {
  const { filter, value } = props;
  return (
    <button
      type="button"
      className={styles.chosen}
      aria-label={`Remove the filter ${filter}: ${value}`}
      onClick={props.onRemove}
    >
      <span className={styles.chosenText}>
        {filter}: {value}
      </span>
      <X size={14} aria-hidden />
    </button>
  );
}

/** What there is to choose from, by the catalog and the organization's keys. */
function useChoices(): Readonly<Record<FilterName, readonly Choice[]>> {
  const catalog = useAnswer("GET /api/catalog.json").data?.models;
  const keys = useAnswer("GET /api/console/keys").data?.data;
  return useMemo(() => {
    const providers = (catalog ?? []).flatMap((model) => model.providers);
    const names = new Map(providers.map(({ provider, name }) => [provider, name]));
    return {
      model: (catalog ?? []).map(({ id }) => ({ value: id, label: id })),
      key: [
        ...(keys ?? []).map(({ key_id, name, label }) => ({
          value: key_id,
          label: `${name} (${label}…)`,
        })),
        ...OWN_KEYS,
      ],
      tag: [...new Set((keys ?? []).flatMap(({ tags }) => tags))]
        .sort()
        .map((value) => ({ value, label: value })),
      provider: [...names].map(([value, label]) => ({ value, label })),
      status: STATUSES,
    };
  }, [catalog, keys]);
}

/** The marketplace's own keys have no row among the keys, but their spend is the customer's. */
const OWN_KEYS = [
  { value: "playground", label: "Playground" },
  { value: "optimize", label: "Optimize searches" },
] as const;
