import { Autocomplete, NativeSelect } from "@mantine/core";

import type { Key, LimitRow } from "../../api/contract.ts";
import { useAnswer, useChange } from "../../api/use-answer.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog, useForm } from "../../ui/form-dialog.tsx";
import { LIMIT_READERS, BLANK_LIMITS, LimitFields } from "./edit-limit-dialog.tsx";
import { pickLimits, readLimits, stillWrong, type Ceilings } from "./limit-change.ts";

interface AddProps {
  readonly rows: readonly LimitRow[];
  readonly onClose: () => void;
}

export default inDialog("Add model limit", AddLimitForm);

function AddLimitForm({ rows, onClose }: AddProps) {
  const models = useAnswer("GET /api/models.json");
  const keys = useAnswer("GET /api/console/keys").data?.data;
  const change = useChange("POST /api/admission-limits", LIMIT_READERS);
  const form = useForm({ model: "", key_id: "", limits: BLANK_LIMITS }, stillWrong);
  const { model, key_id: keyId, limits } = form.typed;
  const ceilings = ceilingsUnder(rows, keyId);

  const send = (): void => {
    const read = readLimits(limits, ceilings);
    const found = {
      ...(model.trim() === "" ? { model: "Choose a model." } : {}),
      ...(read.isReady ? {} : read.problems),
      ...(read.isReady && Object.keys(read.values).length === 0
        ? { rpm: "Set at least one of the three limits." }
        : {}),
    };
    form.setProblems(found);
    if (!read.isReady || Object.keys(found).length > 0) return;
    const key = keyId === "" ? {} : { key_id: keyId };
    form.submission.run(async () => {
      await change.mutateAsync({
        body: { scope: "model", model: model.trim(), ...key, ...read.values },
      });
      notifyDone(`Limit for ${model.trim()} was added`);
      onClose();
    });
  };

  return (
    <DialogForm form={form} submitLabel="Add limit" onSubmit={send} onCancel={onClose}>
      <Autocomplete
        label="Model"
        description="The model ID in the catalog."
        data-autofocus
        data={models.data === undefined ? [] : [...models.data.models]}
        limit={20}
        maxLength={200}
        value={model}
        onChange={(to) => form.set({ model: to })}
        error={form.errorOf("model")}
      />
      <NativeSelect label="Applies to" data={keyOptions(rows, keys)} {...form.text("key_id")} />
      <LimitFields form={form} ceilings={ceilings} own={NO_LIMITS} />
    </DialogForm>
  );
}

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

/** The limits of the key or organization. A model's limit cannot exceed them. */
function ceilingsUnder(rows: readonly LimitRow[], keyId: string): Ceilings {
  const parent = rows.find((row) =>
    keyId === "" ? row.scope === "org" : row.scope === "key" && row.key_id === keyId,
  );
  return parent === undefined ? NO_LIMITS : pickLimits(parent, "ceiling");
}
