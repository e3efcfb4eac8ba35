import type { ReactElement } from "react";

import { defined } from "../../../src/kernel/core/defined.ts";
import { DataTable } from "./data-table.tsx";
import { Panel, type PanelProps } from "./panel.tsx";
import type { DataTableProps } from "./table-types.ts";

type Props<T> = Omit<PanelProps, "title" | "children"> &
  Omit<DataTableProps<T>, "caption"> & {
    readonly title: string;
    /** The table's accessible name. Default: the title. */
    readonly caption?: string;
  };

export function TablePanel<T>({ id, title, actions, ...table }: Props<T>): ReactElement {
  return (
    <Panel {...defined({ id, actions })} title={title}>
      <DataTable caption={title} {...table} />
    </Panel>
  );
}
