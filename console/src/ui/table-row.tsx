import { memo, type ReactElement } from "react";

import kit from "./kit.module.css";
import type { Column } from "./table-types.ts";
import styles from "./table.module.css";

interface RowProps<T> {
  readonly columns: readonly Column<T>[];
  readonly row: T;
  /** Number of the row; the header is 1. Set only if some rows are not drawn. */
  readonly index?: number;
}

/** One row of a data table. It is redrawn only when the row or the columns change. */
export const TableRow = memo(RowOfCells) as <T>(props: RowProps<T>) => ReactElement;

function RowOfCells<T>(props: RowProps<T>): ReactElement {
  return (
    <tr role="row" aria-rowindex={props.index}>
      {props.columns.map((column, at) => (
        <td key={column.id} {...cellProps(props.columns, at)}>
          {column.render(props.row)}
        </td>
      ))}
    </tr>
  );
}

/** Returns the layout of a cell. If no column sets `phone`, the first column leads on a phone. */
export function cellProps<T>(columns: readonly Column<T>[], at: number) {
  const column = columns[at] as Column<T>;
  const usual = at === 0 ? "lead" : ENDS.has(column.id) ? "end" : "line";
  return {
    role: "cell",
    "data-label": column.label,
    "data-phone": hasPhonePlaces(columns) ? column.phone : usual,
    className: cellClass(column),
  };
}

const ENDS = new Set(["actions", "amount"]);

export function hasPhonePlaces<T>(columns: readonly Column<T>[]): boolean {
  return columns.some(({ phone }) => phone !== undefined);
}

export function cellClass<T>({ align, sharePercent }: Column<T>): string | undefined {
  const names = [
    ...(align === "right" ? [kit.right] : []),
    ...(sharePercent === undefined ? [] : [styles.share, styles[`share${sharePercent}`]]),
  ];
  return names.length === 0 ? undefined : names.join(" ");
}
