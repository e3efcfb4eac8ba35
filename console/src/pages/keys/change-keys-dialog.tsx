import { NativeSelect, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useChange } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { countKeys, type ChosenKeysProps } from "./chosen-keys.ts";
import { NO_EXPIRY } from "./expiry-choice.ts";
import { ExpiryField } from "./expiry-field.tsx";
import { useConfirmation } from "./edit-dialog.tsx";
import { DialogForm } from "./form-dialog.tsx";
import {
  readKeysChange,
  TAGS_HELP,
  type FieldProblems,
  type TagsChoice,
  type TypedKeysChange,
} from "./key-forms.ts";
import { BLANK_CAPS, CAP_FIELDS, KEY_READERS } from "./key-caps.ts";
import { CapFields } from "./cap-fields.tsx";
import { useSubmission } from "./use-submission.ts";

export default function ChangeKeysDialog(props: ChosenKeysProps): ReactNode {
  const title = `Change ${countKeys(props.keys.length)}`;
  return (
    <Dialog opened title={title} onClose={props.onClose}>
      <ChangeKeysForm {...props} />
    </Dialog>
  );
}

function ChangeKeysForm({ keys, onClose, onDone }: ChosenKeysProps): ReactNode {
  const change = useChange("POST /api/console/keys/change", {
    refreshes: KEY_READERS,
  });
  const submission = useSubmission();
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const [problems, setProblems] = useState<FieldProblems>({});
  const isConfirmed = useConfirmation(submission);
  const findError = (field: keyof FieldProblems): string | undefined =>
    problems[field] ?? fieldError(submission.fault, field);

  const send = (): void => {
    const read = readKeysChange(typed, Date.now());
    setProblems(read.isReady ? {} : read.problems);
    if (!read.isReady) return;
    if (Object.keys(read.body).length === 0) return onClose();
    submission.run(async () => {
      const asked = JSON.stringify(CAP_FIELDS.map((field) => read.body[field]));
      const key_ids = keys.map(({ key_id }) => key_id);
      const body = { key_ids, ...read.body, ...(isConfirmed(asked) && { confirm: true }) };
      const { changed } = await change.mutateAsync({ body });
      notifyDone(`${countKeys(changed)} updated`);
      onDone();
    });
  };

  return (
    <DialogForm
      submission={submission}
      fields={[...CAP_FIELDS, "tags", "expires_at"]}
      submitLabel="Save"
      onSubmit={send}
      onCancel={onClose}
    >
      <CapFields
        edited={undefined}
        value={typed.caps}
        onChange={(caps) => setTyped({ ...typed, caps })}
        errorOf={findError}
      />
      <ExpiryField
        current="each"
        value={typed.expiry}
        onChange={(expiry) => setTyped({ ...typed, expiry })}
        error={findError("expires_at")}
      />
      <TagsFields
        value={typed}
        onChange={(wanted) => setTyped({ ...typed, ...wanted })}
        error={findError("tags")}
      />
    </DialogForm>
  );
}

type TypedTags = Pick<TypedKeysChange, "tagsChoice" | "tags">;

function TagsFields(props: {
  readonly value: TypedTags;
  readonly onChange: (value: Partial<TypedTags>) => void;
  readonly error: string | undefined;
}): ReactNode {
  const { value, onChange, error } = props;
  return (
    <>
      <NativeSelect
        label="Tags"
        data={[...TAGS_CHOICES]}
        value={value.tagsChoice}
        onChange={(event) => onChange({ tagsChoice: event.currentTarget.value as TagsChoice })}
      />
      {value.tagsChoice === "replace" ? (
        <TextInput
          label="New tags"
          description={TAGS_HELP}
          maxLength={400}
          {...controlled(value.tags, (tags) => onChange({ tags }))}
          error={error}
        />
      ) : null}
    </>
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
