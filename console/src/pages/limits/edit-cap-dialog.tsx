import { useState, type ReactNode } from "react";

import { useChange } from "../../api/use-answer.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { CapField } from "../keys/cap-field.tsx";
import type { CapRow } from "../keys/cap-left.ts";
import { editDialog, useConfirmation, type EditProps } from "../keys/edit-dialog.tsx";
import { DialogForm } from "../keys/form-dialog.tsx";
import { KEY_CAPS, KEY_READERS, PERIOD_NAMES } from "../keys/key-caps.ts";
import { capInput, readCap } from "../keys/read-cap.ts";
import { useSubmission } from "../keys/use-submission.ts";

export const EditCapDialog = editDialog(describeRow, EditCapForm);

function EditCapForm({ edited, onClose }: EditProps<CapRow>): ReactNode {
  const save = useSaveCap(edited);
  const submission = useSubmission();
  const [typed, setTyped] = useState("");
  const isConfirmed = useConfirmation(submission);
  const { field, label, applies } = ofPeriod(edited);
  const [problem, setProblem] = useState<string>();
  const send = (): void => {
    const read = readCap(typed);
    setProblem(read.kind === "problem" ? read.problem : undefined);
    if (read.kind === "problem") return;
    const capUsd = capInput(read);
    if (capUsd === undefined) return onClose();
    submission.run(async () => {
      await save(capUsd, isConfirmed(capUsd));
      notifyDone(`${describeRow(edited)} was ${read.kind === "removed" ? "removed" : "updated"}`);
      onClose();
    });
  };
  return (
    <DialogForm
      submission={submission}
      fields={[field]}
      submitLabel="Save"
      onSubmit={send}
      onCancel={onClose}
    >
      <CapField
        {...{ label, applies }}
        currentUsd={edited.capUsd}
        value={typed}
        onChange={setTyped}
        error={problem ?? fieldError(submission.fault, field)}
      />
    </DialogForm>
  );
}

function describeRow({ scope, name, period }: CapRow): string {
  return scope === "key" ? `${PERIOD_NAMES[period]} cap of “${name}”` : "Organization cap";
}

function ofPeriod({ period }: CapRow): (typeof KEY_CAPS)[number] {
  return KEY_CAPS.find((each) => each.period === period) ?? KEY_CAPS[0];
}

function useSaveCap(edited: CapRow): (capUsd: string, confirm: boolean) => Promise<void> {
  const forKey = useChange("PATCH /api/console/keys/:key_id", { refreshes: KEY_READERS });
  const forOrg = useChange("PATCH /api/console/org-cap", { refreshes: KEY_READERS });
  return async (capUsd, confirm) => {
    const { key_id: keyId } = edited;
    const sure = confirm && { confirm };
    if (keyId === null) {
      await forOrg.mutateAsync({ body: { cap_usd: capUsd, ...sure } });
    } else {
      const body = { [ofPeriod(edited).field]: capUsd, ...sure };
      await forKey.mutateAsync({ params: { key_id: keyId }, body });
    }
  };
}
