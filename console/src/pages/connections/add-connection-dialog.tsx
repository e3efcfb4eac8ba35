import { NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";

import type { Connections } from "../../api/contract.ts";
import { call } from "../../api/client.ts";
import { refreshAnswers, useAnswer } from "../../api/use-answer.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog, useForm, type Problems } from "../../ui/form-dialog.tsx";
import { NAME_CHARS_MAX } from "../keys/key-forms.ts";

interface AddProps {
  readonly providers: Connections["providers"];
  readonly onClose: () => void;
}

export const AddConnectionDialog = inDialog("Add connection", AddConnectionForm);

function AddConnectionForm({ providers, onClose }: AddProps) {
  const client = useQueryClient();
  const first = { provider: providers[0]?.id ?? "", name: "", key_id: "", provider_key: "" };
  const form = useForm(first);
  // The field is uncontrolled and emptied before the call: the page's state never has the secret.
  const secret = useRef<HTMLInputElement>(null);

  const send = (): void => {
    const { provider, key_id: keyId, ...typed } = form.typed;
    const name = typed.name.trim();
    const providerKey = secret.current?.value.trim() ?? "";
    const found = findProblems(name, providerKey);
    form.setProblems(found);
    if (Object.keys(found).length > 0) return;
    if (secret.current !== null) secret.current.value = "";
    const key = keyId === "" ? {} : { key_id: keyId };
    form.submission.run(async () => {
      await call("POST /api/console/connections", {
        body: { provider, name, provider_key: providerKey, ...key },
      });
      await refreshAnswers(client, ["GET /api/console/connections"]);
      notifyDone(`“${name}” was added`);
      onClose();
    });
  };

  const keys = useAnswer("GET /api/console/keys");
  const active = keys.data?.data.filter(({ disabled_at: at }) => at === null) ?? [];
  return (
    <DialogForm form={form} submitLabel="Add connection" onSubmit={send} onCancel={onClose}>
      <NativeSelect
        label="Provider"
        data-autofocus
        data={providers.map((each) => ({ value: each.id, label: each.name }))}
        {...form.text("provider")}
      />
      <TextInput
        label="Name"
        description="For your own reference, such as “team account”."
        maxLength={NAME_CHARS_MAX}
        {...form.text("name")}
      />
      <PasswordInput
        ref={secret}
        label="Provider key"
        description="Stored encrypted. Only the last four characters are shown later."
        autoComplete="off"
        spellCheck={false}
        maxLength={4096}
        visibilityToggleButtonProps={{ "aria-label": "Show or hide the key" }}
        // Clears the field's problem.
        onChange={() => form.set({ provider_key: "" })}
        error={form.errorOf("provider_key")}
      />
      <NativeSelect
        label="Used by"
        data={[
          { value: "", label: "All keys" },
          ...active.map((key) => ({ value: key.key_id, label: `${key.name} (${key.label}…)` })),
        ]}
        {...form.text("key_id")}
      />
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
