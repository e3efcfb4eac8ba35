import type { ReactElement } from "react";

import type { RequestRow } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { TablePanel } from "../../ui/table-panel.tsx";
import { Time } from "../../ui/time.tsx";
import { endingOfRequest } from "../usage/outcome-labels.ts";
import { EndingBadge } from "../usage/ending-badge.tsx";

export function LatestErrors(props: { readonly requests: readonly RequestRow[] }): ReactElement {
  return (
    <TablePanel
      title="Recent errors"
      caption="Latest requests that were rejected or failed"
      columns={COLUMNS}
      rows={props.requests}
      rowKey={({ request_id }) => request_id}
      empty="No recent errors."
    />
  );
}

const COLUMNS: readonly Column<RequestRow>[] = [
  {
    id: "time",
    label: "Time",
    phone: "plain",
    render: ({ request_id, created_at }) => (
      <AppLink to="/requests/$requestId" params={{ requestId: request_id }} size="sm">
        <Time at={created_at} />
      </AppLink>
    ),
  },
  { id: "model", label: "Model", phone: "lead", render: ({ model }) => model ?? "–" },
  {
    id: "status",
    label: "Status",
    phone: "end",
    render: (row) => <EndingBadge ending={endingOfRequest(row)} />,
  },
];
