import { Button, Group } from "@mantine/core";

import { formatCount } from "./format.ts";
import { PAGE_SIZES, type PageOfRows } from "./table-state.ts";
import styles from "./table.module.css";
import { Note } from "./note.tsx";

export interface TablePagesProps {
  readonly caption: string;
  readonly page: PageOfRows;
  readonly size: number;
  readonly count: number;
  readonly onPage: (page: number) => void;
  readonly onSize: (size: number) => void;
}

export default function TablePages(props: TablePagesProps) {
  const { page, count } = props;
  const from = formatCount(page.from + 1);
  return (
    <nav aria-label={`Pages of ${props.caption.toLowerCase()}`} className={styles.pages}>
      <Note>
        {from}–{formatCount(page.to)} of {formatCount(count)}
      </Note>
      <Group gap="xs">
        <PageSize size={props.size} sizes={PAGE_SIZES} onSize={props.onSize} />
        <Button
          size="xs"
          variant="default"
          disabled={page.page === 1}
          onClick={() => props.onPage(page.page - 1)}
        >
          Previous
        </Button>
        <Button
          size="xs"
          variant="default"
          disabled={page.page === page.pages}
          onClick={() => props.onPage(page.page + 1)}
        >
          Next
        </Button>
      </Group>
    </nav>
  );
}

/** A select for the number of rows on a page. The size 0 shows all rows. */
export function PageSize(props: {
  readonly size: number;
  readonly sizes: readonly number[];
  readonly onSize: (size: number) => void;
}) {
  return (
    <label className={styles.size}>
      Rows per page
      <select
        className={styles.select}
        value={props.size}
        onChange={(event) => props.onSize(Number(event.currentTarget.value))}
      >
        {props.sizes.map((size) => (
          <option key={size} value={size}>
            {size === 0 ? "All" : size}
          </option>
        ))}
      </select>
    </label>
  );
}
