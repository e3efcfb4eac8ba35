import { FileButton, Group, Stack, Text, Textarea, TextInput } from "@mantine/core";

import type {
  OperatorClosing,
  OperatorComparison,
  OperatorPeriod,
  OperatorSettlement,
} from "../../api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { SmallButton } from "../../ui/buttons.tsx";
import { Facts } from "../../ui/facts.tsx";
import { controlled } from "../../ui/fields.ts";
import { formatCount } from "../../ui/format.ts";
import { addUsd, bareUsd, parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { notifyDone } from "../../ui/notice.ts";
import {
  DialogForm,
  editDialog,
  inDialog,
  useForm,
  type EditProps,
} from "../../ui/form-dialog.tsx";
import { AmountFields } from "./organization-dialogs.tsx";

const refreshes = ["GET /api/operator/settlement", "GET /api/operator/health"] as const;
const REF_MEANS = "Identifies this payment permanently: recording it again changes nothing.";

export const CloseDialog = inDialog("Close periods", CloseForm);

interface CloseProps {
  readonly balances: OperatorSettlement["balances"];
  readonly onClose: () => void;
  /** Called with the result. The page shows its `unlisted`: providers that have no manifest. */
  readonly onClosed: (closing: OperatorClosing) => void;
}

function CloseForm({ balances, onClose, onClosed }: CloseProps) {
  const open = balances.filter(({ accrued_usd: usd }) => parseUsd(usd) !== 0n);
  const close = useChange("POST /api/operator/settlement/close", refreshes);
  const form = useForm({});
  const send = (): void =>
    form.submission.run(async () => {
      const closing = await close.mutateAsync({ body: {} });
      notifyDone(closedText(closing.closed_count));
      onClosed(closing);
      onClose();
    });
  return (
    <DialogForm form={form} submitLabel="Close periods" onSubmit={send} onCancel={onClose}>
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
          <Money usd={usd} isBrief />,
        ])}
      />
    </DialogForm>
  );
}

function closedText(count: number): string {
  if (count === 0) return "Nothing to close: every period that has ended is closed";
  return count === 1 ? "1 period was closed" : `${formatCount(count)} periods were closed`;
}

/** Records money paid to a provider in advance, at most once per reference. */
export const DepositDialog = inDialog("Record deposit", DepositForm);

function DepositForm({ onClose }: { readonly onClose: () => void }) {
  const deposit = useChange("POST /api/operator/settlement/:provider_id/deposits", refreshes);
  const form = useForm({ provider: "", amount: "", ref: "" });
  const send = (): void =>
    form.submission.run(async () => {
      const { amount, ...names } = form.typed;
      const [provider, ref] = [names.provider.trim(), names.ref.trim()];
      const params = { provider_id: provider };
      const body = { amount_usd: bareUsd(amount), ref };
      const { is_new: isNew } = await deposit.mutateAsync({ params, body });
      notifyRecorded(`The deposit ${ref} with ${provider}`, isNew);
      onClose();
    });
  return (
    <DialogForm form={form} submitLabel="Record deposit" onSubmit={send} onCancel={onClose}>
      <Text size="sm">
        Record money that you already paid to a provider in advance. This cannot be undone. It needs
        a sign-in within the last 12 hours.
      </Text>
      <TextInput
        label="Provider"
        description="The ID in its manifest, such as acme-ai."
        data-autofocus
        maxLength={63}
        {...form.text("provider", "provider_id")}
      />
      <AmountFields form={form} example="500.00" refMeans={REF_MEANS} />
    </DialogForm>
  );
}

export const PaymentDialog = editDialog(
  () => "Record payment",
  PaymentForm,
  ({ provider, start }) => `${provider} ${start}`,
);

function PaymentForm({ edited, onClose }: EditProps<OperatorPeriod>) {
  const { provider, start, payable_usd: usd } = edited;
  const route = "POST /api/operator/settlement/:provider_id/:period_start/payment";
  const pay = useChange(route, refreshes);
  const form = useForm({ ref: "" });
  const send = (): void =>
    form.submission.run(async () => {
      const params = { provider_id: provider, period_start: start };
      const ref = form.typed.ref.trim();
      const { is_new: isNew } = await pay.mutateAsync({ params, body: { ref } });
      notifyRecorded(`The payment ${ref} to ${provider}`, isNew);
      onClose();
    });
  return (
    <DialogForm form={form} submitLabel="Record payment" onSubmit={send} onCancel={onClose}>
      <Text size="sm">
        <Money usd={usd} /> to {provider}, paid in full. This cannot be undone. It needs a sign-in
        within the last 12 hours.
      </Text>
      <TextInput
        label="Reference"
        description={REF_MEANS}
        data-autofocus
        maxLength={200}
        {...form.text("ref")}
      />
    </DialogForm>
  );
}

function notifyRecorded(name: string, isNew: boolean): void {
  notifyDone(`${name} was ${isNew ? "recorded" : "already recorded"}`);
}

interface CompareProps {
  readonly provider: string;
  readonly period: string;
  readonly onClose: () => void;
  readonly onCompared: (found: OperatorComparison) => void;
}

export const CompareDialog = inDialog("Compare statement", CompareForm);

/** The server's maximum, which the page checks before the upload. */
const BYTES_MAX = 1024 * 1024;
const TOO_LARGE =
  "The file is larger than 1 MiB. Compare it with the command settlement reconcile.";

function CompareForm({ provider, period, onClose, onCompared }: CompareProps) {
  const compare = useChange("POST /api/operator/settlement/:provider_id/:period_start/reconcile", [
    "GET /api/operator/settlement/:provider_id/:period_start",
  ]);
  const form = useForm({ statement: "" });
  const { statement } = form.typed;
  const fail = (problem: string): void => form.setProblems({ statement: problem });
  const write = (text: string): void => form.set({ statement: text });
  const send = (): void => {
    if (new Blob([statement]).size > BYTES_MAX) return fail(TOO_LARGE);
    form.submission.run(async () => {
      const params = { provider_id: provider, period_start: period };
      onCompared(await compare.mutateAsync({ params, body: { statement } }));
      onClose();
    });
  };
  const read = (file: File | null): void => {
    if (file === null) return;
    if (file.size > BYTES_MAX) return fail(TOO_LARGE);
    void file.text().then(write, () => fail("The file could not be read. Choose it again."));
  };
  return (
    <DialogForm form={form} submitLabel="Compare" onSubmit={send} onCancel={onClose}>
      <Text size="sm">
        The comparison is kept with the period and changes no amount. It needs a sign-in within the
        last 12 hours.
      </Text>
      <Stack gap="xs">
        <Textarea
          label="Statement"
          description="JSON with total_usd and lines, or CSV with the columns attempt_id or request_id, and cost_usd. At most 1 MiB and 20,000 lines."
          data-autofocus
          minRows={6}
          maxRows={12}
          spellCheck={false}
          {...controlled(statement, write)}
          error={form.errorOf("statement")}
        />
        <Group>
          <FileButton accept=".json,.csv,text/csv,application/json" onChange={read}>
            {(button) => <SmallButton {...button}>Read from a file</SmallButton>}
          </FileButton>
        </Group>
      </Stack>
    </DialogForm>
  );
}
