import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useCallback, useRef } from "react";

import { changeSearch, readSearch, type Change } from "./search-text.ts";

export interface ChangeHow {
  /**
   * `step`: adds an entry to the browser's history, so that Back undoes the change. `typed`: like
   * `step`, but all typing in one field shares one entry. Absent: replaces the current entry.
   */
  readonly history?: "step" | "typed";
}

/**
 * The filters of a list, which are kept in the page's URL so that a view can be shared. Setting a
 * filter to undefined or an empty text removes it.
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
        search: (before: Change) => changeSearch(before, wanted),
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

/**
 * True if `wanted` continues the last typed change, so that both share one history entry. If
 * `address` no longer shows the last change, the reader has pressed Back in between. `address` is
 * the URL's query, because the rendered page may be older than the URL.
 */
function isTypedOn(wanted: Change, last: Change | undefined, address: string): boolean {
  const shown: Change = readSearch(address);
  if (last === undefined || Object.keys(wanted).join() !== Object.keys(last).join()) return false;
  return Object.entries(last).every(([name, value]) => (shown[name] ?? "") === (value ?? ""));
}
