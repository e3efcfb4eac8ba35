import { useChange } from "../../api/use-answer.ts";
import { notifyDone } from "../../ui/notice.ts";
import { CapField } from "../keys/key-fields.tsx";
import {
  type CapRow,
  KEY_CAPS,
  KEY_READERS,
  PERIOD_NAMES,
  capInput,
  readCap,
} from "../keys/caps.ts";
import {
  editDialog,
  useConfirmation,
  type EditProps,
  DialogForm,
  useForm,
} from "../../ui/form-dialog.tsx";

export const EditCapDialog = editDialog(describeRow, EditCapForm);

function EditCapForm({ edited, onClose }: EditProps<CapRow>) {
  const forKey = useChange("PATCH /api/console/keys/:key_id", KEY_READERS);
  const forOrg = useChange("PATCH /api/console/org-cap", KEY_READERS);
  const form = useForm({ usd: "" }, () => ({}));
  const isConfirmed = useConfirmation(form.submission);
  const cap = KEY_CAPS.find(({ period }) => period === edited.period) ?? KEY_CAPS[0];
  const send = (): void => {
    const read = readCap(form.typed.usd);
    form.setProblems(read.kind === "problem" ? { [cap.field]: read.problem } : {});
    if (read.kind === "problem") return;
    const capUsd = capInput(read);
    if (capUsd === undefined) return onClose();
    form.submission.run(async () => {
      const { key_id } = edited;
      const sure = isConfirmed(capUsd) && { confirm: true };
      if (key_id === null) {
        await forOrg.mutateAsync({ body: { cap_usd: capUsd, ...sure } });
      } else {
        const body = { [cap.field]: capUsd, ...sure };
        await forKey.mutateAsync({ params: { key_id }, body });
      }
      notifyDone(`${describeRow(edited)} was ${read.kind === "removed" ? "removed" : "updated"}`);
      onClose();
    });
  };
  return (
    <DialogForm form={form} submitLabel="Save" onSubmit={send} onCancel={onClose}>
      <CapField
        of={cap}
        currentUsd={edited.capUsd}
        value={form.typed.usd}
        onChange={(usd) => form.set({ usd })}
        error={form.errorOf(cap.field)}
      />
    </DialogForm>
  );
}

function describeRow({ scope, name, period }: CapRow): string {
  return scope === "key" ? `${PERIOD_NAMES[period]} cap of “${name}”` : "Organization cap";
}
