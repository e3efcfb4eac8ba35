import { Button, Checkbox, Select, Text, TextInput } from "@mantine/core";
import type { ReactElement } from "react";

import type { ChangeHow } from "../../app/use-filters.ts";
import { formatCount, formatMs } from "../../ui/count.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { useSearchText } from "../../app/use-search-text.ts";
import { MoreFields } from "../keys/form-dialog.tsx";
import {
  readContext,
  readFigure,
  readPrice,
  type ModelChoices,
  type ModelSearch,
} from "./model-filters.ts";
import { countryName } from "../../ui/country-name.ts";
import { MODALITY_NAMES } from "./model-labels.ts";
import styles from "./models.module.css";

type Wanted = Partial<Record<keyof ModelSearch, string | undefined>>;
type Change = (change: Wanted, how: ChangeHow) => void;

export interface ModelFilterBarProps {
  readonly search: ModelSearch;
  readonly change: Change;
  readonly choices: ModelChoices;
  /** It is known how models were served: speeds can be chosen. */
  readonly hasFigures: boolean;
}

/** All filters; each is part of the address, so that a view can be shared, and a step of Back. */
export function ModelFilterBar(props: ModelFilterBarProps): ReactElement {
  const { search, change, choices, hasFigures } = props;
  const choose = (wanted: Wanted): void => change(wanted, { history: "step" });
  const type = (wanted: Wanted): void => change(wanted, { history: "typed" });
  const [q, setQ] = useSearchText(search.q, (text) => type({ q: text }), TYPING_MS);
  return (
    <div className={styles.filters}>
      <div className={styles.filterLine}>
        <SearchField label="Search models and providers" value={q} onChange={setQ} />
        <FilterChips
          label="Output"
          value={search.modality ?? ""}
          onChange={(modality) => choose({ modality })}
          options={[
            { value: "", label: "All" },
            ...choices.modalities.map((each) => ({ value: each, label: MODALITY_NAMES[each] })),
          ]}
        />
      </div>
      <MoreFields
        label="More filters"
        isTelling={FOLDED.some((name) => search[name] !== undefined)}
      >
        <div className={styles.fields}>
          <ChoiceField
            label="Accepts"
            value={search.input}
            onChange={(input) => choose({ input })}
            choices={choices.inputs.map((each) => ({ value: each, label: capital(each) }))}
          />
          <TypedField
            label="Min. context"
            placeholder="128k"
            value={search.context}
            isValid={(text) => readContext(text) !== undefined}
            hint="Tokens, such as 128000 or 128k."
            onChange={(context) => type({ context })}
          />
          {PRICE_FIELDS.map(({ name, label }) => (
            <TypedField
              key={name}
              label={label}
              placeholder="$ per million"
              value={search[name]}
              isValid={(text) => readPrice(text) !== undefined}
              hint="Dollars per million tokens, such as 0.50."
              onChange={(price) => type({ [name]: price })}
            />
          ))}
          <ChoiceField
            label="Parameter"
            value={search.parameter}
            onChange={(parameter) => choose({ parameter })}
            choices={choices.parameters.map((each) => ({ value: each, label: each }))}
          />
          <ChoiceField
            label="Provider"
            value={search.provider}
            onChange={(provider) => choose({ provider })}
            choices={choices.providers.map(({ id, name }) => ({ value: id, label: name }))}
          />
          <ChoiceField
            label="Data center"
            value={search.country}
            onChange={(country) => choose({ country })}
            choices={choices.countries.map((each) => ({ value: each, label: countryName(each) }))}
          />
        </div>
        {hasFigures ? (
          <div className={styles.filterLine}>
            {SPEED_FILTERS.map((filter) => (
              <div key={filter.name} className={styles.chipFilter}>
                <Text component="span" size="sm" fw={500} aria-hidden>
                  {filter.label}
                </Text>
                <FilterChips
                  label={filter.label}
                  value={
                    readFigure(search[filter.name]) === undefined ? "" : (search[filter.name] ?? "")
                  }
                  onChange={(value) => choose({ [filter.name]: value })}
                  options={speedChips(filter, search[filter.name])}
                />
              </div>
            ))}
          </div>
        ) : null}
      </MoreFields>
      <div className={styles.filterLine}>
        <Checkbox
          label="No prompt logging"
          checked={search.logging === "none"}
          onChange={(event) =>
            choose({ logging: event.currentTarget.checked ? "none" : undefined })
          }
        />
        {hasFilters(search) ? (
          <Button size="compact-sm" variant="subtle" onClick={() => choose(CLEARED)}>
            Clear filters
          </Button>
        ) : null}
      </div>
    </div>
  );
}

const FOLDED = [
  "input",
  "context",
  "price_min",
  "price",
  "output_min",
  "output",
  "ttft",
  "speed",
  "parameter",
  "provider",
  "country",
] as const;

const PRICE_FIELDS = [
  { name: "price_min", label: "Min input price" },
  { name: "price", label: "Max input price" },
  { name: "output_min", label: "Min output price" },
  { name: "output", label: "Max output price" },
] as const;

interface SpeedFilter {
  readonly name: "ttft" | "speed";
  readonly label: string;
  readonly steps: readonly string[];
  readonly show: (figure: number) => string;
}

/** Milliseconds to the first token at most, tokens per second at least. */
const SPEED_FILTERS: readonly SpeedFilter[] = [
  {
    name: "ttft",
    label: "First token within",
    steps: ["500", "1000", "2000", "5000"],
    show: formatMs,
  },
  {
    name: "speed",
    label: "Tokens per second",
    steps: ["25", "50", "100", "200"],
    show: (speed) => `${formatCount(speed)}+`,
  },
];

/** The usual steps, and the one of the address where it is another. */
function speedChips(
  { steps, show }: SpeedFilter,
  chosen: string | undefined,
): readonly { readonly value: string; readonly label: string }[] {
  const isOther = readFigure(chosen) !== undefined && !steps.includes(chosen ?? "");
  const values = isOther ? [...steps, chosen ?? ""] : steps;
  return [
    { value: "", label: "Any" },
    ...values.map((value) => ({ value, label: show(Number(value)) })),
  ];
}

/** Every filter, off; how the list is shown stays as it is. */
export const CLEARED = {
  q: undefined,
  modality: undefined,
  input: undefined,
  context: undefined,
  price_min: undefined,
  price: undefined,
  output_min: undefined,
  output: undefined,
  ttft: undefined,
  speed: undefined,
  parameter: undefined,
  provider: undefined,
  country: undefined,
  logging: undefined,
} as const;

function hasFilters(search: ModelSearch): boolean {
  return Object.keys(CLEARED).some((name) => search[name as keyof typeof CLEARED] !== undefined);
}

function ChoiceField(props: {
  readonly label: string;
  readonly value: string | undefined;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly onChange: (value: string | undefined) => void;
}): ReactElement {
  return (
    <Select
      label={props.label}
      size="sm"
      placeholder="Any"
      searchable={props.choices.length > 8}
      clearable
      clearButtonProps={{ "aria-label": `Any: ${props.label.toLowerCase()}` }}
      nothingFoundMessage="No match"
      value={props.value ?? null}
      onChange={(value) => props.onChange(value ?? undefined)}
      data={[...props.choices]}
    />
  );
}

function TypedField(props: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string | undefined;
  readonly hint: string;
  readonly isValid: (text: string) => boolean;
  readonly onChange: (value: string | undefined) => void;
}): ReactElement {
  const [text, setText] = useSearchText(props.value, props.onChange, TYPING_MS);
  const isWrong = text !== "" && !props.isValid(text);
  return (
    <TextInput
      label={props.label}
      size="sm"
      placeholder={props.placeholder}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      error={isWrong ? props.hint : undefined}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

const TYPING_MS = 250;

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
