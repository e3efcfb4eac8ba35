import { Button, Text } from "@mantine/core";
import { X } from "lucide-react";
import type { ReactElement } from "react";

import { FilterMenu } from "./filter-menu.tsx";
import {
  readValues,
  writeValues,
  type ChangeSearch,
  type FilterName,
  type UsageSearch,
} from "./usage-search.ts";
import { useChoices } from "./use-choices.ts";
import styles from "./usage.module.css";

export interface FilterFieldsProps {
  readonly search: UsageSearch;
  readonly change: ChangeSearch;
}

export function FilterFields({ search, change }: FilterFieldsProps): ReactElement {
  const tags = useChoices("tag");
  const chosen = FILTERS.map(({ name }) => ({ name, values: readValues(search, name) }));
  const isAny = chosen.some(({ values }) => values.length > 0);
  const hasTags = readValues(search, "tag").length > 0;
  const menus = FILTERS.filter(({ name }) => name !== "tag" || (tags ?? []).length > 0);
  return (
    <>
      <div className={styles.scrollLine} data-scrolls role="group" aria-label="Filters">
        {menus.map(({ name, label }) => (
          <FilterMenu
            key={name}
            name={name}
            label={label}
            values={readValues(search, name)}
            // Consecutive choices in one menu share one history entry, so that Back undoes them at
            // once.
            onChange={(values) => change({ [name]: writeValues(values) }, { history: "typed" })}
          />
        ))}
        {chosen.flatMap(({ name, values }) =>
          values.map((value) => (
            <ChosenValue
              key={`${name} ${value}`}
              name={name}
              value={value}
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
  readonly name: FilterName;
  readonly value: string;
  readonly onRemove: () => void;
}): ReactElement {
  const filter = FILTERS.find((each) => each.name === props.name)?.label ?? props.name;
  const known = useChoices(props.name)?.find((each) => each.value === props.value);
  const value = known?.label ?? props.value;
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
