import type { ReactElement } from "react";

import type { Column } from "./data-table.tsx";
import kit from "./kit.module.css";

/** One row of a data table. */
export function TableRow<T>(props: {
  readonly columns: readonly Column<T>[];
  readonly row: T;
  /** Its place among all rows, the head included, where not all rows are in the page. */
  readonly index?: number;
}): ReactElement {
  return (
    <tr aria-rowindex={props.index}>
      {props.columns.map((column) => (
        <td key={column.id} className={column.align === "right" ? kit.right : undefined}>
          {column.render(props.row)}
        </td>
      ))}
    </tr>
  );
}
