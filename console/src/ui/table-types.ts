import type { ReactElement, ReactNode } from "react";

import type { Sort, SortValue } from "./sort-rows.ts";
import type { ShownFrom } from "./table-state.ts";
import type { Kept } from "./use-table-state.ts";

export interface Column<T> {
  readonly id: string;
  readonly label: string;
  readonly align?: "right";
  readonly render: (row: T) => ReactNode;
  /** Present: the reader may sort by this column. */
  readonly sortValue?: (row: T) => SortValue;
  /** Present in any column: the totals stand in a line below the rows. */
  readonly total?: ReactNode;
  /** `always` unless said otherwise; the reader may choose differently where the table is `kept`. */
  readonly shownFrom?: ShownFrom;
  /** Takes this many percent of what the others leave, and cuts its text where that is too little. */
  readonly sharePercent?: 10 | 15 | 20 | 30 | 40;
  /**
   * The place in the two lines of a phone: at the start, as a mark beside that, or at the end of the
   * first; or in the second, with the column's name or plainly without. Present in any column: cells
   * without it are not shown there.
   */
  readonly phone?: "lead" | "mark" | "end" | "line" | "plain";
}

export interface DataTableProps<T> {
  /** The table's subject, for people who do not see the heading above it. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Shown instead of the table when there are no rows. */
  readonly empty?: ReactNode;
  /** The initial sort order; absent for the order of `rows`. */
  readonly sort?: Sort;
  /** Present: the page keeps the order, and `rows` come in the order that `sort` says. */
  readonly onSort?: (sort: Sort) => void;
  /** Present: a count, pages, a choice of columns; what is chosen is remembered. */
  readonly kept?: Kept;
}

/** The props of the component that draws the rows. */
export interface BodyProps<T> extends Pick<
  DataTableProps<T>,
  "caption" | "columns" | "rows" | "rowKey"
> {
  readonly head: ReactElement;
}
