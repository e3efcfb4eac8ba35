import { Checkbox, Stack, TextInput } from "@mantine/core";

import type { LimitRow } from "../../api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { controlled, checkable } from "../../ui/fields.ts";
import { notifyDone } from "../../ui/notice.ts";
import {
  editDialog,
  type EditProps,
  DialogForm,
  useForm,
  type Form,
} from "../../ui/form-dialog.tsx";
import {
  pickLimits,
  LIMIT_KINDS,
  readLimits,
  stillWrong,
  toScope,
  type LimitKind,
  KIND_LABELS,
  type Ceilings,
  type TypedLimit,
  type TypedLimits,
} from "./limit-change.ts";
import { formatCount } from "../../ui/format.ts";

export const EditLimitDialog = editDialog((row) => `Limits of ${describeRow(row)}`, EditLimitForm);

function EditLimitForm({ edited, onClose }: EditProps<LimitRow>) {
  const change = useChange("POST /api/admission-limits", LIMIT_READERS);
  const form = useForm({ limits: BLANK_LIMITS }, stillWrong);
  const ceilings = pickLimits(edited, "ceiling");
  const send = (): void => {
    const read = readLimits(form.typed.limits, ceilings);
    form.setProblems(read.isReady ? {} : read.problems);
    const scope = toScope(edited);
    if (!read.isReady || scope === undefined) return;
    if (Object.keys(read.values).length === 0) return onClose();
    form.submission.run(async () => {
      await change.mutateAsync({ body: { ...scope, ...read.values } });
      notifyDone(`Limits of ${describeRow(edited)} were updated`);
      onClose();
    });
  };
  return (
    <DialogForm form={form} submitLabel="Save" onSubmit={send} onCancel={onClose}>
      <LimitFields form={form} ceilings={ceilings} own={pickLimits(edited, "own")} />
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

export const BLANK_LIMITS: TypedLimits = {
  rpm: { text: "", isRemoved: false },
  tpm: { text: "", isRemoved: false },
  concurrency: { text: "", isRemoved: false },
};

/** The fields for the limits of one scope. They start empty; a blank field changes nothing. */
export function LimitFields(props: {
  readonly form: Form<{ readonly limits: TypedLimits }>;
  readonly ceilings: Ceilings;
  readonly own: Ceilings;
}) {
  const { form, ceilings, own } = props;
  const { limits } = form.typed;
  return LIMIT_KINDS.map((kind) => (
    <LimitField
      key={kind}
      kind={kind}
      typed={limits[kind]}
      bounds={{ ceiling: ceilings[kind], own: own[kind] }}
      error={form.errorOf(kind)}
      onChange={(limit) => form.set({ limits: { ...limits, [kind]: limit } })}
    />
  ));
}

function LimitField(props: {
  readonly kind: LimitKind;
  readonly typed: TypedLimit;
  readonly bounds: { readonly ceiling: number | null; readonly own: number | null };
  readonly error: string | undefined;
  readonly onChange: (typed: TypedLimit) => void;
}) {
  const { kind, typed, bounds, error, onChange } = props;
  const { ceiling, own } = bounds;
  const { label } = KIND_LABELS[kind];
  return (
    <Stack gap={6}>
      <TextInput
        label={label}
        description={
          ceiling === null
            ? "Leave blank to keep it unchanged. There is no ceiling."
            : `1 to ${formatCount(ceiling)}. Leave blank to keep it unchanged.`
        }
        placeholder={own === null ? "Not set" : String(own)}
        inputMode="numeric"
        maxLength={12}
        disabled={typed.isRemoved}
        {...controlled(typed.text, (text) => onChange({ ...typed, text }))}
        error={error}
      />
      {own === null ? null : (
        <Checkbox
          size="xs"
          label={`Remove my limit of ${formatCount(own)}`}
          {...checkable(typed.isRemoved, (isOn) => onChange({ ...typed, isRemoved: isOn }))}
        />
      )}
    </Stack>
  );
}
