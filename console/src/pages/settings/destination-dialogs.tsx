import { Checkbox, Stack, Switch, TextInput, Button, Group, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Alerts, AlertDestination } from "../../api/contract.ts";
import { call } from "../../api/client.ts";
import { refreshAnswers } from "../../api/use-answer.ts";
import { checkable } from "../../ui/fields.ts";
import { notifyDone } from "../../ui/notice.ts";
import {
  DialogForm,
  inDialog,
  useSubmission,
  UnplacedFault,
  useForm,
  type Form,
} from "../../ui/form-dialog.tsx";
import { Time } from "../../ui/time.tsx";
import { changedDestination, typedDestination, type TypedDestination } from "./alert-rules.ts";

type ChosenKinds = TypedDestination["kinds"];

function KindsField(props: {
  readonly all: Alerts["kinds"];
  readonly form: Form<{ readonly kinds: ChosenKinds }>;
}) {
  const { all, form } = props;
  const { kinds } = form.typed;
  return (
    <Stack gap="sm">
      <Switch
        label="All events, including ones added later"
        {...checkable(kinds === null, (isOn) =>
          form.set({ kinds: isOn ? null : all.map(({ kind }) => kind) }),
        )}
      />
      {kinds === null ? null : (
        <Checkbox.Group
          label="Events"
          value={[...kinds]}
          onChange={(to) => form.set({ kinds: to })}
          error={
            form.errorOf("kinds") ?? (kinds.length === 0 ? "Choose at least one event." : undefined)
          }
        >
          <Stack gap="xs" mt="xs">
            {all.map(({ kind, label }) => (
              <Checkbox key={kind} value={kind} label={label} description={kind} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </Stack>
  );
}

interface AddProps {
  readonly channel: AlertDestination["channel"];
  readonly first: string;
  readonly kinds: Alerts["kinds"];
  readonly onClose: () => void;
  /** Called with the signing secret of a new webhook. The API returns the secret only once. */
  readonly onSecret: (secret: string) => void;
}

const FORMS = {
  email: {
    title: "Add address",
    field: "address",
    label: "Email address",
    description: "Yours gets alerts at once. The reader of another one is asked to confirm first.",
    placeholder: "ops@example.com",
    type: "email",
  },
  webhook: {
    title: "Add webhook",
    field: "url",
    label: "URL",
    description: "Events are sent there as signed POST requests.",
    placeholder: "https://example.com/webhooks",
    type: "url",
  },
} as const;

export const AddDestinationDialog = inDialog(({ channel }) => FORMS[channel].title, AddForm);

function AddForm({ channel, first, kinds, onClose, onSecret }: AddProps) {
  const client = useQueryClient();
  const { title, field, ...shown } = FORMS[channel];
  const form = useForm<{ readonly where: string; readonly kinds: ChosenKinds }>({
    where: channel === "email" ? first : "",
    kinds: null,
  });

  const send = (): void => {
    const { where, kinds: chosen } = form.typed;
    if (chosen?.length === 0) return;
    form.submission.run(async () => {
      const added = await call("POST /api/console/alerts/destinations", {
        body: { channel, [field]: where.trim(), kinds: chosen === null ? null : [...chosen] },
      });
      onClose();
      // Before the list is read again, which may take long: only this answer has the secret.
      if (added.secret !== null) onSecret(added.secret);
      else if (added.confirm_until === null) notifyDone(`Alerts go to ${added.address}`);
      else notifyDone(`A message to ${added.address} asks to confirm`);
      await refreshAnswers(client, ["GET /api/console/alerts"]);
    });
  };

  return (
    <DialogForm form={form} submitLabel={title} onSubmit={send} onCancel={onClose}>
      <TextInput
        {...shown}
        data-autofocus
        spellCheck={false}
        maxLength={2000}
        {...form.text("where", field)}
      />
      <KindsField all={kinds} form={form} />
    </DialogForm>
  );
}

interface EditProps {
  readonly destination: AlertDestination;
  readonly kinds: Alerts["kinds"];
  readonly onClose: () => void;
  /** Called with the new signing secret. The API returns the secret only once. */
  readonly onRotated: (secret: string) => void;
}

const REFRESHED = ["GET /api/console/alerts", "GET /api/console/alerts/deliveries"] as const;

export const EditDestinationDialog = inDialog("Edit destination", EditParts);

function EditParts(props: EditProps) {
  return (
    <Stack gap="lg">
      <EditForm {...props} />
      {props.destination.channel === "webhook" ? <SecretPart {...props} /> : null}
    </Stack>
  );
}

function EditForm({ destination, kinds, onClose }: EditProps) {
  const client = useQueryClient();
  const [opened] = useState(destination);
  const form = useForm(typedDestination(opened));
  const { disabled_reason: why } = opened;
  const isReaders = why === "unconfirmed" || why === "stopped";

  const send = (): void => {
    if (form.typed.kinds?.length === 0) return;
    const body = changedDestination(opened, form.typed);
    if (Object.keys(body).length === 0) return onClose();
    form.submission.run(async () => {
      await call("PATCH /api/console/alerts/destinations/:destination_id", {
        params: { destination_id: destination.destination_id },
        body,
      });
      await refreshAnswers(client, REFRESHED);
      notifyDone(`The destination ${destination.address} was saved`);
      onClose();
    });
  };

  return (
    <DialogForm form={form} submitLabel="Save" onSubmit={send} onCancel={onClose}>
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
        {...checkable(form.typed.isEnabled, (isOn) => form.set({ isEnabled: isOn }))}
      />
      <KindsField all={kinds} form={form} />
    </DialogForm>
  );
}

function SecretPart({ destination, onClose, onRotated }: EditProps) {
  const client = useQueryClient();
  const submission = useSubmission();
  const { destination_id: id, former_secret_until: until } = destination;
  const rotate = (): void =>
    submission.run(async () => {
      const rotated = await call("POST /api/console/alerts/destinations/:destination_id/rotate", {
        params: { destination_id: id },
      });
      onClose();
      // Before the list is read again, as above.
      onRotated(rotated.secret ?? "");
      await refreshAnswers(client, REFRESHED);
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
      <UnplacedFault fault={submission.fault} />
      <Group>
        <Button variant="default" onClick={rotate} loading={submission.isBusy}>
          Rotate secret
        </Button>
      </Group>
    </Stack>
  );
}
