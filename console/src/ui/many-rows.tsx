import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";

import kit from "./kit.module.css";
import { TableFrame, TableRow, Totals } from "./table-parts.tsx";
import type { BodyProps } from "./use-table-state.ts";

const ROW_HEIGHT_PX = 44;
/** Number of rows drawn above and below the visible ones, so that short scrolls show no gap. */
const ROWS_AROUND = 5;

/** A long table that scrolls in its own box. It draws the visible rows and some around them, or all. */
export default function ManyRows<T>(props: BodyProps<T> & { readonly isWhole: boolean }) {
  const { caption, columns, rows, rowKey, head, isWhole } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: isWhole ? rows.length : ROWS_AROUND,
  });
  const items = virtual.getVirtualItems();
  const above = items[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <TableFrame frame={scroll} caption={caption} isFolded isTall>
      <table className={kit.table} role="table" aria-rowcount={rows.length + 1}>
        <caption className={kit.hidden}>{caption}</caption>
        {head}
        <tbody role="rowgroup">
          <Gap height={above} span={columns.length} />
          {items.flatMap(({ index }) => {
            const row = rows[index];
            if (row === undefined) return [];
            return [<TableRow key={rowKey(row)} columns={columns} row={row} index={index + 2} />];
          })}
          <Gap height={below} span={columns.length} />
        </tbody>
        <Totals columns={columns} />
      </table>
    </TableFrame>
  );
}

/** An empty row that is as high as the rows that are not drawn. */
function Gap(props: { readonly height: number; readonly span: number }) {
  if (props.height <= 0) return null;
  return (
    <tr aria-hidden className={kit.gap}>
      <td colSpan={props.span} style={{ height: props.height }} />
    </tr>
  );
}
