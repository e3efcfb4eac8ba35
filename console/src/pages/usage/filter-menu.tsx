import { Button, Text, TextInput } from "@mantine/core";
import { ChevronDown } from "lucide-react";
import { useEffect, useRef, useState, type ReactElement } from "react";

import { controlled } from "../../ui/controlled.ts";
import kit from "../../ui/kit.module.css";
import { MenuButton } from "../../ui/menu-button.tsx";
import { FILTER_VALUES_MAX, type FilterName } from "./usage-search.ts";
import { useChoices, type Choice } from "./use-choices.ts";
import styles from "./usage.module.css";

export interface FilterMenuProps {
  readonly name: FilterName;
  readonly label: string;
  readonly values: readonly string[];
  readonly onChange: (values: readonly string[]) => void;
}

/** Maximum number of choices that are listed. The reader finds all others by typing. */
const SHOWN_MAX = 100;
const SEARCHED_FROM = 8;

export function FilterMenu(props: FilterMenuProps): ReactElement {
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

function Choices({ name, label, values, onChange }: FilterMenuProps): ReactElement {
  const [typed, setTyped] = useState("");
  const choices = useChoices(name);
  const search = useRef<HTMLInputElement>(null);
  const isKnown = choices !== undefined;
  // The choices may load after the menu has opened. The search field appears with them, and gets
  // the focus.
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
      <Text size="xs" c="dimmed" role="status">
        {isKnown ? describeMatches({ found: found.length, isFull }) : "Loading"}
      </Text>
    </div>
  );
}

function describeMatches({
  found,
  isFull,
}: {
  readonly found: number;
  readonly isFull: boolean;
}): string {
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
