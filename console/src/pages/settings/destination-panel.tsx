import { Alert, Button, Group } from "@mantine/core";
import { Info } from "lucide-react";
import type { ReactNode } from "react";

import type { AlertDestination, Alerts } from "../../../../src/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { useSession } from "../../api/use-session.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { notifyDone, notifyFault } from "../../ui/notice.ts";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";

/** Where alerts go. */
export function DestinationPanel({ alerts }: { readonly alerts: Alerts }): ReactNode {
  return (
    <Panel title="Where to report" actions={<AddMe alerts={alerts} />}>
      {alerts.can_email ? null : (
        <Alert color="gray" variant="light" icon={<Info aria-hidden />} mb="md">
          E-mail is not available here. Ask the operator to configure a mail server.
        </Alert>
      )}
      <DataTable
        caption="Destinations of alerts"
        columns={COLUMNS}
        rows={alerts.destinations}
        rowKey={({ destination_id: id }) => id}
        empty={<Empty title="No destinations yet. Alerts are only listed below." />}
      />
    </Panel>
  );
}

function AddMe({ alerts }: { readonly alerts: Alerts }): ReactNode {
  const { user } = useSession();
  const mayChange = useMay("billing");
  const add = useChange("POST /api/console/alerts/destinations", {
    refreshes: ["GET /api/console/alerts"],
  });
  const email = user?.email ?? "";
  const isThere = alerts.destinations.some(
    ({ address, disabled_at: at }) => address === email && at === null,
  );
  if (!alerts.can_email || isThere || !mayChange) return null;
  return (
    <Button
      variant="default"
      loading={add.isPending}
      onClick={() =>
        add.mutate(
          { body: { channel: "email" } },
          { onSuccess: () => notifyDone(`Alerts go to ${email}`), onError: notifyFault },
        )
      }
    >
      E-mail me
    </Button>
  );
}

const COLUMNS: readonly Column<AlertDestination>[] = [
  {
    id: "address",
    label: "Destination",
    render: ({ address }) => <span style={{ overflowWrap: "anywhere" }}>{address}</span>,
  },
  { id: "status", label: "Status", render: (destination) => <Status destination={destination} /> },
  {
    id: "created",
    label: "Added",
    render: ({ created_at: at }) => <Time at={at} precision="day" />,
  },
  {
    id: "actions",
    label: "Actions",
    align: "right",
    render: (destination) => <Actions destination={destination} />,
  },
];

function Status({ destination }: { readonly destination: AlertDestination }): ReactNode {
  if (destination.disabled_at !== null) {
    return <StatusBadge tone="bad">Disabled after failures</StatusBadge>;
  }
  return destination.failing_since === null ? (
    <StatusBadge tone="ok">Active</StatusBadge>
  ) : (
    <StatusBadge tone="warn">Failing</StatusBadge>
  );
}

function Actions({ destination }: { readonly destination: AlertDestination }): ReactNode {
  const { address, disabled_at: disabledAt } = destination;
  const params = { destination_id: destination.destination_id };
  const mayChange = useMay("billing");
  const test = useChange("POST /api/console/alerts/destinations/:destination_id/test", {
    refreshes: ["GET /api/console/alerts/deliveries"],
  });
  const remove = useChange("POST /api/console/alerts/destinations/:destination_id/remove", {
    refreshes: ["GET /api/console/alerts", "GET /api/console/alerts/deliveries"],
  });
  if (!mayChange) return null;
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      {disabledAt === null ? (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Send a test to ${address}`}
          loading={test.isPending}
          onClick={() =>
            test.mutate(
              { params },
              {
                onSuccess: () => notifyDone("A test was queued; its result is listed below"),
                onError: notifyFault,
              },
            )
          }
        >
          Send test
        </Button>
      ) : null}
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`Remove ${address}`}
        loading={remove.isPending}
        onClick={() =>
          remove.mutate(
            { params },
            { onSuccess: () => notifyDone(`${address} was removed`), onError: notifyFault },
          )
        }
      >
        Remove
      </Button>
    </Group>
  );
}
