import { TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { NO_EXPIRY } from "./expiry-choice.ts";
import { ExpiryField } from "./expiry-field.tsx";
import { editDialog, useConfirmation, type EditProps } from "./edit-dialog.tsx";
import { DialogForm } from "./form-dialog.tsx";
import { BLANK_CAPS, CAP_FIELDS, KEY_READERS } from "./key-caps.ts";
import { readKeyChange, stillWrong, type FieldProblems, type TypedKey } from "./key-forms.ts";
import { ModelsField } from "./models-field.tsx";
import { CapAndTagFields } from "./cap-fields.tsx";
import { useSubmission } from "./use-submission.ts";

export default editDialog(
  ({ name }) => `Edit “${name}”`,
  EditKeyForm,
  ({ key_id }) => key_id,
);

function EditKeyForm({ edited, onClose }: EditProps<Key>): ReactNode {
  const change = useChange("PATCH /api/console/keys/:key_id", {
    refreshes: KEY_READERS,
  });
  const submission = useSubmission();
  const [typed, setTyped] = useState<Omit<TypedKey, "name">>({
    rpm: "",
    caps: BLANK_CAPS,
    tags: edited.tags.join(", "),
    expiry: NO_EXPIRY,
    models: edited.models ?? [],
  });
  const [problems, setProblems] = useState<FieldProblems>({});
  const isConfirmed = useConfirmation(submission);

  const edit = (changed: Partial<TypedKey>): void => {
    setTyped({ ...typed, ...changed });
    setProblems(stillWrong(problems, changed));
  };
  const send = (): void => {
    const read = readKeyChange(typed, { key: edited, nowMs: Date.now() });
    setProblems(read.isReady ? {} : read.problems);
    if (!read.isReady) return;
    if (Object.keys(read.body).length === 0) return onClose();
    submission.run(async () => {
      const asked = JSON.stringify(CAP_FIELDS.map((field) => read.body[field]));
      const body = { ...read.body, ...(isConfirmed(asked) && { confirm: true }) };
      await change.mutateAsync({ params: { key_id: edited.key_id }, body });
      notifyDone(`“${edited.name}” was updated`);
      onClose();
    });
  };

  return (
    <DialogForm
      submission={submission}
      fields={["rpm", ...CAP_FIELDS, "tags", "expires_at", "models"]}
      submitLabel="Save"
      onSubmit={send}
      onCancel={onClose}
    >
      <TextInput
        label="Requests per minute"
        description={rpmHelp(edited)}
        placeholder={String(edited.rpm ?? edited.rpm_ceiling)}
        data-autofocus
        inputMode="numeric"
        maxLength={9}
        {...controlled(typed.rpm, (rpm) => edit({ rpm }))}
        error={problems.rpm ?? fieldError(submission.fault, "rpm")}
      />
      <CapAndTagFields
        edited={edited}
        value={typed}
        onChange={edit}
        errorOf={(field) => problems[field] ?? fieldError(submission.fault, field)}
      />
      <ExpiryField
        current={edited.expires_at}
        value={typed.expiry}
        onChange={(expiry) => edit({ expiry })}
        error={problems.expires_at ?? fieldError(submission.fault, "expires_at")}
      />
      <ModelsField
        value={typed.models}
        onChange={(models) => edit({ models })}
        error={fieldError(submission.fault, "models")}
      />
    </DialogForm>
  );
}

function rpmHelp({ rpm, rpm_ceiling: ceiling }: Key): string {
  return rpm === null
    ? `The ceiling of ${ceiling} applies. Leave blank to keep it. You can only lower it.`
    : `Leave blank to keep your limit of ${rpm}. 0 removes it, so that the ceiling of ${ceiling} applies.`;
}
