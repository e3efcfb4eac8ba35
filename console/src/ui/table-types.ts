import type { ReactElement, ReactNode } from "react";

import type { Sort, SortValue } from "./sort-rows.ts";
import type { ShownFrom } from "./table-state.ts";
import type { Kept } from "./use-table-state.ts";

export interface Column<T> {
  readonly id: string;
  readonly label: string;
  readonly align?: "right";
  readonly render: (row: T) => ReactNode;
  /** If present, the reader may sort by this column. */
  readonly sortValue?: (row: T) => SortValue;
  /** The column's cell in a line of totals below the rows; absent in all columns: no such line. */
  readonly total?: ReactNode;
  /** Default: `always`. With `kept`, the reader may choose differently. */
  readonly shownFrom?: ShownFrom;
  /** The column's percentage of the width that columns without it leave; longer text is cut. */
  readonly sharePercent?: 10 | 15 | 20 | 30 | 40;
  /**
   * The place in a row's two lines on a phone. First line: `lead` at the start, `mark` next to it,
   * `end` at the end. Second line: `line` with the column's label, `plain` without. If any column
   * sets it, columns without it are hidden on phones.
   */
  readonly phone?: "lead" | "mark" | "end" | "line" | "plain";
}

export interface DataTableProps<T> {
  /** The table's accessible name. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Shown instead of the table when there are no rows: a sentence, or an `Empty` with more. */
  readonly empty?: ReactNode;
  /** The initial sort order; absent for the order of `rows`. */
  readonly sort?: Sort;
  /** If present, the page itself sorts `rows` by `sort`. */
  readonly onSort?: (sort: Sort) => void;
  /** If present, the table has a count, pages and a choice of columns, and remembers choices. */
  readonly kept?: Kept;
}

/** The props of the component that draws the rows. */
export interface BodyProps<T> extends Pick<
  DataTableProps<T>,
  "caption" | "columns" | "rows" | "rowKey"
> {
  readonly head: ReactElement;
}
