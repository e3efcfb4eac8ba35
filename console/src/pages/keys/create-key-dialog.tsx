import { TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { CreatedKey } from "../../api/contract.ts";
import { call } from "../../api/client.ts";
import { refreshAnswers, useAnswer } from "../../api/use-answer.ts";
import { CallSnippets } from "../../snippets/call-snippets.tsx";
import { useSampleCall } from "../../snippets/use-sample-call.ts";
import { SecretOnce } from "../../ui/secret-once.tsx";
import { NO_EXPIRY } from "./expiry-choice.ts";
import { DialogForm, inDialog, MoreFields, useForm } from "../../ui/form-dialog.tsx";
import { BLANK_CAPS, CAP_FIELDS, KEY_READERS } from "./caps.ts";
import { NAME_CHARS_MAX, readNewKey, stillWrong, type TypedKey } from "./key-forms.ts";
import { findNamesake } from "./match-keys.ts";
import { KeyFields } from "./key-fields.tsx";

const BLANK: TypedKey = {
  name: "",
  rpm: "",
  caps: BLANK_CAPS,
  tags: "",
  expiry: NO_EXPIRY,
  models: [],
};

/**
 * Shows the raw key once, and only this dialog has it in memory. The code that shows it is loaded
 * before the key is created, because a failure to load it later would lose the key.
 */
export default function CreateKeyDialog(props: {
  readonly opened: boolean;
  readonly rpmMax: number;
  readonly onClose: () => void;
  /** Called when the reader has saved the raw key; the caller then sets the focus. */
  readonly onSaved: () => void;
}) {
  const { opened, rpmMax, onClose } = props;
  const [created, setCreated] = useState<CreatedKey>();
  return (
    <>
      <FormDialog opened={opened} rpmMax={rpmMax} onClose={onClose} onCreated={setCreated} />
      <SecretOnce
        opened={created !== undefined}
        title={`Save your key “${created?.key.name ?? ""}”`}
        secret={created?.secret ?? ""}
        note="Copy it now. It is shown only once and cannot be recovered."
        onSaved={() => {
          setCreated(undefined);
          props.onSaved();
        }}
      >
        {created === undefined ? null : <FirstCall of={created} />}
      </SecretOnce>
    </>
  );
}

function FirstCall({ of: { key, secret } }: { readonly of: CreatedKey }) {
  const { of, hasOneRoute = false } = useSampleCall(key.models, secret);
  return <CallSnippets {...{ of, hasOneRoute }} />;
}

const FOLDED = ["rpm", ...CAP_FIELDS, "models", "tags", "expires_at"] as const;

const FormDialog = inDialog("Create key", CreateKeyForm);

interface CreateProps {
  readonly rpmMax: number;
  readonly onCreated: (created: CreatedKey) => void;
  readonly onClose: () => void;
}

function CreateKeyForm({ rpmMax, onCreated, onClose }: CreateProps) {
  const client = useQueryClient();
  const form = useForm<TypedKey>(BLANK, stillWrong);
  const keys = useAnswer("GET /api/console/keys").data?.data ?? [];
  const namesake = findNamesake(form.typed.name, keys);

  const send = (): void => {
    const read = readNewKey(form.typed, { rpmMax, nowMs: Date.now() });
    form.setProblems(read.isReady ? {} : read.problems);
    if (!read.isReady) return;
    form.submission.run(async () => {
      const created = await call("POST /api/console/keys", { body: read.body });
      onClose();
      onCreated(created);
      await refreshAnswers(client, KEY_READERS);
    });
  };

  return (
    <DialogForm form={form} submitLabel="Create key" onSubmit={send} onCancel={onClose}>
      <TextInput
        label="Name"
        description={
          namesake === undefined
            ? "What the key is for, such as “production” or “my laptop”."
            : `The key ${namesake.label}… has this name already. Another name avoids mistakes.`
        }
        data-autofocus
        required
        withAsterisk={false}
        maxLength={NAME_CHARS_MAX}
        {...form.text("name")}
      />
      <MoreFields
        label="Limits, expiry, models, and tags"
        isTelling={FOLDED.some((field) => form.errorOf(field) !== undefined)}
      >
        <KeyFields
          edited={null}
          form={form}
          rpm={{
            description: `1 to ${rpmMax}. Leave blank for ${rpmMax}.`,
            placeholder: String(rpmMax),
          }}
        />
      </MoreFields>
    </DialogForm>
  );
}
