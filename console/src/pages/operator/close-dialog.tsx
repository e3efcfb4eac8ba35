import { Text } from "@mantine/core";
import type { ReactNode } from "react";

import type {
  OperatorClosing,
  OperatorSettlement,
} from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { formatCount } from "../../ui/count.tsx";
import { Facts } from "../../ui/facts.tsx";
import { addUsd, parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";

export const CloseDialog = inDialog("Close periods", CloseForm);

interface CloseProps {
  readonly balances: OperatorSettlement["balances"];
  readonly onClose: () => void;
  /** Called with the result. The page shows its `unlisted`, the providers that have no manifest. */
  readonly onClosed: (closing: OperatorClosing) => void;
}

function CloseForm({ balances, onClose, onClosed }: CloseProps): ReactNode {
  const open = balances.filter(({ accrued_usd: usd }) => parseUsd(usd) !== 0n);
  const close = useChange("POST /api/operator/settlement/close", {
    refreshes: ["GET /api/operator/settlement", "GET /api/operator/health"],
  });
  const submission = useSubmission();
  const send = (): void =>
    submission.run(async () => {
      const closing = await close.mutateAsync({ body: {} });
      notifyDone(closedText(closing.closed_count));
      onClosed(closing);
      onClose();
    });
  return (
    <DialogForm
      submission={submission}
      fields={[]}
      submitLabel="Close periods"
      onSubmit={send}
      onCancel={onClose}
    >
      <Text size="sm">
        Closes every period that has ended, of all providers, by the terms in their manifests. A
        closed period cannot be opened again. It needs a sign-in within the last 12 hours.
      </Text>
      <Text size="sm">
        At most <Money usd={addUsd(...open.map(({ accrued_usd: usd }) => usd))} isBrief /> is
        closed; what belongs to a period that has not ended stays open:
      </Text>
      <Facts
        facts={open.map(({ provider, accrued_usd: usd }) => [
          provider,
          <Money key={provider} usd={usd} isBrief />,
        ])}
      />
    </DialogForm>
  );
}

function closedText(count: number): string {
  if (count === 0) return "Nothing to close: every period that has ended is closed";
  return count === 1 ? "1 period was closed" : `${formatCount(count)} periods were closed`;
}
