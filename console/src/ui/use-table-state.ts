import { useMediaQuery } from "@mantine/hooks";
import { useCallback, useMemo, useState } from "react";

import { useFilters } from "../app/use-filters.ts";
import {
  isShown,
  PAGE_CARDS,
  PAGE_ROWS,
  readChoice,
  writeChoice,
  type ColumnChoice,
  type ShownFrom,
  type TableSearch,
} from "./table-state.ts";

/** The state that a table remembers: its columns in this browser, its order and its page in the address. */
export interface Kept {
  /** Its name, for the columns that were chosen: `"keys"`. */
  readonly id: string;
  /** The names of one row and of many: `["key", "keys"]`. */
  readonly rows: readonly [one: string, many: string];
  /** The prefix of a page's second table, so that the two do not share names in the address. */
  readonly prefix?: string;
  /** `server`: the rows are one page of many already, with controls of their own. */
  readonly pages?: "server";
}

/** From this width on, the columns of wide windows are shown. */
const WIDE = "(min-width: 1600px)";

/** The default number of rows on a page; smaller if each row is a card. */
export function useUsualRows(): number {
  return useIsPhone() ? PAGE_CARDS : PAGE_ROWS;
}

/** Whether rows are cards: the same width as in the styles of tables. */
export function useIsPhone(): boolean {
  return useMediaQuery(PHONE, undefined, { getInitialValueInEffect: false }) ?? false;
}
const PHONE = "(max-width: 36em)";

/** The parts of the address that belong to one table; each change is one step of Back. */
export function useTableSearch(prefix: string): {
  readonly sort: string | undefined;
  readonly page: string | undefined;
  readonly size: string | undefined;
  readonly change: (wanted: TableSearch) => void;
} {
  const [search, setSearch] = useFilters<TableSearch>();
  const change = useCallback(
    (wanted: TableSearch): void => {
      const named = Object.entries(wanted).map(([name, value]) => [`${prefix}${name}`, value]);
      setSearch(Object.fromEntries(named) as TableSearch, { history: "step" });
    },
    [prefix, setSearch],
  );
  return {
    sort: search[`${prefix}sort`],
    page: search[`${prefix}page`],
    size: search[`${prefix}rows`],
    change,
  };
}

/** Which columns are shown, by width and by choice. */
export function useColumns<C extends { readonly id: string; readonly shownFrom?: ShownFrom }>(
  table: string | undefined,
  columns: readonly C[],
): {
  readonly shown: readonly C[];
  readonly choose: (id: string, isWanted: boolean) => void;
  readonly reset: () => void;
} {
  const isWide = useMediaQuery(WIDE, undefined, { getInitialValueInEffect: false }) ?? false;
  const [choice, setChoice] = useState<ColumnChoice>(() =>
    table === undefined ? {} : readChoice(table),
  );
  const keep = (next: ColumnChoice): void => {
    setChoice(next);
    if (table !== undefined) writeChoice(table, next);
  };
  // The same array as before, as long as it has the same columns: rows are not drawn again for it.
  const shown = useMemo(
    () => columns.filter((column) => isShown(column, { choice, isWide })),
    [columns, choice, isWide],
  );
  return {
    shown,
    choose: (id, isWanted) => keep({ ...choice, [id]: isWanted }),
    reset: () => keep({}),
  };
}
