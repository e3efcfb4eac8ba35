import { type ReactElement, type ReactNode, useCallback, useMemo, useState } from "react";
import { useMediaQuery } from "@mantine/hooks";

import {
  type Sort,
  type SortValue,
  type ShownFrom,
  isShown,
  PAGE_CARDS,
  PAGE_ROWS,
  readChoice,
  writeChoice,
  type ColumnChoice,
  type TableSearch,
} from "./table-state.ts";
import { useFilters } from "../app/use-filters.ts";

export interface Column<T> {
  readonly id: string;
  readonly label: string;
  readonly align?: "right";
  readonly render: (row: T) => ReactNode;
  /** Without it, the reader cannot sort by the column. */
  readonly sortValue?: (row: T) => SortValue;
  /** Cell in a row of totals below the other rows. If no column has one, there is no such row. */
  readonly total?: ReactNode;
  /** When the column is shown. Default: `always`. With `kept`, the reader can choose otherwise. */
  readonly shownFrom?: ShownFrom;
  /** Width in percent of the table, or less if other columns need more. Longer text is cut. */
  readonly sharePercent?: 15 | 20 | 30 | 40;
  /**
   * Position of the column in the two lines of a row on a phone. First line: `lead` at the start,
   * `mark` next to it, `end` at the end. Second line: `line` with the column's label, `plain`
   * without it. If any column sets this, the columns that do not are hidden on phones.
   */
  readonly phone?: "lead" | "mark" | "end" | "line" | "plain";
}

export interface DataTableProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Replaces a table without rows: a sentence, or an `Empty` with an action or an example. */
  readonly empty?: ReactNode;
  /** Sort order at first. Default: the order of `rows`. */
  readonly sort?: Sort;
  /** If present, the page must sort `rows` by `sort` itself, and the table does not. */
  readonly onSort?: (sort: Sort) => void;
  /** If present, the table has a row count, pages and chosen columns, and remembers choices. */
  readonly kept?: Kept;
}

export interface BodyProps<T> extends Pick<
  DataTableProps<T>,
  "caption" | "columns" | "rows" | "rowKey"
> {
  readonly head: ReactElement;
}

/** Makes a table remember its columns in this browser, and its sort order and page in the URL. */
export interface Kept {
  readonly id: string;
  /** Words for one row and for several rows, such as `["key", "keys"]`. */
  readonly rows: readonly [one: string, many: string];
  /** Prefix of the table's query parameters in the URL. The second table of a page needs one. */
  readonly prefix?: string;
  /** With `server`, the server cut `rows` to one page, and the caller shows the page controls. */
  readonly pages?: "server";
}

/** Width of the window from which `wide` columns are shown. */
const WIDE = "(min-width: 1600px)";

/** The default number of rows on a page. */
export function useUsualRows(): number {
  const isPhone = useMediaQuery(PHONE, undefined, { getInitialValueInEffect: false }) ?? false;
  return isPhone ? PAGE_CARDS : PAGE_ROWS;
}
/** In windows this narrow, rows are drawn as cards. Must equal the width in `table.module.css`. */
const PHONE = "(max-width: 36em)";

/** Reads and changes one table's query parameters in the page's URL. Back undoes each change. */
export function useTableSearch(prefix: string) {
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

export function useColumns<C extends { readonly id: string; readonly shownFrom?: ShownFrom }>(
  table: string | undefined,
  columns: readonly C[],
) {
  const isWide = useMediaQuery(WIDE, undefined, { getInitialValueInEffect: false }) ?? false;
  const [choice, setChoice] = useState<ColumnChoice>(() =>
    table === undefined ? {} : readChoice(table),
  );
  const keep = (next: ColumnChoice): void => {
    setChoice(next);
    if (table !== undefined) writeChoice(table, next);
  };
  // Memoized, so that rows are not redrawn while the columns stay the same.
  const shown = useMemo(
    () => columns.filter((column) => isShown(column, { choice, isWide })),
    [columns, choice, isWide],
  );
  return {
    shown,
    choose: (id: string, isWanted: boolean): void => keep({ ...choice, [id]: isWanted }),
    reset: (): void => keep({}),
  };
}
