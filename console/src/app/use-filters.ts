import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

/**
 * What a list is filtered by, kept in the address, so that a view can be shared. A change replaces
 * the address (no step in the history), and undefined or an empty text takes a filter out.
 */
export function useFilters<T extends Record<string, string | undefined>>(): [
  T,
  (change: Partial<T>) => void,
] {
  const filters = useSearch({ strict: false }) as unknown as T;
  const navigate = useNavigate();
  const change = useCallback(
    (wanted: Partial<T>): void => {
      void navigate({
        to: ".",
        search: (before: Search) => withChange(before, wanted),
        replace: true,
        resetScroll: false,
      });
    },
    [navigate],
  );
  return [filters, change];
}

type Search = Readonly<Record<string, string | undefined>>;

function withChange(before: Search, wanted: Search): Search {
  const after: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...before, ...wanted })) {
    if (value !== undefined && value !== "") after[name] = value;
  }
  return after;
}
