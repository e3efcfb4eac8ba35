import type { ReactNode } from "react";

import type { RequestRow } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { formatCount, formatMs } from "../../ui/count.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { inAndOut, endingOfRequest } from "../usage/outcome-labels.ts";
import { EndingBadge } from "../usage/ending-badge.tsx";

const SHOWN_ROWS = 10;

/** The newest requests of a key, back to the first of the days that the page shows. */
export function KeyRequestsPanel(props: {
  readonly keyId: string;
  /** A UTC day; undefined for the log's default range. */
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
      <Answer of={answer} skeleton={<Loading rows={5} />}>
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

/** The next panel shows how to make a request. */
function NoRequests(): ReactNode {
  return <Empty title="No requests with this key in the last 30 days." />;
}

const COLUMNS: readonly Column<RequestRow>[] = [
  {
    id: "at",
    label: "Time",
    render: (row) => (
      <AppLink to="/requests/$requestId" params={{ requestId: row.request_id }} inherit>
        <Time at={row.created_at} precision="second" />
      </AppLink>
    ),
  },
  { id: "model", label: "Model", render: (row) => row.model ?? "–" },
  { id: "provider", label: "Provider", render: (row) => row.provider ?? "–" },
  { id: "status", label: "Status", render: (row) => <EndingBadge ending={endingOfRequest(row)} /> },
  {
    id: "tokens",
    label: "Tokens (in / out)",
    align: "right",
    render: ({ tokens }) => tokensInAndOut(tokens),
  },
  {
    id: "duration",
    label: "Duration",
    align: "right",
    render: (row) => formatMs(row.duration_ms),
  },
  {
    id: "cost",
    label: "Cost",
    align: "right",
    render: (row) => (row.attempts === 0 ? "–" : <Money usd={row.cost_usd} />),
  },
];

function tokensInAndOut(tokens: RequestRow["tokens"]): string {
  if (tokens === null) return "–";
  const sums = inAndOut(tokens);
  return `${formatCount(sums.in)} / ${formatCount(sums.out)}`;
}
