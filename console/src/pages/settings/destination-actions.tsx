import { Button, Group } from "@mantine/core";
import { useState, type ReactNode } from "react";

import type { AlertDestination, Alerts } from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { notices } from "../../ui/notice.ts";
import { EditDestinationDialog } from "./edit-destination-dialog.tsx";

export function DestinationActions(props: {
  readonly destination: AlertDestination;
  readonly kinds: Alerts["kinds"];
  readonly onSecret: (secret: string) => void;
}): ReactNode {
  const { destination, kinds, onSecret } = props;
  const { address, disabled_at: disabledAt } = destination;
  const params = { destination_id: destination.destination_id };
  const mayChange = useMay("billing");
  const [isEditing, setIsEditing] = useState(false);
  const test = useChange("POST /api/console/alerts/destinations/:destination_id/test", {
    refreshes: ["GET /api/console/alerts/deliveries"],
  });
  const remove = useChange("POST /api/console/alerts/destinations/:destination_id/remove", {
    refreshes: ["GET /api/console/alerts", "GET /api/console/alerts/deliveries"],
  });
  const queued = `A test to ${address} was queued; its result is listed below`;
  const common = { size: "compact-xs", variant: "default" } as const;
  if (!mayChange) return null;
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      {disabledAt === null ? (
        <Button
          {...common}
          aria-label={`Send test to ${address}`}
          loading={test.isPending}
          onClick={() => test.mutate({ params }, notices(queued))}
        >
          Send test
        </Button>
      ) : null}
      <Button {...common} aria-label={`Edit ${address}`} onClick={() => setIsEditing(true)}>
        Edit
      </Button>
      <Button
        {...common}
        aria-label={`Remove ${address}`}
        loading={remove.isPending}
        onClick={() => remove.mutate({ params }, notices(`${address} was removed`))}
      >
        Remove
      </Button>
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
