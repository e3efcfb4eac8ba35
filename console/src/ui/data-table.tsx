import {
  lazy,
  Suspense,
  useMemo,
  useRef,
  useState,
  type ReactElement,
  type ReactNode,
} from "react";

import { Empty } from "./empty.tsx";
import kit from "./kit.module.css";
import { Loading } from "./answer.tsx";
import {
  sortRows,
  type Sort,
  cutPage,
  needsPages,
  readSize,
  readSort,
  writeSize,
  writeSort,
} from "./table-state.ts";
import { TableFrame, TableHead, hasPhonePlaces, TableRow, Totals } from "./table-parts.tsx";
import {
  type BodyProps,
  type DataTableProps,
  useColumns,
  useTableSearch,
  useUsualRows,
} from "./use-table-state.ts";
import styles from "./table.module.css";
import { defined } from "../../../src/kernel/core/defined.ts";
import { Panel, type PanelProps } from "./page.tsx";

export type { Column, Kept } from "./use-table-state.ts";

/** A page with up to this number of rows renders them all; a longer one only the visible rows. */
const ROWS_WHOLE_MAX = 200;
/**
 * Replaces `ROWS_WHOLE_MAX` if all rows are on one page. It is smaller, because a search then
 * redraws the rows at every letter.
 */
const ROWS_OF_ALL_MAX = 60;
const ManyRows = lazy(() => import("./many-rows.tsx")) as <T>(
  props: BodyProps<T> & { readonly isWhole: boolean },
) => ReactElement;
// Loaded after the first page, whose tables can be read without them.
const TableTools = lazy(() => import("./table-tools.tsx"));
const TablePages = lazy(() => import("./table-pages.tsx"));

/**
 * A table of rows. The reader can sort it by columns with a `sortValue`, the first column stays
 * visible, and most tables fold a row into two lines on a phone. With `kept`, the table also has a
 * row count, pages and a choice of columns.
 */
export function DataTable<T>(props: DataTableProps<T>) {
  const { rows, empty, kept } = props;
  const table = useRef<HTMLDivElement>(null);
  const [isWhole, drawAll] = useState(false);
  const { shown, choose, reset } = useColumns(kept?.id, props.columns);
  const search = useTableSearch(kept?.prefix ?? "");
  const { sorted, sort, onSort } = useSorted(props, search);
  const usual = useUsualRows();
  const isPaged = kept !== undefined && kept.pages !== "server";
  const size = isPaged ? readSize(search.size, usual) : 0;
  const page = cutPage(sorted.length, size, search.page);
  const onPage = useMemo(() => sorted.slice(page.from, page.to), [sorted, page.from, page.to]);
  if (rows.length === 0 && empty !== undefined) {
    return typeof empty === "string" ? <Empty title={empty} /> : <>{empty}</>;
  }

  const wholeMax = isPaged && size === 0 ? ROWS_OF_ALL_MAX : ROWS_WHOLE_MAX;
  const head = <TableHead columns={shown} sort={sort} onSort={onSort} />;
  const body = { ...props, columns: shown, rows: onPage, head };
  return (
    <div ref={table} className={styles.whole}>
      {kept === undefined ? null : (
        <div className={styles.tools}>
          <Suspense>
            <TableTools
              kept={kept}
              count={rows.length}
              columns={props.columns}
              shown={shown}
              {...{ sort, onSort, choose, reset, table, drawAll }}
            />
          </Suspense>
        </div>
      )}
      {onPage.length <= wholeMax ? (
        <AllRows {...body} />
      ) : (
        <Suspense fallback={<Loading rows={12} />}>
          <ManyRows {...body} isWhole={isWhole} />
        </Suspense>
      )}
      {isPaged && needsPages(rows.length, onPage.length, usual) ? (
        <Suspense fallback={<div className={styles.pages} />}>
          <TablePages
            caption={props.caption}
            page={page}
            size={size}
            count={sorted.length}
            onPage={(to) => search.change({ page: to === 1 ? undefined : String(to) })}
            onSize={(to) => search.change({ rows: writeSize(to, usual), page: undefined })}
          />
        </Suspense>
      ) : null}
    </div>
  );
}
/** With more columns than this, a row takes two lines on a phone even if no column sets `phone`. */
const FOLDED_FROM = 2;

/** The order comes from the page (`onSort`), the URL (`kept`) or the table's own state. */
function useSorted<T>(props: DataTableProps<T>, search: ReturnType<typeof useTableSearch>) {
  const { columns, rows, kept } = props;
  const [ownSort, setOwnSort] = useState(props.sort);
  const isPages = props.onSort !== undefined;
  const named = useMemo(() => {
    const sortable = columns.filter(({ sortValue }) => sortValue !== undefined);
    return readSort(
      search.sort,
      sortable.map(({ id }) => id),
    );
  }, [columns, search.sort]);
  const sort = isPages ? props.sort : kept === undefined ? ownSort : (named ?? props.sort);
  const sorted = useMemo(() => {
    const sortValue = columns.find(({ id }) => id === sort?.id)?.sortValue;
    if (isPages || sort === undefined || sortValue === undefined) return rows;
    return sortRows(rows, sortValue, sort);
  }, [columns, rows, sort, isPages]);
  const toAddress = (to: Sort): void => search.change({ sort: writeSort(to), page: undefined });
  return { sorted, sort, onSort: props.onSort ?? (kept === undefined ? setOwnSort : toAddress) };
}

function AllRows<T>(props: BodyProps<T>) {
  const { caption, columns, rows, rowKey, head } = props;
  return (
    <TableFrame
      caption={caption}
      isFolded={columns.length > FOLDED_FROM || hasPhonePlaces(columns)}
    >
      <table className={kit.table} role="table">
        <caption className={kit.hidden}>{caption}</caption>
        {head}
        <tbody role="rowgroup">
          {rows.map((row) => (
            <TableRow key={rowKey(row)} columns={columns} row={row} />
          ))}
        </tbody>
        <Totals columns={columns} />
      </table>
    </TableFrame>
  );
}

type TablePanelProps<T> = Omit<PanelProps, "title" | "children"> &
  Omit<DataTableProps<T>, "caption"> & {
    readonly title: string;
    /** The table's accessible name. Default: the title. */
    readonly caption?: string;
    readonly note?: ReactNode;
  };

export function TablePanel<T>({ id, title, actions, note, ...table }: TablePanelProps<T>) {
  return (
    <Panel {...defined({ id, actions })} title={title}>
      <DataTable caption={title} {...table} />
      {note}
    </Panel>
  );
}
