import { NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState, type ReactNode } from "react";

import type { Connections } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { refreshAnswers, useAnswer } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog } from "../keys/form-dialog.tsx";
import { NAME_CHARS_MAX } from "../keys/key-forms.ts";
import { useSubmission } from "../keys/use-submission.ts";

interface AddProps {
  readonly providers: Connections["providers"];
  readonly onClose: () => void;
}

export const AddConnectionDialog = inDialog("Add connection", AddConnectionForm);

const FIELDS = ["provider", "name", "provider_key", "key_id"] as const;
type Field = (typeof FIELDS)[number];
type Problems = Readonly<Partial<Record<Field, string>>>;

function AddConnectionForm({ providers, onClose }: AddProps): ReactNode {
  const client = useQueryClient();
  const submission = useSubmission();
  const [provider, setProvider] = useState(providers[0]?.id ?? "");
  const [name, setName] = useState("");
  const [keyId, setKeyId] = useState("");
  const [problems, setProblems] = useState<Problems>({});
  // The field is uncontrolled and emptied on submit, so that the secret never enters the page's
  // state.
  const secret = useRef<HTMLInputElement>(null);
  const findError = (field: Field): string | undefined =>
    problems[field] ?? fieldError(submission.fault, field);

  const send = (): void => {
    const providerKey = secret.current?.value.trim() ?? "";
    const found = findProblems(name, providerKey);
    setProblems(found);
    if (Object.keys(found).length > 0) return;
    if (secret.current !== null) secret.current.value = "";
    const key = keyId === "" ? {} : { key_id: keyId };
    submission.run(async () => {
      await call("POST /api/console/connections", {
        body: { provider, name: name.trim(), provider_key: providerKey, ...key },
      });
      await refreshAnswers(client, ["GET /api/console/connections"]);
      notifyDone(`“${name.trim()}” was added`);
      onClose();
    });
  };

  return (
    <DialogForm
      submission={submission}
      fields={FIELDS}
      submitLabel="Add connection"
      onSubmit={send}
      onCancel={onClose}
    >
      <NativeSelect
        label="Provider"
        data-autofocus
        data={providers.map((each) => ({ value: each.id, label: each.name }))}
        {...controlled(provider, setProvider)}
        error={findError("provider")}
      />
      <TextInput
        label="Name"
        description="For your own reference, such as “team account”."
        maxLength={NAME_CHARS_MAX}
        {...controlled(name, setName)}
        error={findError("name")}
      />
      <PasswordInput
        ref={secret}
        label="Provider key"
        description="Stored encrypted. Only the last four characters are shown later."
        autoComplete="off"
        spellCheck={false}
        maxLength={4096}
        visibilityToggleButtonProps={{ "aria-label": "Show or hide the key" }}
        error={findError("provider_key")}
      />
      <UsedBySelect value={keyId} onChange={setKeyId} error={findError("key_id")} />
    </DialogForm>
  );
}

const PROVIDER_KEY_CHARS_MIN = 8;

function findProblems(name: string, providerKey: string): Problems {
  return {
    ...(name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(providerKey.length < PROVIDER_KEY_CHARS_MIN
      ? { provider_key: `Enter at least ${PROVIDER_KEY_CHARS_MIN} characters.` }
      : {}),
  };
}

function UsedBySelect(props: {
  readonly value: string;
  readonly onChange: (keyId: string) => void;
  readonly error: string | undefined;
}): ReactNode {
  const keys = useAnswer("GET /api/console/keys");
  const active = keys.data?.data.filter(({ disabled_at: at }) => at === null) ?? [];
  return (
    <NativeSelect
      label="Used by"
      data={[
        { value: "", label: "All keys" },
        ...active.map((key) => ({ value: key.key_id, label: `${key.name} (${key.label}…)` })),
      ]}
      {...controlled(props.value, props.onChange)}
      error={props.error}
    />
  );
}
