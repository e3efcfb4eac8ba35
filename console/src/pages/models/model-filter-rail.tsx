import { Button, Checkbox, Select, Text } from "@mantine/core";
import { useId } from "react";

import type { ChangeHow } from "../../app/use-filters.ts";
import { checkable } from "../../ui/fields.ts";
import { countryName, formatCount, formatMs } from "../../ui/format.ts";
import {
  readContext,
  readFigure,
  readPrice,
  type ModelChoices,
  type ModelSearch,
  RAIL_FILTERS,
} from "./model-filters.ts";
import { shortTokens } from "./model-labels.ts";
import styles from "./models.module.css";
import { showPrice } from "./price-labels.ts";

type Wanted = Partial<Record<keyof ModelSearch, string | undefined>>;

interface ModelFilterRailProps {
  readonly id: string;
  readonly search: ModelSearch;
  readonly change: (change: Wanted, how: ChangeHow) => void;
  readonly choices: ModelChoices;
  /** If true, the reader can also filter by speed. */
  readonly hasFigures: boolean;
  readonly found: number;
  readonly onClose: () => void;
}

export function ModelFilterRail(props: ModelFilterRailProps) {
  const { search, change, choices, hasFigures, found, onClose } = props;
  const choose = (wanted: Wanted): void => change(wanted, { history: "step" });
  return (
    <aside
      id={props.id}
      className={styles.rail}
      aria-label="Filters"
      onKeyDown={(event) => (event.key === "Escape" ? onClose() : undefined)}
    >
      {SLIDERS.filter(({ isServed }) => hasFigures || !isServed).map((slider) => (
        <StepSlider
          key={slider.name}
          slider={slider}
          value={search[slider.name]}
          onChange={(value) => change({ [slider.name]: value }, { history: "typed" })}
        />
      ))}
      <Checkbox
        label="No prompt logging"
        {...checkable(search.logging === "none", (isOn) =>
          choose({ logging: isOn ? "none" : undefined }),
        )}
      />
      <ChoiceField
        label="Accepts"
        value={search.input}
        onChange={(input) => choose({ input })}
        choices={choices.inputs.map((each) => ({ value: each, label: capital(each) }))}
      />
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
      <Button className={styles.sheetEnd} onClick={onClose}>
        Show {formatCount(found)} {found === 1 ? "model" : "models"}
      </Button>
    </aside>
  );
}

interface Slider {
  readonly name: "context" | "price" | "output" | "ttft" | "speed";
  readonly label: string;
  /** Values from left to right. The position to the left of the first value means "any". */
  readonly steps: readonly string[];
  /** Undefined if the URL has no valid value. */
  readonly read: (text: string | undefined) => number | undefined;
  readonly show: (text: string) => string;
  readonly isServed?: true;
}

const PRICES = ["25", "15", "10", "5", "3", "2", "1", "0.50", "0.25", "0.10"];
const priceOf = (text: string | undefined): number | undefined => {
  const price = readPrice(text);
  return price === undefined ? undefined : Number(price);
};
const upTo = (price: string): string => `up to ${showPrice(price)} per million`;

const SLIDERS: readonly Slider[] = [
  {
    name: "context",
    label: "Context",
    steps: ["8k", "32k", "64k", "128k", "200k", "256k", "400k", "1M"],
    read: readContext,
    show: (text) => `${shortTokens(readContext(text) ?? null)} tokens or more`,
  },
  { name: "price", label: "Input price", steps: PRICES, read: priceOf, show: upTo },
  { name: "output", label: "Output price", steps: PRICES, read: priceOf, show: upTo },
  {
    name: "speed",
    label: "Speed",
    steps: ["25", "50", "100", "150", "200"],
    read: readFigure,
    show: (speed) => `${speed} tokens per second or more`,
    isServed: true,
  },
  {
    name: "ttft",
    label: "First token",
    steps: ["5000", "2000", "1000", "500", "250"],
    read: readFigure,
    show: (ms) => `within ${formatMs(Number(ms))}`,
    isServed: true,
  },
];

/** A slider over the steps. A valid value from the URL is kept, even if it is not a step. */
function StepSlider(props: {
  readonly slider: Slider;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}) {
  const { slider, onChange } = props;
  const { label, steps, read, show } = slider;
  const id = useId();
  const chosen = read(props.value) === undefined ? undefined : props.value;
  const text = chosen === undefined ? "any" : show(chosen);
  return (
    <div>
      <div className={styles.sliderLine}>
        <Text component="label" htmlFor={id} size="sm" fw={500}>
          {label}
        </Text>
        <Text component="output" htmlFor={id} size="xs" c="dimmed">
          {text}
        </Text>
      </div>
      <input
        id={id}
        type="range"
        className={styles.slider}
        min={0}
        max={steps.length}
        step={1}
        value={chosen === undefined ? 0 : findPlace(slider, chosen) + 1}
        aria-valuetext={text}
        onChange={(event) => {
          const place = Number(event.currentTarget.value);
          onChange(place === 0 ? undefined : steps[place - 1]);
        }}
      />
    </div>
  );
}

function findPlace({ steps, read }: Slider, text: string): number {
  const far = steps.map((step) => Math.abs((read(step) ?? 0) - (read(text) ?? 0)));
  return far.indexOf(Math.min(...far));
}

export const CLEARED: Wanted = Object.fromEntries(
  ["q", "modality", ...RAIL_FILTERS].map((name) => [name, undefined]),
);

export function countFilters(search: ModelSearch): number {
  return RAIL_FILTERS.filter((name) => search[name] !== undefined).length;
}

function ChoiceField(props: {
  readonly label: string;
  readonly value: string | undefined;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly onChange: (value: string | undefined) => void;
}) {
  return (
    <Select
      label={props.label}
      placeholder="Any"
      size="sm"
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

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
