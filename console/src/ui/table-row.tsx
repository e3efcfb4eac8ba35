import { memo, type ReactElement } from "react";

import kit from "./kit.module.css";
import type { Column } from "./table-types.ts";
import styles from "./table.module.css";

interface RowProps<T> {
  readonly columns: readonly Column<T>[];
  readonly row: T;
  /** Its place among all rows, the head included, where not all rows are in the page. */
  readonly index?: number;
}

/** One row of a data table; drawn again only when the row, or the table's columns, are others. */
export const TableRow = memo(RowOfCells) as <T>(props: RowProps<T>) => ReactElement;

function RowOfCells<T>(props: RowProps<T>): ReactElement {
  return (
    <tr role="row" aria-rowindex={props.index}>
      {props.columns.map((column) => (
        <td
          key={column.id}
          role="cell"
          data-label={column.label}
          data-phone={column.phone}
          className={cellClass(column)}
        >
          {column.render(props.row)}
        </td>
      ))}
    </tr>
  );
}

/** How a column's cells and its header are laid out. */
export function cellClass<T>({ align, sharePercent }: Column<T>): string | undefined {
  const names = [
    ...(align === "right" ? [kit.right] : []),
    ...(sharePercent === undefined ? [] : [styles.share, styles[`share${sharePercent}`]]),
  ];
  return names.length === 0 ? undefined : names.join(" ");
}
