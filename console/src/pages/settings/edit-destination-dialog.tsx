import { Button, Group, Stack, Switch, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import type { AlertDestination, Alerts } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { refreshAnswers } from "../../api/use-answer.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { Time } from "../../ui/time.tsx";
import { DialogForm, UnplacedFault } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { KindsField, type ChosenKinds } from "./kinds-field.tsx";

interface EditProps {
  readonly destination: AlertDestination;
  readonly kinds: Alerts["kinds"];
  readonly onClose: () => void;
  /** Called with the new signing secret. The API returns the secret only once. */
  readonly onRotated: (secret: string) => void;
}

const REFRESHED = ["GET /api/console/alerts", "GET /api/console/alerts/deliveries"] as const;

export function EditDestinationDialog({
  opened,
  ...props
}: EditProps & { readonly opened: boolean }): ReactNode {
  return (
    <Dialog opened={opened} title="Edit destination" onClose={props.onClose}>
      <Stack gap="lg">
        <EditForm {...props} />
        {props.destination.channel === "webhook" ? <SecretPart {...props} /> : null}
      </Stack>
    </Dialog>
  );
}

function EditForm({ destination, kinds, onClose }: EditProps): ReactNode {
  const client = useQueryClient();
  const submission = useSubmission();
  const [isEnabled, setEnabled] = useState(destination.disabled_at === null);
  const [chosen, setChosen] = useState<ChosenKinds>(destination.kinds);
  const { disabled_reason: why } = destination;
  const isReaders = why === "unconfirmed" || why === "stopped";

  const send = (): void => {
    if (chosen?.length === 0) return;
    submission.run(async () => {
      await call("PATCH /api/console/alerts/destinations/:destination_id", {
        params: { destination_id: destination.destination_id },
        body: { is_enabled: isEnabled, kinds: chosen === null ? null : [...chosen] },
      });
      await refreshAnswers(client, REFRESHED);
      notifyDone(`The destination ${destination.address} was saved`);
      onClose();
    });
  };

  return (
    <DialogForm
      submission={submission}
      fields={["kinds"]}
      submitLabel="Save"
      onSubmit={send}
      onCancel={onClose}
    >
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {destination.address}
      </Text>
      <Switch
        label="Enabled"
        disabled={isReaders}
        description={
          isReaders
            ? "Only its reader can begin the alerts. To ask again, remove the address and add it."
            : "A disabled destination receives nothing, and pending deliveries are dropped."
        }
        checked={isEnabled}
        onChange={(event) => setEnabled(event.currentTarget.checked)}
      />
      <KindsField
        kinds={kinds}
        value={chosen}
        onChange={setChosen}
        error={fieldError(submission.fault, "kinds")}
      />
    </DialogForm>
  );
}

function SecretPart({ destination, onClose, onRotated }: EditProps): ReactNode {
  const client = useQueryClient();
  const submission = useSubmission();
  const { destination_id: id, former_secret_until: until } = destination;
  const rotate = (): void =>
    submission.run(async () => {
      const rotated = await call("POST /api/console/alerts/destinations/:destination_id/rotate", {
        params: { destination_id: id },
      });
      await refreshAnswers(client, REFRESHED);
      onClose();
      onRotated(rotated.secret ?? "");
    });
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
        Signing secret
      </Text>
      <Text size="sm">
        {until === null ? (
          "After a rotation the old secret stays valid for 24 hours. Rotating again ends it at once."
        ) : (
          <>
            The old secret is valid until <Time at={until} />. Rotating again ends it at once.
          </>
        )}
      </Text>
      <UnplacedFault fault={submission.fault} fields={[]} />
      <Group>
        <Button variant="default" onClick={rotate} loading={submission.isBusy}>
          Rotate secret
        </Button>
      </Group>
    </Stack>
  );
}
