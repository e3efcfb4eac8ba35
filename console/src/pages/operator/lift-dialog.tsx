import { Text, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useChange } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { ORG_READERS } from "./org-readers.ts";

interface LiftProps {
  readonly orgId: string;
  readonly onClose: () => void;
}

/**
 * Asks for a reason and lifts an organization's restrictions for unusual use. The reason goes into
 * the change log.
 */
export const LiftDialog = inDialog("Lift restrictions", LiftForm);

function LiftForm({ orgId, onClose }: LiftProps): ReactNode {
  const lift = useChange("POST /api/operator/organizations/:org_id/lift", {
    refreshes: ORG_READERS,
  });
  const submission = useSubmission();
  const [reason, setReason] = useState("");
  const send = (): void =>
    submission.run(async () => {
      const params = { org_id: orgId };
      const { lifted } = await lift.mutateAsync({ params, body: { reason: reason.trim() } });
      notifyDone(lifted.length === 0 ? "Nothing was restricted" : "The restrictions were lifted");
      onClose();
    });
  return (
    <DialogForm
      submission={submission}
      fields={["reason"]}
      submitLabel="Lift restrictions"
      onSubmit={send}
      onCancel={onClose}
    >
      <Text size="sm">
        All requests are allowed again within five seconds. The events behind these restrictions no
        longer count as a first warning.
      </Text>
      <TextInput
        label="Reason"
        description="For the change log. The customer does not see it."
        data-autofocus
        maxLength={200}
        {...controlled(reason, setReason)}
        error={fieldError(submission.fault, "reason")}
      />
    </DialogForm>
  );
}
