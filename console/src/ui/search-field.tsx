import { CloseButton, Kbd, TextInput } from "@mantine/core";
import { Search } from "lucide-react";
import { useReducer, type ReactElement } from "react";

import kit from "./kit.module.css";

export interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A search over a list; `/` brings the reader here. */
export function SearchField({ label, value, onChange }: SearchFieldProps): ReactElement {
  // The caller may keep less than what was typed; the field then shows that, also when it stays the same.
  const [, showKept] = useReducer((times: number) => times + 1, 0);
  return (
    <TextInput
      type="text"
      role="searchbox"
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => {
        onChange(event.currentTarget.value);
        showKept();
      }}
      data-search-field
      autoComplete="off"
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
