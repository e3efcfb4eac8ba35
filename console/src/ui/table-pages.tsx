import { Group } from "@mantine/core";

import { SmallButton } from "./buttons.tsx";
import { formatCount } from "./format.ts";
import { PAGE_SIZES, type PageOfRows } from "./table-state.ts";
import styles from "./table.module.css";
import { Note } from "./page.tsx";

export default function TablePages(props: {
  readonly caption: string;
  readonly page: PageOfRows;
  readonly size: number;
  readonly count: number;
  readonly onPage: (page: number) => void;
  readonly onSize: (size: number) => void;
}) {
  const { page, pages, from, to } = props.page;
  return (
    <nav aria-label={`Pages of ${props.caption.toLowerCase()}`} className={styles.pages}>
      <Note>
        {formatCount(from + 1)}–{formatCount(to)} of {formatCount(props.count)}
      </Note>
      <Group gap="xs">
        <PageSize size={props.size} sizes={PAGE_SIZES} onSize={props.onSize} />
        <SmallButton disabled={page === 1} onClick={() => props.onPage(page - 1)}>
          Previous
        </SmallButton>
        <SmallButton disabled={page === pages} onClick={() => props.onPage(page + 1)}>
          Next
        </SmallButton>
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
