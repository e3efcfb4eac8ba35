import { Button, FileButton, Group, Stack, Text, Textarea } from "@mantine/core";
import { useState, type ReactNode } from "react";

import type { OperatorComparison } from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { fieldError } from "../../ui/field-errors.ts";
import { DialogForm, inDialog } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";

interface CompareProps {
  readonly provider: string;
  readonly period: string;
  readonly onClose: () => void;
  readonly onCompared: (found: OperatorComparison) => void;
}

export const CompareDialog = inDialog("Compare statement", CompareForm);

/** Maximum size of a file. It equals the server's maximum; the page checks it before the upload. */
const BYTES_MAX = 1024 * 1024;
const TOO_LARGE =
  "The file is larger than 1 MiB. Compare it with the command settlement reconcile.";

function CompareForm({ provider, period, onClose, onCompared }: CompareProps): ReactNode {
  const compare = useChange("POST /api/operator/settlement/:provider_id/:period_start/reconcile", {
    refreshes: ["GET /api/operator/settlement/:provider_id/:period_start"],
  });
  const submission = useSubmission();
  const [statement, setStatement] = useState("");
  const [problem, setProblem] = useState<string>();
  const write = (text: string): void => {
    setProblem(undefined);
    setStatement(text);
  };
  const send = (): void => {
    if (new Blob([statement]).size > BYTES_MAX) return setProblem(TOO_LARGE);
    submission.run(async () => {
      const params = { provider_id: provider, period_start: period };
      onCompared(await compare.mutateAsync({ params, body: { statement } }));
      onClose();
    });
  };
  const read = (file: File | null): void => {
    if (file === null) return;
    if (file.size > BYTES_MAX) return setProblem(TOO_LARGE);
    void file.text().then(write, () => setProblem("The file could not be read. Choose it again."));
  };
  return (
    <DialogForm
      submission={submission}
      fields={["statement"]}
      submitLabel="Compare"
      onSubmit={send}
      onCancel={onClose}
    >
      <Text size="sm">
        The comparison is kept with the period and changes no amount. It needs a sign-in within the
        last 12 hours.
      </Text>
      <Stack gap="xs">
        <Textarea
          label="Statement"
          description="JSON with total_usd and lines, or CSV with the columns attempt_id or request_id, and cost_usd. At most 1 MiB and 20,000 lines."
          data-autofocus
          autosize
          minRows={6}
          maxRows={12}
          spellCheck={false}
          {...controlled(statement, write)}
          error={problem ?? fieldError(submission.fault, "statement")}
        />
        <Group>
          <FileButton accept=".json,.csv,text/csv,application/json" onChange={read}>
            {(button) => (
              <Button {...button} size="xs" variant="default">
                Read from a file
              </Button>
            )}
          </FileButton>
        </Group>
      </Stack>
    </DialogForm>
  );
}
