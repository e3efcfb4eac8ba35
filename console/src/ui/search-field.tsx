import { CloseButton, Kbd, TextInput } from "@mantine/core";
import { Search } from "lucide-react";
import { useReducer } from "react";

import kit from "./kit.module.css";

export interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A search over a list. The key `/` moves the focus to it. */
export function SearchField({ label, value, onChange }: SearchFieldProps) {
  // Renders the field again at each input. The caller may shorten the typed text to the current
  // `value`, and an unchanged `value` alone would cause no rendering.
  const [, rerender] = useReducer((times: number) => times + 1, 0);
  return (
    <TextInput
      type="text"
      role="searchbox"
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => {
        onChange(event.currentTarget.value);
        rerender();
      }}
      data-search-field
      spellCheck={false}
      leftSection={<Search size={16} aria-hidden />}
      rightSection={
        value === "" ? (
          <Kbd size="xs" aria-hidden className={kit.searchHint}>
            /
          </Kbd>
        ) : (
          <CloseButton size="sm" aria-label="Clear search" onClick={() => onChange("")} />
        )
      }
      className={kit.search}
    />
  );
}
