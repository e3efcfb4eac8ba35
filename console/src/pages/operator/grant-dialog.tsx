import { Checkbox } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useChange } from "../../api/use-answer.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { AmountFields } from "./amount-fields.tsx";
import { ORG_READERS } from "./org-readers.ts";

interface GrantProps {
  readonly orgId: string;
  /** Suggested amount. Set, together with `reference`, if a purchase is granted by hand. */
  readonly amountUsd?: string;
  readonly reference?: string;
  readonly onClose: () => void;
}

/** Grants credit to an organization. The server grants credit at most once per reference. */
export const GrantDialog = inDialog("Grant credit", GrantForm);

function GrantForm({ orgId, amountUsd = "", reference = "", onClose }: GrantProps): ReactNode {
  const grant = useChange("POST /api/operator/organizations/:org_id/grants", {
    refreshes: ORG_READERS,
  });
  const submission = useSubmission();
  const [typed, setTyped] = useState({ amount: amountUsd, ref: reference, isTrial: false });
  const send = (): void =>
    submission.run(async () => {
      const { is_new: isNew } = await grant.mutateAsync({
        params: { org_id: orgId },
        body: { amount_usd: typed.amount.trim(), ref: typed.ref.trim(), is_trial: typed.isTrial },
      });
      notifyDone(
        isNew ? `$${typed.amount.trim()} was granted` : "This reference was granted before",
      );
      onClose();
    });
  return (
    <DialogForm
      submission={submission}
      fields={["amount_usd", "ref"]}
      submitLabel="Grant credit"
      onSubmit={send}
      onCancel={onClose}
    >
      <AmountFields
        submission={submission}
        typed={typed}
        onTyped={(change) => setTyped({ ...typed, ...change })}
        example="25.00"
        refMeans="Identifies this grant permanently: granting it again changes nothing."
        isFirst
      />
      <Checkbox
        label="Trial credit"
        description="Unusual use stays monitored until the organization buys credit."
        checked={typed.isTrial}
        onChange={(event) => setTyped({ ...typed, isTrial: event.currentTarget.checked })}
      />
    </DialogForm>
  );
}
