import { ActionIcon, Button } from "@mantine/core";
import { Check, Columns3, Copy } from "lucide-react";
import type { RefObject } from "react";
import { flushSync } from "react-dom";

import { useCopy } from "./copyable.tsx";
import { checkable } from "./fields.ts";
import { formatCount } from "./format.ts";
import kit from "./kit.module.css";
import { MenuButton } from "./menu-button.tsx";
import { type Sort, writeSort } from "./table-state.ts";
import type { Column, Kept } from "./use-table-state.ts";
import { Tip } from "./tip.tsx";
import styles from "./table.module.css";
import { Note } from "./page.tsx";

type AnyColumn = Pick<Column<never>, "id" | "label" | "sortValue">;

export interface TableToolsProps {
  readonly kept: Kept;
  readonly count: number;
  readonly columns: readonly AnyColumn[];
  readonly shown: readonly AnyColumn[];
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort) => void;
  readonly choose: (id: string, isWanted: boolean) => void;
  readonly reset: () => void;
  readonly table: RefObject<HTMLDivElement | null>;
  /** Draws all rows, also those of a long table that are not visible. */
  readonly drawAll: (areAll: boolean) => void;
}

export default function TableTools(props: TableToolsProps) {
  const { kept, count } = props;
  const [one, many] = kept.rows;
  return (
    <>
      <Note role="status">
        {kept.pages === "server" ? null : `${formatCount(count)} ${count === 1 ? one : many}`}
      </Note>
      <div className={styles.toolButtons}>
        <PhoneSort {...props} />
        <span className={styles.deskOnly}>
          <CopyRows {...props} />
        </span>
        <span className={styles.deskOnly}>
          <ColumnChooser {...props} />
        </span>
      </div>
    </>
  );
}

/** Lets the reader hide columns except the first, which identifies the row. */
function ColumnChooser({ columns, shown, choose, reset }: TableToolsProps) {
  return (
    <MenuButton
      label="Columns"
      position="bottom-end"
      button={
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Columns3 size={14} aria-hidden />}
        >
          Columns
        </Button>
      }
    >
      <fieldset className={styles.columns}>
        <legend className={kit.hidden}>Columns that are shown</legend>
        {columns.slice(1).map(({ id, label }) => (
          <label key={id}>
            <input
              type="checkbox"
              {...checkable(
                shown.some((column) => column.id === id),
                (isOn) => choose(id, isOn),
              )}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <Button size="compact-sm" variant="subtle" mt="xs" onClick={reset}>
        Reset columns
      </Button>
    </MenuButton>
  );
}

/** The sort menu for phones, where rows are cards without headers. */
function PhoneSort({ columns, sort, onSort }: TableToolsProps) {
  const sortable = columns.filter(({ sortValue }) => sortValue !== undefined);
  if (sortable.length === 0) return null;
  const ways = sortable.flatMap(({ id, label }) => [
    { sort: { id, direction: "ascending" } as const, label: `${label}, ascending` },
    { sort: { id, direction: "descending" } as const, label: `${label}, descending` },
  ]);
  const value = sort === undefined ? "" : writeSort(sort);
  return (
    <select
      aria-label="Sort by"
      className={`${styles.select} ${styles.phoneOnly}`}
      value={value}
      onChange={(event) => {
        const way = ways.find((each) => writeSort(each.sort) === event.currentTarget.value);
        if (way !== undefined) onSort(way.sort);
      }}
    >
      {value === "" ? <option value="">Sort by</option> : null}
      {ways.map((way) => (
        <option key={writeSort(way.sort)} value={writeSort(way.sort)}>
          {way.label}
        </option>
      ))}
    </select>
  );
}

/** Copies the rows of the page for spreadsheets: tabs separate cells, and line breaks separate rows. */
function CopyRows({ table, drawAll }: TableToolsProps) {
  const { isCopied, copy } = useCopy();
  const copyRows = (): void => {
    flushSync(() => drawAll(true));
    const rows = [...(table.current?.querySelector("table")?.rows ?? [])];
    const lines = rows.map((row) => [...row.cells].map((cell) => cellText(cell)).join("\t"));
    drawAll(false);
    // There is no table yet while the code of long tables is loaded.
    if (lines.length > 0) void copy(lines.join("\n"));
  };
  const label = isCopied ? "Copied the rows" : "Copy the rows";
  return (
    <Tip label={label}>
      <ActionIcon variant="default" size={26} aria-label={label} onClick={copyRows}>
        {isCopied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      </ActionIcon>
    </Tip>
  );
}

function cellText(cell: HTMLTableCellElement): string {
  const text = cell.innerText.replaceAll(/\s+/g, " ").trim();
  return BEGINS_FORMULA.test(text) ? `'${text}` : text;
}
/** Matches text that a spreadsheet would run as a formula, but not an amount such as `+$25.00`. */
const BEGINS_FORMULA = /^(?!\+\$[\d,.]+$)[=+\-@＝＋－＠]/;
