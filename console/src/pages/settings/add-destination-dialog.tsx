import { TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import type { AlertDestination, Alerts } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { refreshAnswers } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { KindsField, type ChosenKinds } from "./kinds-field.tsx";

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

function AddForm({ channel, first, kinds, onClose, onSecret }: AddProps): ReactNode {
  const client = useQueryClient();
  const submission = useSubmission();
  const { title, field, label, description, placeholder, type } = FORMS[channel];
  const [where, setWhere] = useState(channel === "email" ? first : "");
  const [chosen, setChosen] = useState<ChosenKinds>(null);

  const send = (): void => {
    if (chosen?.length === 0) return;
    submission.run(async () => {
      const added = await call("POST /api/console/alerts/destinations", {
        body: { channel, [field]: where.trim(), kinds: chosen === null ? null : [...chosen] },
      });
      await refreshAnswers(client, ["GET /api/console/alerts"]);
      onClose();
      if (added.secret !== null) onSecret(added.secret);
      else if (added.confirm_until === null) notifyDone(`Alerts go to ${added.address}`);
      else notifyDone(`A message to ${added.address} asks to confirm`);
    });
  };

  return (
    <DialogForm
      submission={submission}
      fields={[field, "kinds"]}
      submitLabel={title}
      onSubmit={send}
      onCancel={onClose}
    >
      <TextInput
        label={label}
        description={description}
        placeholder={placeholder}
        type={type}
        data-autofocus
        spellCheck={false}
        maxLength={2000}
        {...controlled(where, setWhere)}
        error={fieldError(submission.fault, field)}
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
