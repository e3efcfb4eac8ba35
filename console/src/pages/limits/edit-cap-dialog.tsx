import { useRef, useState, type ReactNode } from "react";

import { useChange } from "../../api/use-answer.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { CapField } from "../keys/cap-field.tsx";
import type { Cap } from "../keys/cap-left.ts";
import { DialogForm, FormDialog } from "../keys/form-dialog.tsx";
import { capInput, readCap } from "../keys/read-cap.ts";
import { useLast } from "../keys/use-last.ts";
import { isConfirmNeeded, useSubmission } from "../keys/use-submission.ts";

/** Sets or removes the monthly cap of the organization or of a key; open while there is a cap. */
export function EditCapDialog(props: {
  readonly edited: Cap | undefined;
  readonly onClose: () => void;
}): ReactNode {
  const { edited, onClose } = props;
  const shown = useLast(edited);
  return (
    <FormDialog
      opened={edited !== undefined}
      title={shown === undefined ? "" : titleOf(shown)}
      onClose={onClose}
    >
      {shown === undefined ? null : (
        <EditCapForm key={shown.key_id} edited={shown} onClose={onClose} />
      )}
    </FormDialog>
  );
}

function EditCapForm(props: { readonly edited: Cap; readonly onClose: () => void }): ReactNode {
  const { edited, onClose } = props;
  const save = useSaveCap(edited);
  const submission = useSubmission();
  const [typed, setTyped] = useState("");
  const sent = useRef<string>(undefined);
  const [problem, setProblem] = useState<string>();
  const send = (): void => {
    const read = readCap(typed);
    setProblem(read.kind === "problem" ? read.problem : undefined);
    if (read.kind === "problem") return;
    const capUsd = capInput(read);
    if (capUsd === undefined) return onClose();
    submission.run(async () => {
      // What was asked about was this amount; another one asks again.
      const isAnswered = isConfirmNeeded(submission.fault) && capUsd === sent.current;
      sent.current = capUsd;
      await save(capUsd, isAnswered);
      notifyDone(`${titleOf(edited)} was ${read.kind === "removed" ? "removed" : "updated"}`);
      onClose();
    });
  };
  return (
    <DialogForm
      submission={submission}
      fields={["cap_usd"]}
      submitLabel="Save"
      onSubmit={send}
      onCancel={onClose}
    >
      <CapField
        currentUsd={edited.cap_usd}
        value={typed}
        onChange={setTyped}
        error={problem ?? fieldError(submission.fault, "cap_usd")}
      />
    </DialogForm>
  );
}

function titleOf(cap: Cap): string {
  return cap.scope === "key" ? `Monthly cap of “${cap.name}”` : "Organization cap";
}

function useSaveCap({ key_id: keyId }: Cap): (capUsd: string, confirm: boolean) => Promise<void> {
  const forKey = useChange("PATCH /api/console/keys/:key_id", { refreshes: CAP_READERS });
  const forOrg = useChange("PATCH /api/console/org-cap", { refreshes: CAP_READERS });
  return async (capUsd, confirm) => {
    const body = { cap_usd: capUsd, ...(confirm && { confirm }) };
    if (keyId === null) await forOrg.mutateAsync({ body });
    else await forKey.mutateAsync({ params: { key_id: keyId }, body });
  };
}

const CAP_READERS = [
  "GET /api/console/limits",
  "GET /api/console/keys",
  "GET /api/console/keys/:key_id",
  "GET /api/console/overview",
] as const;
