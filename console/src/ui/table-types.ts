import type { ReactElement, ReactNode } from "react";

import type { Sort, SortValue } from "./sort-rows.ts";
import type { ShownFrom } from "./table-state.ts";
import type { Kept } from "./use-table-state.ts";

export interface Column<T> {
  readonly id: string;
  readonly label: string;
  readonly align?: "right";
  readonly render: (row: T) => ReactNode;
  /** The value by which this column is sorted. Without it, the reader cannot sort by the column. */
  readonly sortValue?: (row: T) => SortValue;
  /** Cell in a row of totals below the other rows. If no column has one, there is no such row. */
  readonly total?: ReactNode;
  /** When the column is shown. Default: `always`. With `kept`, the reader can choose otherwise. */
  readonly shownFrom?: ShownFrom;
  /** Percentage of the width left by columns without a percentage. Longer text is cut. */
  readonly sharePercent?: 10 | 15 | 20 | 30 | 40;
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
