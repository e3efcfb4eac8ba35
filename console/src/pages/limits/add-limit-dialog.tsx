import { Autocomplete, NativeSelect } from "@mantine/core";
import { useState, type ReactNode } from "react";

import type { Key, LimitRow } from "../../../../src/account/console-api/contract.ts";
import { useAnswer, useChange } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { LIMIT_READERS } from "./edit-limit-dialog.tsx";
import { pickCeilings, LIMIT_KINDS, readLimits, type Ceilings } from "./limit-change.ts";
import { BLANK_LIMITS, LimitFields } from "./limit-fields.tsx";

interface AddProps {
  readonly rows: readonly LimitRow[];
  readonly onClose: () => void;
}

export default inDialog("Add model limit", AddLimitForm);

function AddLimitForm({ rows, onClose }: AddProps): ReactNode {
  const models = useAnswer("GET /api/models.json");
  const keys = useAnswer("GET /api/console/keys").data?.data;
  const change = useChange("POST /api/admission-limits", { refreshes: LIMIT_READERS });
  const submission = useSubmission();
  const [model, setModel] = useState("");
  const [keyId, setKeyId] = useState("");
  const [typed, setTyped] = useState(BLANK_LIMITS);
  const [problems, setProblems] = useState<Problems>({});
  const ceilings = ceilingsUnder(rows, keyId);

  const send = (): void => {
    const read = readLimits(typed, ceilings);
    const found: Problems = {
      ...(model.trim() === "" ? { model: "Choose a model." } : {}),
      ...(read.isReady ? {} : read.problems),
      ...(read.isReady && Object.keys(read.values).length === 0
        ? { rpm: "Set at least one of the three limits." }
        : {}),
    };
    setProblems(found);
    if (!read.isReady || Object.keys(found).length > 0) return;
    const key = keyId === "" ? {} : { key_id: keyId };
    submission.run(async () => {
      await change.mutateAsync({
        body: { scope: "model", model: model.trim(), ...key, ...read.values },
      });
      notifyDone(`Limit for ${model.trim()} was added`);
      onClose();
    });
  };

  return (
    <DialogForm
      submission={submission}
      fields={["model", "key_id", ...LIMIT_KINDS]}
      submitLabel="Add limit"
      onSubmit={send}
      onCancel={onClose}
    >
      <Autocomplete
        label="Model"
        description="The model ID in the catalog."
        data-autofocus
        data={models.data === undefined ? [] : [...models.data.models]}
        limit={20}
        maxLength={200}
        value={model}
        onChange={setModel}
        error={problems.model ?? fieldError(submission.fault, "model")}
      />
      <NativeSelect
        label="Applies to"
        data={keyOptions(rows, keys)}
        {...controlled(keyId, setKeyId)}
        error={fieldError(submission.fault, "key_id")}
      />
      <LimitFields
        typed={typed}
        onChange={setTyped}
        ceilings={ceilings}
        own={NO_LIMITS}
        errorOf={(kind) => problems[kind] ?? fieldError(submission.fault, kind)}
      />
    </DialogForm>
  );
}

type Problems = Readonly<Partial<Record<"model" | "rpm" | "tpm" | "concurrency", string>>>;

const NO_LIMITS: Ceilings = { rpm: null, tpm: null, concurrency: null };

function keyOptions(
  rows: readonly LimitRow[],
  known: readonly Key[] = [],
): { value: string; label: string }[] {
  const keys = rows.filter(({ scope, key_id: id }) => scope === "key" && id !== null);
  const labels = new Map(known.map(({ key_id: id, label }) => [id, ` (${label}…)`]));
  return [
    { value: "", label: "All keys combined" },
    ...keys.map((row) => ({
      value: row.key_id ?? "",
      label: `Key: ${row.name}${labels.get(row.key_id ?? "") ?? ""}`,
    })),
  ];
}

/** The limits of the key or organization. A model's limit cannot be above them. */
function ceilingsUnder(rows: readonly LimitRow[], keyId: string): Ceilings {
  const parent = rows.find((row) =>
    keyId === "" ? row.scope === "org" : row.scope === "key" && row.key_id === keyId,
  );
  return parent === undefined ? NO_LIMITS : pickCeilings(parent);
}
