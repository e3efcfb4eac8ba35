import type { ReactNode } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Panel } from "../../ui/panel.tsx";
import { REQUEST_COLUMNS } from "../usage/request-columns.tsx";

const SHOWN_ROWS = 10;
const COLUMNS = REQUEST_COLUMNS.filter(
  ({ id, shownFrom }) => id !== "source" && shownFrom !== "asked",
);

export function KeyRequestsPanel(props: {
  readonly keyId: string;
  /** UTC day from which requests are shown. Undefined selects the log's default range. */
  readonly since: string | undefined;
}): ReactNode {
  const { keyId, since } = props;
  const from = since === undefined ? undefined : `${since.slice(0, 10)}T00:00:00.000Z`;
  const answer = useAnswer("GET /api/console/requests", {
    query: { key: keyId, limit: SHOWN_ROWS, from },
  });
  return (
    <Panel
      title="Recent requests"
      actions={
        <AppLink to="/usage" search={{ key: keyId }} size="sm">
          View in usage
        </AppLink>
      }
    >
      <Answer of={answer} rows={5}>
        {(list) => (
          <DataTable
            caption="Latest requests of this key"
            columns={COLUMNS}
            rows={list.data}
            rowKey={(row) => row.request_id}
            empty={<NoRequests />}
          />
        )}
      </Answer>
    </Panel>
  );
}

function NoRequests(): ReactNode {
  return <Empty title="No requests with this key in the last 30 days." />;
}
