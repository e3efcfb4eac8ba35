import { TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import type { Alerts } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { refreshAnswers } from "../../api/use-answer.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { DialogForm, FormDialog } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { KindsField, type ChosenKinds } from "./kinds-field.tsx";

interface AddProps {
  readonly kinds: Alerts["kinds"];
  readonly onClose: () => void;
  /** With the secret, which is shown once. */
  readonly onAdded: (secret: string) => void;
}

/** Adds a webhook. */
export function AddWebhookDialog({
  opened,
  ...props
}: AddProps & { readonly opened: boolean }): ReactNode {
  return (
    <FormDialog opened={opened} title="Add webhook" onClose={props.onClose}>
      <AddWebhookForm {...props} />
    </FormDialog>
  );
}

function AddWebhookForm({ kinds, onClose, onAdded }: AddProps): ReactNode {
  const client = useQueryClient();
  const submission = useSubmission();
  const [url, setUrl] = useState("");
  const [chosen, setChosen] = useState<ChosenKinds>(null);

  const send = (): void => {
    if (chosen?.length === 0) return;
    submission.run(async () => {
      const added = await call("POST /api/console/alerts/destinations", {
        body: { channel: "webhook", url: url.trim(), kinds: chosen === null ? null : [...chosen] },
      });
      await refreshAnswers(client, ["GET /api/console/alerts"]);
      onClose();
      onAdded(added.secret ?? "");
    });
  };

  return (
    <DialogForm
      submission={submission}
      fields={["url", "kinds"]}
      submitLabel="Add webhook"
      onSubmit={send}
      onCancel={onClose}
    >
      <TextInput
        label="URL"
        description="Events are sent there as signed POST requests."
        placeholder="https://example.com/webhooks"
        type="url"
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        maxLength={2000}
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
        error={fieldError(submission.fault, "url")}
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
