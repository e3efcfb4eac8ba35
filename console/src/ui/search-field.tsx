import { CloseButton, Kbd, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { Search } from "lucide-react";
import { useEffect, useReducer, useRef, useState } from "react";

import kit from "./kit.module.css";

export interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A search over a list. The key `/` moves the focus to the first search field of the page. */
export function SearchField({ label, value, onChange }: SearchFieldProps) {
  // Renders at each input: if the caller cuts the typed text back to `value`, the field must too.
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

/**
 * The text of a search field, which is also kept in the page's URL. The URL changes when typing has
 * paused for `pauseMs` milliseconds. Letters typed before the page has rendered the new URL are not
 * lost. After Back or a link to another view, the field shows the text of the URL.
 */
export function useSearchText(
  inAddress: string | undefined,
  write: (text: string) => void,
  pauseMs = 0,
): [string, (text: string) => void] {
  const [text, setText] = useState(inAddress ?? "");
  const address = inAddress ?? "";
  /** Texts that were written to the URL but not rendered yet, oldest first. */
  const written = useRef<string[]>([]);
  const writeNow = (typed: string): void => {
    if (typed !== (written.current.at(-1) ?? address)) written.current.push(typed);
    write(typed);
  };
  const writeSoon = useDebouncedCallback(writeNow, pauseMs);
  useEffect(() => {
    const own = written.current.indexOf(address);
    written.current.splice(0, own === -1 ? Infinity : own + 1);
    if (own !== -1) return;
    writeSoon.cancel();
    setText(address);
  }, [address, writeSoon]);
  return [
    text,
    (typed) => {
      setText(typed);
      if (pauseMs === 0) writeNow(typed);
      else writeSoon(typed);
    },
  ];
}
