import { UnstyledButton } from "@mantine/core";
import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react";
import type { ReactElement } from "react";

import kit from "./kit.module.css";
import type { Sort } from "./sort-rows.ts";
import { cellClass } from "./table-row.tsx";
import type { Column } from "./table-types.ts";

export function TableHead<T>(props: {
  readonly columns: readonly Column<T>[];
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort) => void;
}): ReactElement {
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
