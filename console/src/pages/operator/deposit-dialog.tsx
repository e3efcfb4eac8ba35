import { Text, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useChange } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { AmountFields } from "./amount-fields.tsx";

/** Records money paid to a provider in advance, at most once per reference. */
export const DepositDialog = inDialog("Record deposit", DepositForm);

function DepositForm({ onClose }: { readonly onClose: () => void }): ReactNode {
  const deposit = useChange("POST /api/operator/settlement/:provider_id/deposits", {
    refreshes: ["GET /api/operator/settlement"],
  });
  const submission = useSubmission();
  const [typed, setTyped] = useState({ provider: "", amount: "", ref: "" });
  const send = (): void =>
    submission.run(async () => {
      const { is_new: isNew } = await deposit.mutateAsync({
        params: { provider_id: typed.provider.trim() },
        body: { amount_usd: typed.amount.trim(), ref: typed.ref.trim() },
      });
      const name = `The deposit ${typed.ref.trim()} with ${typed.provider.trim()}`;
      notifyDone(`${name} was ${isNew ? "recorded" : "already recorded"}`);
      onClose();
    });
  return (
    <DialogForm
      submission={submission}
      fields={["provider_id", "amount_usd", "ref"]}
      submitLabel="Record deposit"
      onSubmit={send}
      onCancel={onClose}
    >
      <Text size="sm">
        Record money that you already paid to a provider in advance. This cannot be undone. It needs
        a sign-in within the last 12 hours.
      </Text>
      <TextInput
        label="Provider"
        description="The ID in its manifest, such as acme-ai."
        data-autofocus
        maxLength={63}
        {...controlled(typed.provider, (provider) => setTyped({ ...typed, provider }))}
        error={fieldError(submission.fault, "provider_id")}
      />
      <AmountFields
        submission={submission}
        typed={typed}
        onTyped={(change) => setTyped({ ...typed, ...change })}
        example="500.00"
        refMeans="Identifies this payment permanently: recording it again changes nothing."
      />
    </DialogForm>
  );
}
