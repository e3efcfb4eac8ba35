import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useCallback, useRef, useEffect, useState } from "react";
import { useDebouncedCallback } from "@mantine/hooks";

import { readSearch, type Search } from "./search-text.ts";

export interface ChangeHow {
  /**
   * `step`: adds an entry to the browser's history, so that Back undoes the change. `typed`: like
   * `step`, but all typing in one field shares one entry. Absent: replaces the current entry.
   */
  readonly history?: "step" | "typed";
}

/**
 * The filters of a list, which are kept in the page's URL so that a view can be shared. Setting a
 * filter to undefined or an empty text removes it. Every change also removes `page`, unless the
 * change itself sets `page`.
 */
export function useFilters<T extends Record<string, string | undefined>>(): [
  T,
  (change: Partial<T>, how?: ChangeHow) => void,
] {
  const filters = useSearch({ strict: false }) as unknown as T;
  const navigate = useNavigate();
  const typed = useRef<Change | undefined>(undefined);
  const { history } = useRouter();
  const change = useCallback(
    (wanted: Partial<T>, how: ChangeHow = {}): void => {
      void navigate({
        to: ".",
        search: (before: Change) => withChange(before, wanted),
        replace:
          how.history === undefined ||
          (how.history === "typed" && isTypedOn(wanted, typed.current, history.location.search)),
        resetScroll: false,
      });
      typed.current = how.history === "typed" ? wanted : undefined;
    },
    [navigate, history],
  );
  return [filters, change];
}

type Change = Readonly<Record<string, string | undefined>>;

/**
 * True if `wanted` continues the last typed change, so that both share one history entry. The URL
 * must still show the last change: otherwise, the reader has pressed Back in between. (The rendered
 * page may be older than the URL.)
 */
function isTypedOn(wanted: Change, last: Change | undefined, address: string): boolean {
  const shown: Change = readSearch(address);
  if (last === undefined || Object.keys(wanted).join() !== Object.keys(last).join()) return false;
  return Object.entries(last).every(([name, value]) => (shown[name] ?? "") === (value ?? ""));
}

/** Applies a change of filters, and returns to the first page of rows. */
function withChange(before: Change, wanted: Change): Search {
  const after: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...before, page: undefined, ...wanted })) {
    if (value !== undefined && value !== "") after[name] = value;
  }
  return after;
}

/**
 * The text of a search field, which is also kept in the page's URL. The URL changes when typing has
 * paused for `pauseMs` milliseconds. Letters typed before the page has rendered the new URL are not
 * lost. Back, or a link to another view, sets the field.
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
