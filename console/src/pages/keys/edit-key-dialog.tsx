import { useState } from "react";

import type { Key } from "../../api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { notifyDone } from "../../ui/notice.ts";
import { NO_EXPIRY } from "./expiry-choice.ts";
import {
  editDialog,
  useConfirmation,
  type EditProps,
  DialogForm,
  useForm,
} from "../../ui/form-dialog.tsx";
import { BLANK_CAPS, CAP_FIELDS, KEY_READERS } from "./caps.ts";
import { readKeyChange, stillWrong, type TypedKey } from "./key-forms.ts";
import { KeyFields } from "./key-fields.tsx";

export default editDialog(
  ({ name }) => `Edit “${name}”`,
  EditKeyForm,
  ({ key_id }) => key_id,
);

function EditKeyForm({ edited: newest, onClose }: EditProps<Key>) {
  // The form is compared with the key as it was at opening. Compared with a newer version, a field
  // that nobody edited would undo another member's change.
  const [edited] = useState(newest);
  const change = useChange("PATCH /api/console/keys/:key_id", KEY_READERS);
  const form = useForm<Omit<TypedKey, "name">>(
    {
      rpm: "",
      caps: BLANK_CAPS,
      tags: edited.tags.join(", "),
      expiry: NO_EXPIRY,
      models: edited.models ?? [],
    },
    stillWrong,
  );
  const isConfirmed = useConfirmation(form.submission);

  const send = (): void => {
    const read = readKeyChange(form.typed, { key: edited, nowMs: Date.now() });
    form.setProblems(read.isReady ? {} : read.problems);
    if (!read.isReady) return;
    if (Object.keys(read.body).length === 0) return onClose();
    form.submission.run(async () => {
      const asked = JSON.stringify(CAP_FIELDS.map((field) => read.body[field]));
      const body = { ...read.body, ...(isConfirmed(asked) && { confirm: true }) };
      await change.mutateAsync({ params: { key_id: edited.key_id }, body });
      notifyDone(`“${edited.name}” was updated`);
      onClose();
    });
  };

  const rpm = {
    description: rpmHelp(edited),
    placeholder: String(edited.rpm ?? edited.rpm_ceiling),
    "data-autofocus": true,
  };
  return (
    <DialogForm form={form} submitLabel="Save" onSubmit={send} onCancel={onClose}>
      <KeyFields edited={edited} form={form} rpm={rpm} />
    </DialogForm>
  );
}

function rpmHelp({ rpm, rpm_ceiling: ceiling }: Key): string {
  return rpm === null
    ? `The ceiling of ${ceiling} applies. Leave blank to keep it. You can only lower it.`
    : `Leave blank to keep your limit of ${rpm}. 0 removes it, so that the ceiling of ${ceiling} applies.`;
}
