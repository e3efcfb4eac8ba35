import type { ReactNode } from "react";

import type { AlertDelivery } from "../../../../src/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";

const REFRESH_MS = 5_000;

/** The newest alerts and how their delivery went. */
export function AlertLogPanel(): ReactNode {
  const deliveries = useAnswer("GET /api/console/alerts/deliveries", undefined, {
    refetchMs: REFRESH_MS,
  });
  return (
    <Panel title="Recent alerts">
      <Answer of={deliveries} skeleton={<Loading rows={3} />}>
        {({ data }) => (
          <DataTable
            caption="Recent alerts and their deliveries"
            columns={COLUMNS}
            rows={data}
            rowKey={({ event_id: id, address }) => `${id} ${address ?? ""}`}
            empty={<Empty title="No alerts yet." />}
          />
        )}
      </Answer>
    </Panel>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  "balance.low": "Low balance",
  "org_cap.reached": "Organization cap",
  "key_cap.reached": "Key cap",
  "purchase.granted": "Credit added",
  "requests.restricted": "Requests restricted",
  "destination.disabled": "Destination disabled",
  "alerts.test": "Test",
};

const COLUMNS: readonly Column<AlertDelivery>[] = [
  { id: "at", label: "Time", render: ({ at }) => <Time at={at} /> },
  { id: "kind", label: "Alert", render: ({ kind }) => KINDS[kind] ?? kind },
  { id: "address", label: "Destination", render: ({ address }) => address ?? "None" },
  { id: "state", label: "Delivery", render: (delivery) => <State delivery={delivery} /> },
  { id: "answer", label: "Last answer", render: ({ last_answer: answer }) => answer ?? "" },
];

function State({ delivery }: { readonly delivery: AlertDelivery }): ReactNode {
  const { state, tries, next_try_at: next } = delivery;
  if (state === null) return "Not sent";
  if (state === "delivered") return <StatusBadge tone="ok">Delivered</StatusBadge>;
  if (state === "failed") return <StatusBadge tone="bad">Failed</StatusBadge>;
  return (
    <>
      <StatusBadge tone="quiet">Waiting</StatusBadge>{" "}
      {tries === 0 || next === null ? null : (
        <>
          next try <Time at={next} />
        </>
      )}
    </>
  );
}
