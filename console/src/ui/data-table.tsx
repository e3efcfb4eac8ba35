import { UnstyledButton } from "@mantine/core";
import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react";
import { lazy, Suspense, useMemo, useState, type ReactElement, type ReactNode } from "react";

import kit from "./kit.module.css";
import { Loading } from "./loading.tsx";
import { sortRows, type Sort } from "./sort-rows.ts";
import { TableRow } from "./table-row.tsx";

export interface Column<T> {
  readonly id: string;
  readonly label: string;
  readonly align?: "right";
  readonly render: (row: T) => ReactNode;
  /** Present: the reader may sort by this column. */
  readonly sortValue?: (row: T) => string | number | bigint;
}

export interface DataTableProps<T> {
  /** What the table is, for people who do not see the heading above it. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Shown instead of the table when there are no rows. */
  readonly empty?: ReactNode;
  /** How it is sorted at first; absent: in the order of `rows`. */
  readonly sort?: Sort;
  /** Present: the page keeps the order, and `rows` come in the order that `sort` says. */
  readonly onSort?: (sort: Sort) => void;
}

/** Above this many rows only those in sight are in the page. */
const ROWS_WHOLE_MAX = 200;
const ManyRows = lazy(() => import("./many-rows.tsx")) as <T>(props: BodyProps<T>) => ReactElement;

/** A real table: sortable by its headers, scrolling sideways inside itself where it is narrow. */
export function DataTable<T>(props: DataTableProps<T>): ReactElement {
  const { columns, rows, empty, onSort } = props;
  const [ownSort, setOwnSort] = useState(props.sort);
  const sort = onSort === undefined ? ownSort : props.sort;
  const sorted = useMemo(() => {
    if (onSort !== undefined) return rows;
    const sortValue = columns.find(({ id }) => id === sort?.id)?.sortValue;
    return sort === undefined || sortValue === undefined ? rows : sortRows(rows, sortValue, sort);
  }, [columns, rows, sort, onSort]);
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const head = <Head columns={columns} sort={sort} onSort={onSort ?? setOwnSort} />;
  if (sorted.length <= ROWS_WHOLE_MAX) return <AllRows {...props} rows={sorted} head={head} />;
  return (
    <Suspense fallback={<Loading rows={12} />}>
      <ManyRows {...props} rows={sorted} head={head} />
    </Suspense>
  );
}

export interface BodyProps<T> extends DataTableProps<T> {
  readonly head: ReactElement;
}

function AllRows<T>({ caption, columns, rows, rowKey, head }: BodyProps<T>): ReactElement {
  return (
    <div className={kit.tableScroll} tabIndex={0} role="group" aria-label={caption}>
      <table className={kit.table}>
        <caption className={kit.hidden}>{caption}</caption>
        {head}
        <tbody>
          {rows.map((row) => (
            <TableRow key={rowKey(row)} columns={columns} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head<T>(props: {
  readonly columns: readonly Column<T>[];
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort) => void;
}): ReactElement {
  return (
    <thead>
      <tr>
        {props.columns.map((column) => {
          const direction = props.sort?.id === column.id ? props.sort.direction : undefined;
          const turned = direction === "ascending" ? "descending" : "ascending";
          return (
            <th
              key={column.id}
              scope="col"
              className={column.align === "right" ? kit.right : undefined}
              aria-sort={direction}
            >
              {column.sortValue === undefined ? (
                column.label
              ) : (
                <SortButton
                  label={column.label}
                  direction={direction}
                  onSort={() => props.onSort({ id: column.id, direction: turned })}
                />
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function SortButton(props: {
  readonly label: string;
  readonly direction: Sort["direction"] | undefined;
  readonly onSort: () => void;
}): ReactElement {
  const Mark =
    props.direction === undefined
      ? ChevronsUpDown
      : props.direction === "ascending"
        ? ArrowUp
        : ArrowDown;
  return (
    <UnstyledButton className={kit.sort} onClick={props.onSort}>
      {props.label}
      <Mark size={13} aria-hidden />
    </UnstyledButton>
  );
}
