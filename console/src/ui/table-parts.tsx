import {
  useEffect,
  useRef,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  memo,
  type ReactElement,
} from "react";
import { UnstyledButton } from "@mantine/core";
import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react";

import kit from "./kit.module.css";
import styles from "./table.module.css";
import type { Sort } from "./table-state.ts";
import type { Column } from "./use-table-state.ts";

interface TableFrameProps {
  readonly caption: string;
  /** If true, a row takes two lines in narrow windows. */
  readonly isFolded: boolean;
  /** If true, the table scrolls vertically in its own box. */
  readonly isTall?: boolean;
  readonly frame?: RefObject<HTMLDivElement | null>;
  readonly children: ReactNode;
}

/** Lets a wide table scroll sideways. A shadow marks each side on which it continues. */
export function TableFrame(props: TableFrameProps) {
  const own = useRef<HTMLDivElement>(null);
  const frame = props.frame ?? own;
  useEdges(frame);
  const names = [
    kit.tableScroll,
    styles.frame,
    ...(props.isTall === true ? [kit.tableTall] : []),
    ...(props.isFolded ? [styles.folded] : []),
  ];
  return (
    <div
      ref={frame}
      className={names.join(" ")}
      tabIndex={0}
      role="group"
      aria-label={props.caption}
      onKeyDown={onArrow}
    >
      {props.children}
    </div>
  );
}

/** Sets `data-more-left` and `data-more-right` on the frame, from which CSS draws the shadows. */
function useEdges(frame: RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const box = frame.current;
    if (box === null) return undefined;
    const mark = (): void => {
      const hidden = box.scrollWidth - box.clientWidth;
      box.toggleAttribute("data-more-left", box.scrollLeft > 1);
      box.toggleAttribute("data-more-right", hidden - box.scrollLeft > 1);
    };
    const observer = new ResizeObserver(mark);
    observer.observe(box);
    for (const child of box.children) observer.observe(child);
    box.addEventListener("scroll", mark, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", mark);
    };
  }, [frame]);
}

/** Arrow keys move the focus from a link or button to its column in the next or previous row. */
function onArrow(event: KeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" } as const;
  const way = step[event.key as keyof typeof step];
  const from = event.target;
  if (way === undefined || !(from instanceof HTMLElement) || !from.matches("a, button")) return;
  const cell = from.closest("td");
  const row = cell?.closest("tr")?.[way];
  if (cell === null || !(row instanceof HTMLTableRowElement)) return;
  const there = row.cells[cell.cellIndex]?.querySelector<HTMLElement>("a, button");
  if (there === null || there === undefined) return;
  event.preventDefault();
  there.focus();
}

export function TableHead<T>(props: {
  readonly columns: readonly Column<T>[];
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort) => void;
}) {
  return (
    <thead role="rowgroup">
      <tr role="row">
        {props.columns.map((column) => {
          const direction = props.sort?.id === column.id ? props.sort.direction : undefined;
          const turned = direction === "ascending" ? "descending" : "ascending";
          return (
            <th
              key={column.id}
              scope="col"
              role="columnheader"
              className={cellClass(column)}
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
}) {
  const Mark = MARKS[props.direction ?? "none"];
  return (
    <UnstyledButton className={kit.sort} onClick={props.onSort}>
      {props.label}
      <Mark size={13} aria-hidden />
    </UnstyledButton>
  );
}

const MARKS = { none: ChevronsUpDown, ascending: ArrowUp, descending: ArrowDown } as const;

interface RowProps<T> {
  readonly columns: readonly Column<T>[];
  readonly row: T;
  /** Number of the row; the header is 1. Set only if some rows are not drawn. */
  readonly index?: number;
}

/** One row of a data table. It is redrawn only when the row or the columns change. */
export const TableRow = memo(RowOfCells) as <T>(props: RowProps<T>) => ReactElement;

function RowOfCells<T>(props: RowProps<T>) {
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

function cellClass<T>({ align, sharePercent }: Column<T>): string | undefined {
  const names = [
    ...(align === "right" ? [kit.right] : []),
    ...(sharePercent === undefined ? [] : [styles.share, styles[`share${sharePercent}`]]),
  ];
  return names.length === 0 ? undefined : names.join(" ");
}

export function Totals<T>({ columns }: { readonly columns: readonly Column<T>[] }) {
  if (columns.every(({ total }) => total === undefined)) return null;
  return (
    <tfoot role="rowgroup">
      <tr role="row" className={styles.totals}>
        {columns.map((column, at) => (
          <td key={column.id} {...cellProps(columns, at)}>
            {column.total}
          </td>
        ))}
      </tr>
    </tfoot>
  );
}
