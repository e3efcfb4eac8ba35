import { NativeSelect, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";

import type { OperatorContract } from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { readContractForm, type ContractForm } from "./contract-form.ts";
import { ORG_READERS } from "./org-readers.ts";

interface ContractProps {
  readonly orgId: string;
  readonly onClose: () => void;
}

export const ContractDialog = inDialog("Set contract limits", ContractFields);

const EMPTY: ContractForm = { scope: "org", target: "", rpm: "", tpm: "", concurrency: "" };

const SCOPES: { readonly value: OperatorContract["scope"]; readonly label: string }[] = [
  { value: "org", label: "All keys combined" },
  { value: "key", label: "Each key, or one key" },
  { value: "model", label: "One model" },
];

const VALUES = [
  ["rpm", "Requests per minute"],
  ["tpm", "Tokens per minute"],
  ["concurrency", "Concurrent requests"],
] as const;

function ContractFields({ orgId, onClose }: ContractProps): ReactNode {
  const change = useChange("POST /api/operator/organizations/:org_id/contract", {
    refreshes: ORG_READERS,
  });
  const submission = useSubmission();
  const [typed, setTyped] = useState(EMPTY);
  const [problems, setProblems] = useState<Partial<Record<keyof ContractForm, string>>>({});
  const send = (): void => {
    const read = readContractForm(typed);
    setProblems(read.isReady ? {} : read.problems);
    if (!read.isReady) return;
    submission.run(async () => {
      await change.mutateAsync({ params: { org_id: orgId }, body: read.body });
      notifyDone("The contract limits apply within five seconds");
      onClose();
    });
  };
  return (
    <DialogForm
      submission={submission}
      fields={["model", "key_id", "rpm", "tpm", "concurrency"]}
      submitLabel="Set limits"
      onSubmit={send}
      onCancel={onClose}
    >
      <NativeSelect
        label="Applies to"
        data={SCOPES}
        value={typed.scope}
        onChange={(event) =>
          setTyped({ ...typed, scope: event.currentTarget.value as OperatorContract["scope"] })
        }
      />
      {typed.scope === "org" ? null : (
        <TextInput
          label={typed.scope === "model" ? "Model ID" : "Key ID"}
          description={typed.scope === "model" ? undefined : "Leave blank for each key."}
          maxLength={200}
          {...controlled(typed.target, (target) => setTyped({ ...typed, target }))}
          error={
            problems.target ??
            fieldError(submission.fault, "model") ??
            fieldError(submission.fault, "key_id")
          }
        />
      )}
      {VALUES.map(([name, label]) => (
        <TextInput
          key={name}
          label={label}
          description="A number, or “default”. Leave blank to keep it."
          maxLength={10}
          value={typed[name]}
          onChange={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })}
          error={problems[name] ?? fieldError(submission.fault, name)}
        />
      ))}
    </DialogForm>
  );
}
