import { Select } from "@mantine/core";
import { useMemo, type ReactElement } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { FilterChips } from "../../ui/filter-chips.tsx";
import {
  STATUSES,
  statusOf,
  type ChangeSearch,
  type Status,
  type UsageSearch,
} from "./usage-search.ts";
import styles from "./usage.module.css";

export interface FilterFieldsProps {
  readonly search: UsageSearch;
  readonly change: ChangeSearch;
}

/** Which requests are shown. */
export function FilterFields({ search, change }: FilterFieldsProps): ReactElement {
  const catalog = useAnswer("GET /api/catalog.json").data?.models;
  const keys = useAnswer("GET /api/console/keys").data?.data;
  const choices = useMemo(
    () => ({
      models: (catalog ?? []).map(({ id }) => ({ value: id, label: id })),
      providers: [
        ...new Map(
          (catalog ?? []).flatMap(({ providers }) =>
            providers.map(({ provider, name }) => [provider, name] as const),
          ),
        ),
      ].map(([value, label]) => ({ value, label })),
      keys: [
        ...(keys ?? []).map(({ key_id, name, label }) => ({
          value: key_id,
          label: `${name} (${label}…)`,
        })),
        ...OWN_KEYS,
      ],
    }),
    [catalog, keys],
  );
  return (
    <>
      <div className={styles.fields}>
        <FilterField
          label="Model"
          value={search.model}
          choices={choices.models}
          onChange={(model) => change({ model })}
        />
        <FilterField
          label="Key"
          value={search.key}
          choices={choices.keys}
          onChange={(key) => change({ key })}
        />
        <FilterField
          label="Provider"
          value={search.provider}
          choices={choices.providers}
          onChange={(provider) => change({ provider })}
        />
      </div>
      <FilterChips<Status | "">
        label="Status"
        options={[{ value: "", label: "Any status" }, ...STATUSES]}
        value={statusOf(search) ?? ""}
        onChange={(status) => change({ status: status === "" ? undefined : status })}
      />
    </>
  );
}

/** The marketplace's own keys have no row among the keys, but their spend is the customer's. */
const OWN_KEYS = [
  { value: "playground", label: "Playground" },
  { value: "optimize", label: "Optimize searches" },
] as const;

interface Choice {
  readonly value: string;
  readonly label: string;
}

function FilterField(props: {
  readonly label: string;
  readonly value: string | undefined;
  readonly choices: readonly Choice[];
  readonly onChange: (value: string | undefined) => void;
}): ReactElement {
  return (
    <Select
      label={props.label}
      size="sm"
      placeholder="Any"
      searchable
      clearable
      clearButtonProps={{ "aria-label": `Any ${props.label.toLowerCase()}` }}
      nothingFoundMessage="No match"
      value={props.value ?? null}
      onChange={(value) => props.onChange(value ?? undefined)}
      data={[...withChosen(props.choices, props.value)]}
    />
  );
}

/** A model that has left, or a key of a shared address, still shows what is filtered by. */
function withChosen(choices: readonly Choice[], value: string | undefined): readonly Choice[] {
  if (value === undefined || choices.some((choice) => choice.value === value)) return choices;
  return [{ value, label: value }, ...choices];
}
