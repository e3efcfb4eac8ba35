import type { ReactElement, ReactNode } from "react";

import type { Sort, SortValue } from "./sort-rows.ts";
import type { ShownFrom } from "./table-state.ts";
import type { Kept } from "./use-table-state.ts";

export interface Column<T> {
  readonly id: string;
  readonly label: string;
  readonly align?: "right";
  readonly render: (row: T) => ReactNode;
  /** If present, the reader can sort by this column. */
  readonly sortValue?: (row: T) => SortValue;
  /**
   * The column's cell in a row of totals below the other rows. If no column has one, there is no
   * such row.
   */
  readonly total?: ReactNode;
  /** Default: `always`. With `kept`, the reader may choose differently. */
  readonly shownFrom?: ShownFrom;
  /**
   * The column's percentage of the width that columns without a percentage leave. Longer text is
   * cut.
   */
  readonly sharePercent?: 10 | 15 | 20 | 30 | 40;
  /**
   * The position in a row's two lines on a phone. First line: `lead` at the start, `mark` next to
   * it, `end` at the end. Second line: `line` with the column's label, `plain` without. If any
   * column sets this, columns that do not are hidden on phones.
   */
  readonly phone?: "lead" | "mark" | "end" | "line" | "plain";
}

export interface DataTableProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Shown instead of the table when there are no rows: a sentence, or an `Empty` with more. */
  readonly empty?: ReactNode;
  /** The initial sort order. Default: the order of `rows`. */
  readonly sort?: Sort;
  /** If present, the page sorts `rows` by `sort`, and the table does not. */
  readonly onSort?: (sort: Sort) => void;
  /**
   * If present, the table has a row count, pages and a choice of columns, and remembers choices.
   */
  readonly kept?: Kept;
}

export interface BodyProps<T> extends Pick<
  DataTableProps<T>,
  "caption" | "columns" | "rows" | "rowKey"
> {
  readonly head: ReactElement;
}
