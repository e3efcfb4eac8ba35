import { Alert, Button, Group } from "@mantine/core";
import { Info } from "lucide-react";
import { useState } from "react";

import type { AlertDestination, Alerts } from "../../api/contract.ts";
import { useChange, useMay, useSession } from "../../api/use-answer.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { CompactButton } from "../../ui/buttons.tsx";
import { timeColumn, column, actionsColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Panel } from "../../ui/page.tsx";
import { SecretOnce } from "../../ui/secret-once.tsx";
import { AddDestinationDialog, EditDestinationDialog } from "./destination-dialogs.tsx";
import { notices } from "../../ui/notice.ts";

export function DestinationPanel({ alerts }: { readonly alerts: Alerts }) {
  const mayChange = useMay("billing");
  const own = useSession().user?.email ?? "";
  const isThere = alerts.destinations.some(({ address }) => address === own);
  const [adding, setAdding] = useState<AlertDestination["channel"]>();
  // The secret is only in the state of this component, and only until the reader has saved it.
  const [secret, setSecret] = useState<string>();
  return (
    <Panel
      title="Where to report"
      actions={
        <Group gap="xs">
          {alerts.can_email && mayChange ? (
            <Button variant="default" onClick={() => setAdding("email")}>
              Add address
            </Button>
          ) : null}
          {alerts.can_webhook && mayChange ? (
            <Button variant="default" onClick={() => setAdding("webhook")}>
              Add webhook
            </Button>
          ) : null}
        </Group>
      }
    >
      <Unavailable alerts={alerts} />
      <DataTable
        caption="Destinations of alerts"
        columns={buildColumns(alerts, setSecret)}
        rows={alerts.destinations}
        rowKey={({ destination_id: id }) => id}
        empty="No destinations yet. Alerts are only listed below."
      />
      <AddDestinationDialog
        opened={adding !== undefined}
        channel={adding ?? "email"}
        first={isThere ? "" : own}
        kinds={alerts.kinds}
        onClose={() => setAdding(undefined)}
        onSecret={setSecret}
      />
      <SecretOnce
        opened={secret !== undefined}
        title="Save the signing secret"
        secret={secret ?? ""}
        note={
          <>
            Your receiver uses it to verify that a webhook comes from here. This is the only time it
            is shown.{" "}
            <AppLink to="/docs/$page" params={{ page: "webhooks" }}>
              How to verify a webhook
            </AppLink>
          </>
        }
        onSaved={() => setSecret(undefined)}
      />
    </Panel>
  );
}

function Unavailable({ alerts }: { readonly alerts: Alerts }) {
  const { can_email: canMail, can_webhook: canPost } = alerts;
  if (canMail && canPost) return null;
  const mail = "Email is not available here. Ask the operator to configure a mail server.";
  const post = "Webhooks are not available here. Ask the operator to configure an encryption key.";
  return (
    <Alert color="gray" icon={<Info aria-hidden />} mb="md">
      {canMail ? null : <div>{mail}</div>}
      {canPost ? null : <div>{post}</div>}
    </Alert>
  );
}

function buildColumns(
  { kinds }: Alerts,
  onSecret: (secret: string) => void,
): readonly Column<AlertDestination>[] {
  return [
    column("address", "Destination", ({ address }) => (
      <span style={{ overflowWrap: "anywhere" }}>{address}</span>
    )),
    column("events", "Events", (destination) => describeEvents(destination, kinds)),
    column("status", "Status", (each) => <Status destination={each} />),
    timeColumn("created", "Added", ({ created_at: at }) => at, { precision: "day" }),
    actionsColumn((destination) => (
      <DestinationActions destination={destination} kinds={kinds} onSecret={onSecret} />
    )),
  ];
}

function describeEvents({ kinds }: AlertDestination, all: Alerts["kinds"]): string {
  if (kinds === null) return "All";
  const [first] = kinds;
  const label = all.find(({ kind }) => kind === first)?.label ?? first ?? "None";
  return kinds.length === 1 ? label : `${kinds.length} kinds`;
}

const DISABLED = {
  paused: { tone: "quiet", label: "Disabled" },
  failing: { tone: "bad", label: "Disabled after failures" },
  gone: { tone: "bad", label: "Disabled: it answered 410" },
  unconfirmed: { tone: "warn", label: "Not confirmed" },
  stopped: { tone: "quiet", label: "Stopped by its reader" },
} as const;

function Status({ destination }: { readonly destination: AlertDestination }) {
  const { disabled_reason: reason, failing_since: failingSince } = destination;
  if (reason !== null) {
    const { tone, label } = DISABLED[reason];
    return <StatusBadge tone={tone}>{label}</StatusBadge>;
  }
  if (failingSince !== null) return <StatusBadge tone="warn">Failing</StatusBadge>;
  return <StatusBadge tone="ok">Active</StatusBadge>;
}

function DestinationActions(props: {
  readonly destination: AlertDestination;
  readonly kinds: Alerts["kinds"];
  readonly onSecret: (secret: string) => void;
}) {
  const { destination, kinds, onSecret } = props;
  const { address, disabled_at: disabledAt } = destination;
  const params = { destination_id: destination.destination_id };
  const mayChange = useMay("billing");
  const [isEditing, setIsEditing] = useState(false);
  const test = useChange("POST /api/console/alerts/destinations/:destination_id/test", [
    "GET /api/console/alerts/deliveries",
  ]);
  const remove = useChange("POST /api/console/alerts/destinations/:destination_id/remove", [
    "GET /api/console/alerts",
    "GET /api/console/alerts/deliveries",
  ]);
  const queued = `A test to ${address} was queued; its result is listed below`;
  if (!mayChange) return null;
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      {disabledAt === null ? (
        <CompactButton
          aria-label={`Send test to ${address}`}
          loading={test.isPending}
          onClick={() => test.mutate({ params }, notices(queued))}
        >
          Send test
        </CompactButton>
      ) : null}
      <CompactButton aria-label={`Edit ${address}`} onClick={() => setIsEditing(true)}>
        Edit
      </CompactButton>
      <CompactButton
        aria-label={`Remove ${address}`}
        loading={remove.isPending}
        onClick={() => remove.mutate({ params }, notices(`${address} was removed`))}
      >
        Remove
      </CompactButton>
      <EditDestinationDialog
        opened={isEditing}
        destination={destination}
        kinds={kinds}
        onClose={() => setIsEditing(false)}
        onRotated={onSecret}
      />
    </Group>
  );
}
