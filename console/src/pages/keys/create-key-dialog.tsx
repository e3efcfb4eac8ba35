import { TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import type { CreatedKey } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { CallSnippets } from "../../snippets/call-snippets.tsx";
import { useSampleCall } from "../../snippets/use-sample-call.ts";
import { controlled } from "../../ui/controlled.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { SecretOnce } from "../../ui/secret-once.tsx";
import { NO_EXPIRY } from "./expiry-choice.ts";
import { ExpiryField } from "./expiry-field.tsx";
import { DialogForm, MoreFields } from "./form-dialog.tsx";
import { BLANK_CAPS, CAP_FIELDS } from "./key-caps.ts";
import {
  NAME_CHARS_MAX,
  readNewKey,
  stillWrong,
  type FieldProblems,
  type TypedKey,
} from "./key-forms.ts";
import { ModelsField } from "./models-field.tsx";
import { findNamesake } from "./match-keys.ts";
import { CapAndTagFields } from "./cap-fields.tsx";
import { useSubmission } from "./use-submission.ts";

const BLANK: TypedKey = {
  name: "",
  rpm: "",
  caps: BLANK_CAPS,
  tags: "",
  expiry: NO_EXPIRY,
  models: [],
};

/**
 * Asks for a new key's name and limits, then shows the raw key once. The code that shows it is
 * loaded before the key is created, and only this dialog has the raw key in memory.
 */
export default function CreateKeyDialog(props: {
  readonly opened: boolean;
  readonly rpmMax: number;
  readonly onClose: () => void;
  /** Called when the reader has saved the raw key; the caller then sets the focus. */
  readonly onSaved: () => void;
}): ReactNode {
  const { opened, rpmMax, onClose } = props;
  const [created, setCreated] = useState<CreatedKey>();
  return (
    <>
      <Dialog opened={opened} title="Create key" onClose={onClose}>
        <CreateKeyForm
          rpmMax={rpmMax}
          onClose={onClose}
          onCreated={(key) => {
            onClose();
            setCreated(key);
          }}
        />
      </Dialog>
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

function FirstCall({ of: { key, secret } }: { readonly of: CreatedKey }): ReactNode {
  const { of, hasOneRoute = false } = useSampleCall(key.models, secret);
  return <CallSnippets {...{ of, hasOneRoute }} />;
}

const FOLDED = ["rpm", ...CAP_FIELDS, "tags", "expires_at"] as const;

interface CreateProps {
  readonly rpmMax: number;
  readonly onCreated: (created: CreatedKey) => void;
  readonly onClose: () => void;
}

function CreateKeyForm({ rpmMax, onCreated, onClose }: CreateProps): ReactNode {
  const client = useQueryClient();
  const submission = useSubmission();
  const [typed, setTyped] = useState(BLANK);
  const [problems, setProblems] = useState<FieldProblems>({});
  const keys = useAnswer("GET /api/console/keys").data?.data ?? [];
  const namesake = findNamesake(typed.name, keys);
  const findError = (field: keyof FieldProblems): string | undefined =>
    problems[field] ?? fieldError(submission.fault, field);

  const isWrong = FOLDED.some((field) => findError(field) !== undefined);
  /** Changes fields, and drops the problems that were found in their earlier contents. */
  const change = (changed: Partial<TypedKey>): void => {
    setTyped({ ...typed, ...changed });
    setProblems(stillWrong(problems, changed));
  };

  const send = (): void => {
    const read = readNewKey(typed, { rpmMax, nowMs: Date.now() });
    setProblems(read.isReady ? {} : read.problems);
    if (!read.isReady) return;
    submission.run(async () => {
      const created = await call("POST /api/console/keys", { body: read.body });
      onCreated(created);
      await client.invalidateQueries({ queryKey: ["GET /api/console/keys"] });
    });
  };

  return (
    <DialogForm
      submission={submission}
      fields={["name", "rpm", ...CAP_FIELDS, "tags", "expires_at", "models"]}
      submitLabel="Create key"
      onSubmit={send}
      onCancel={onClose}
    >
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
        {...controlled(typed.name, (name) => change({ name }))}
        error={findError("name")}
      />
      <MoreFields label="Limits, expiry, models, and tags" isTelling={isWrong}>
        <TextInput
          label="Requests per minute"
          description={`1 to ${rpmMax}. Leave blank for ${rpmMax}.`}
          placeholder={String(rpmMax)}
          inputMode="numeric"
          maxLength={9}
          {...controlled(typed.rpm, (rpm) => change({ rpm }))}
          error={findError("rpm")}
        />
        <CapAndTagFields edited={null} value={typed} onChange={change} errorOf={findError} />
        <ExpiryField
          current={undefined}
          value={typed.expiry}
          onChange={(expiry) => change({ expiry })}
          error={findError("expires_at")}
        />
        <ModelsField
          value={typed.models}
          onChange={(models) => change({ models })}
          error={fieldError(submission.fault, "models")}
        />
      </MoreFields>
    </DialogForm>
  );
}
