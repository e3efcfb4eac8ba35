import { Button, TextInput } from "@mantine/core";
import { X, ChevronDown } from "lucide-react";
import { useEffect, useRef, useState, useMemo } from "react";

import type { Key } from "../../api/contract.ts";
import {
  readValues,
  writeValues,
  type FilterName,
  type SearchProps,
  FILTER_VALUES_MAX,
  STATUSES,
  FILTER_NAMES,
} from "./usage-search.ts";
import styles from "./usage.module.css";
import { controlled } from "../../ui/fields.ts";
import kit from "../../ui/kit.module.css";
import { MenuButton } from "../../ui/menu-button.tsx";
import { useAnswer } from "../../api/use-answer.ts";
import { Note } from "../../ui/page.tsx";

export function FilterFields({ search, change }: SearchProps) {
  const tags = useChoices("tag");
  const chosen = FILTERS.flatMap(({ name }) =>
    readValues(search, name).map((value, _at, values) => ({ name, value, values })),
  );
  const hasTags = chosen.some(({ name }) => name === "tag");
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
            // Choices in one menu share a history entry, so that Back undoes all of them.
            onChange={(values) => change({ [name]: writeValues(values) }, { history: "typed" })}
          />
        ))}
        {chosen.map(({ name, value, values }) => (
          <ChosenValue
            key={`${name} ${value}`}
            name={name}
            value={value}
            onRemove={() => {
              change({ [name]: writeValues(values.filter((other) => other !== value)) });
            }}
          />
        ))}
        {chosen.length > 0 ? (
          <Button size="compact-sm" variant="subtle" onClick={() => change(NO_FILTERS)}>
            Clear filters
          </Button>
        ) : null}
      </div>
      {hasTags ? (
        <Note>A tag includes the keys that have it now, with all of their requests.</Note>
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
const NO_FILTERS = Object.fromEntries(FILTER_NAMES.map((name) => [name, undefined]));

function ChosenValue(props: {
  readonly name: FilterName;
  readonly value: string;
  readonly onRemove: () => void;
}) {
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

interface FilterMenuProps {
  readonly name: FilterName;
  readonly label: string;
  readonly values: readonly string[];
  readonly onChange: (values: readonly string[]) => void;
}

/** Maximum number of choices shown. The reader finds the others by typing. */
const SHOWN_MAX = 100;
const SEARCHED_FROM = 8;

function FilterMenu(props: FilterMenuProps) {
  const { label, values } = props;
  const count = values.length === 0 ? "" : ` · ${values.length}`;
  return (
    <MenuButton
      label={label}
      position="bottom-start"
      button={
        <Button
          size="compact-sm"
          variant={values.length === 0 ? "default" : "light"}
          className={styles.filterButton}
          rightSection={<ChevronDown size={14} aria-hidden />}
        >
          {`${label}${count}`}
        </Button>
      }
    >
      <Choices {...props} />
    </MenuButton>
  );
}

function Choices({ name, label, values, onChange }: FilterMenuProps) {
  const [typed, setTyped] = useState("");
  const choices = useChoices(name);
  const search = useRef<HTMLInputElement>(null);
  const isKnown = choices !== undefined;
  // The choices, and with them the search field, may load after the menu has opened.
  useEffect(() => {
    if (isKnown) search.current?.focus({ preventScroll: true });
  }, [isKnown]);
  const all = withChosen(choices ?? [], values);
  const wanted = typed.trim().toLowerCase();
  const found = all.filter((each) => each.label.toLowerCase().includes(wanted));
  const isFull = values.length >= FILTER_VALUES_MAX;
  return (
    <div className={styles.menu}>
      {all.length < SEARCHED_FROM ? null : (
        <TextInput
          ref={search}
          aria-label={`Find in ${label.toLowerCase()}`}
          placeholder="Search"
          size="xs"
          data-autofocus
          {...controlled(typed, setTyped)}
        />
      )}
      <fieldset className={styles.choices}>
        <legend className={kit.hidden}>{label}</legend>
        {found.slice(0, SHOWN_MAX).map((each) => {
          const isChosen = values.includes(each.value);
          return (
            <label key={each.value}>
              <input
                type="checkbox"
                checked={isChosen}
                disabled={isFull && !isChosen}
                onChange={() => {
                  const others = values.filter((value) => value !== each.value);
                  onChange(isChosen ? others : [...values, each.value]);
                }}
              />
              <span>{each.label}</span>
            </label>
          );
        })}
      </fieldset>
      <Note size="xs" role="status">
        {isKnown ? describeMatches(found.length, isFull) : "Loading"}
      </Note>
    </div>
  );
}

function describeMatches(found: number, isFull: boolean): string {
  if (isFull) return `${FILTER_VALUES_MAX} values at most.`;
  if (found === 0) return "No match.";
  return found > SHOWN_MAX ? `${SHOWN_MAX} of ${found} are shown. Type to find the others.` : "";
}

/** Adds chosen values that are not among the choices, such as a model that is no longer listed. */
function withChosen(choices: readonly Choice[], values: readonly string[]): readonly Choice[] {
  const known = new Set(choices.map(({ value }) => value));
  const gone = values.filter((value) => !known.has(value));
  return [...gone.map((value) => ({ value, label: value })), ...choices];
}

interface Choice {
  readonly value: string;
  readonly label: string;
}

/**
 * The values that a filter can have; undefined while they load. The catalog is long, so it is
 * loaded with the menu that needs it, not with the page.
 */
function useChoices(name: FilterName): readonly Choice[] | undefined {
  const isOfCatalog = name === "model" || name === "provider";
  const isOfKeys = name === "key" || name === "tag";
  const catalog = useAnswer("GET /api/catalog.json", undefined, { enabled: isOfCatalog });
  const list = useAnswer("GET /api/console/keys", undefined, { enabled: isOfKeys });
  const models = catalog.data?.models;
  const keys = list.data?.data;
  return useMemo(() => {
    switch (name) {
      case "model":
        return models?.map(({ id }) => ({ value: id, label: id }));
      case "provider":
        return models && listProviders(models.flatMap(({ providers }) => providers));
      case "key":
        return keys && [...keys.map(keyChoice), ...OWN_KEYS];
      case "tag":
        return keys && listTags(keys);
      case "status":
      default:
        return STATUSES;
    }
  }, [name, models, keys]);
}

function listProviders(
  listings: readonly { readonly provider: string; readonly name: string }[],
): readonly Choice[] {
  const names = new Map(listings.map(({ provider, name }) => [provider, name]));
  return [...names].map(([value, label]) => ({ value, label }));
}

function keyChoice({ key_id, name, label }: Key): Choice {
  return { value: key_id, label: `${name} (${label}…)` };
}

function listTags(keys: readonly Key[]): readonly Choice[] {
  const tags = new Set(keys.flatMap((key) => key.tags));
  return [...tags].sort().map((value) => ({ value, label: value }));
}

/** Keys of the gateway itself, which no list of keys has. The customer pays for their requests. */
const OWN_KEYS = [
  { value: "playground", label: "Playground" },
  { value: "optimize", label: "Optimize searches" },
] as const;
