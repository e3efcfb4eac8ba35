import type { ReactElement } from "react";

import type { RequestRow } from "../../../../src/account/console-api/contract.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Panel } from "../../ui/panel.tsx";
import { REQUEST_COLUMNS } from "../usage/request-columns.tsx";

/** The requests that went wrong last, each leading to its attempts. */
export function LatestErrors(props: { readonly requests: readonly RequestRow[] }): ReactElement {
  return (
    <Panel title="Recent errors">
      <DataTable
        caption="Latest requests that were rejected or failed"
        columns={COLUMNS}
        rows={props.requests}
        rowKey={({ request_id }) => request_id}
        empty={<Empty title="No recent errors." />}
      />
    </Panel>
  );
}

const SHOWN = new Set(["time", "status", "model"]);
const COLUMNS = REQUEST_COLUMNS.filter(({ id }) => SHOWN.has(id)).map(
  ({ sortValue: _unsorted, ...column }) => column,
);
