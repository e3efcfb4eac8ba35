import { useState, type ReactNode } from "react";

import type { LimitRow } from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { editDialog, type EditProps } from "../keys/edit-dialog.tsx";
import { DialogForm } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { pickCeilings, LIMIT_KINDS, readLimits, toScope, type LimitKind } from "./limit-change.ts";
import { BLANK_LIMITS, LimitFields } from "./limit-fields.tsx";

export const EditLimitDialog = editDialog((row) => `Limits of ${describeRow(row)}`, EditLimitForm);

function EditLimitForm({ edited, onClose }: EditProps<LimitRow>): ReactNode {
  const change = useChange("POST /api/admission-limits", { refreshes: LIMIT_READERS });
  const submission = useSubmission();
  const [typed, setTyped] = useState(BLANK_LIMITS);
  const [problems, setProblems] = useState<Partial<Record<LimitKind, string>>>({});
  const send = (): void => {
    const read = readLimits(typed, pickCeilings(edited));
    setProblems(read.isReady ? {} : read.problems);
    const scope = toScope(edited);
    if (!read.isReady || scope === undefined) return;
    if (Object.keys(read.values).length === 0) return onClose();
    submission.run(async () => {
      await change.mutateAsync({ body: { ...scope, ...read.values } });
      notifyDone(`Limits of ${describeRow(edited)} were updated`);
      onClose();
    });
  };
  return (
    <DialogForm
      submission={submission}
      fields={LIMIT_KINDS}
      submitLabel="Save"
      onSubmit={send}
      onCancel={onClose}
    >
      <LimitFields
        typed={typed}
        onChange={setTyped}
        ceilings={pickCeilings(edited)}
        own={{
          rpm: edited.rpm.own,
          tpm: edited.tpm.own,
          concurrency: edited.concurrency.own,
        }}
        errorOf={(kind) => problems[kind] ?? fieldError(submission.fault, kind)}
      />
    </DialogForm>
  );
}

export const LIMIT_READERS = [
  "GET /api/console/limits",
  "GET /api/console/keys",
  "GET /api/console/keys/:key_id",
] as const;

function describeRow(row: LimitRow): string {
  if (row.scope === "org") return "the organization";
  return row.scope === "key" ? `“${row.name}”` : (row.model ?? row.name);
}
