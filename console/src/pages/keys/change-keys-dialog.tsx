import { NativeSelect, TextInput } from "@mantine/core";

import { useChange } from "../../api/use-answer.ts";
import { controlled } from "../../ui/fields.ts";
import { notifyDone } from "../../ui/notice.ts";
import { countKeys, type ChosenKeysProps } from "./chosen-bar.tsx";
import { NO_EXPIRY } from "./expiry-choice.ts";
import { ExpiryField, CapFields } from "./key-fields.tsx";
import { useConfirmation, DialogForm, inDialog, useForm } from "../../ui/form-dialog.tsx";
import {
  readKeysChange,
  stillWrong,
  TAGS_HELP,
  type TagsChoice,
  type TypedKeysChange,
} from "./key-forms.ts";
import { BLANK_CAPS, CAP_FIELDS, KEY_READERS } from "./caps.ts";

export default inDialog(({ keys }) => `Change ${countKeys(keys.length)}`, ChangeKeysForm);

function ChangeKeysForm({ keys, onClose, onDone }: ChosenKeysProps) {
  const change = useChange("POST /api/console/keys/change", KEY_READERS);
  const form = useForm<TypedKeysChange>(NOTHING_TYPED, stillWrong);
  const isConfirmed = useConfirmation(form.submission);
  const { tagsChoice, expiry } = form.typed;

  const send = (): void => {
    const read = readKeysChange(form.typed, Date.now());
    form.setProblems(read.isReady ? {} : read.problems);
    if (!read.isReady) return;
    if (Object.keys(read.body).length === 0) return onClose();
    form.submission.run(async () => {
      const asked = JSON.stringify(CAP_FIELDS.map((field) => read.body[field]));
      const key_ids = keys.map(({ key_id }) => key_id);
      const body = { key_ids, ...read.body, ...(isConfirmed(asked) && { confirm: true }) };
      const { changed } = await change.mutateAsync({ body });
      notifyDone(`${countKeys(changed)} updated`);
      onDone();
    });
  };

  return (
    <DialogForm form={form} submitLabel="Save" onSubmit={send} onCancel={onClose}>
      <CapFields edited={undefined} form={form} />
      <ExpiryField
        current="each"
        value={expiry}
        onChange={(to) => form.set({ expiry: to })}
        error={form.errorOf("expires_at")}
      />
      <NativeSelect
        label="Tags"
        data={[...TAGS_CHOICES]}
        {...controlled(tagsChoice, (to) => form.set({ tagsChoice: to }))}
      />
      {tagsChoice === "replace" ? (
        <TextInput
          label="New tags"
          description={TAGS_HELP}
          maxLength={400}
          {...form.text("tags")}
        />
      ) : null}
    </DialogForm>
  );
}

const TAGS_CHOICES: readonly { readonly value: TagsChoice; readonly label: string }[] = [
  { value: "keep", label: "Keep the tags of each key" },
  { value: "replace", label: "Replace the tags" },
  { value: "remove", label: "Remove all tags" },
];

const NOTHING_TYPED: TypedKeysChange = {
  caps: BLANK_CAPS,
  expiry: NO_EXPIRY,
  tagsChoice: "keep",
  tags: "",
};
