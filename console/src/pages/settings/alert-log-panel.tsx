import { Button } from "@mantine/core";
import type { ReactNode } from "react";

import type { AlertDelivery } from "../../../../src/account/console-api/contract.ts";
import { useAnswer, useChange } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { Answer } from "../../ui/answer.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { timeColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { notices } from "../../ui/notice.ts";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";

const REFRESH_MS = 5_000;

export function AlertLogPanel(): ReactNode {
  const deliveries = useAnswer("GET /api/console/alerts/deliveries", undefined, {
    refetchMs: REFRESH_MS,
  });
  return (
    <Panel title="Recent alerts">
      <Answer of={deliveries} rows={3}>
        {({ data }) => (
          <DataTable
            caption="Recent alerts and their deliveries"
            columns={COLUMNS}
            rows={data}
            rowKey={({ event_id: id, destination_id: to }) => `${id} ${to ?? ""}`}
            empty="No alerts yet."
          />
        )}
      </Answer>
    </Panel>
  );
}

const COLUMNS: readonly Column<AlertDelivery>[] = [
  timeColumn("at", "Time", ({ at }) => at),
  { id: "kind", label: "Alert", render: ({ label }) => label },
  {
    id: "channel",
    label: "Channel",
    render: ({ channel }) => (channel === null ? "" : CHANNELS[channel]),
  },
  {
    id: "address",
    label: "Destination",
    render: ({ address }) => <span style={{ overflowWrap: "anywhere" }}>{address ?? "None"}</span>,
  },
  { id: "state", label: "Delivery", render: (delivery) => <State delivery={delivery} /> },
  { id: "tries", label: "Tries", align: "right", render: ({ tries }) => tries ?? "" },
  { id: "answer", label: "Last answer", render: ({ last_answer: answer }) => answer ?? "" },
  {
    id: "again",
    label: "Actions",
    align: "right",
    render: (delivery) => <SendAgain delivery={delivery} />,
  },
];

const CHANNELS = { email: "E-mail", webhook: "Webhook" } as const;

function SendAgain({ delivery }: { readonly delivery: AlertDelivery }): ReactNode {
  const { destination_id: id, event_id: eventId, address } = delivery;
  const again = useChange("POST /api/console/alerts/destinations/:destination_id/send-again", {
    refreshes: ["GET /api/console/alerts/deliveries"],
  });
  const maySend = useMay("billing");
  if (delivery.state !== "failed" || id === null || !maySend) return null;
  return (
    <Button
      size="compact-xs"
      variant="default"
      aria-label={`Send again: ${delivery.label} to ${address ?? ""}`}
      loading={again.isPending}
      onClick={() =>
        again.mutate(
          { params: { destination_id: id }, body: { event_id: eventId } },
          notices(`“${delivery.label}” was queued again`),
        )
      }
    >
      Send again
    </Button>
  );
}

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
