import { Checkbox, NativeSelect, Text, TextInput } from "@mantine/core";

import type { OperatorContract, RouteName } from "../../api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { checkable, controlled } from "../../ui/fields.ts";
import { bareUsd } from "../../ui/money-math.ts";
import { notifyDone } from "../../ui/notice.ts";
import { DialogForm, inDialog, useForm, type Form } from "../../ui/form-dialog.tsx";
import { KIND_LABELS, LIMIT_KINDS } from "../limits/limit-change.ts";
import { readContractForm, stillWrong, type ContractForm } from "./contract-form.ts";

const refreshes: readonly RouteName[] = [
  "GET /api/operator/organizations",
  "GET /api/operator/organizations/:org_id",
  "GET /api/operator/restrictions",
  "GET /api/operator/purchases",
];

interface OrgProps {
  readonly orgId: string;
  readonly onClose: () => void;
}

/** Fields for an amount and its reference. The server applies each reference only once. */
export function AmountFields<T extends { readonly amount: string; readonly ref: string }>(props: {
  readonly form: Form<T>;
  readonly example: string;
  readonly refMeans: string;
  readonly isFirst?: boolean;
}) {
  const { form, example, refMeans, isFirst = false } = props;
  return (
    <>
      <TextInput
        label="Dollars"
        description={`Above 0, at most six decimals, such as ${example}.`}
        {...(isFirst ? { "data-autofocus": true } : {})}
        inputMode="decimal"
        maxLength={16}
        {...form.text("amount", "amount_usd")}
      />
      <TextInput label="Reference" description={refMeans} maxLength={200} {...form.text("ref")} />
    </>
  );
}

interface GrantProps extends OrgProps {
  /** ID of the purchase that is granted by hand. The amount may differ from the ordered one. */
  readonly reference?: string;
}

export const GrantDialog = inDialog("Grant credit", GrantForm);

function GrantForm({ orgId, reference = "", onClose }: GrantProps) {
  const grant = useChange("POST /api/operator/organizations/:org_id/grants", refreshes);
  const form = useForm({ amount: "", ref: reference, isTrial: false });
  const { ref, isTrial } = form.typed;
  const amount = bareUsd(form.typed.amount);
  const send = (): void =>
    form.submission.run(async () => {
      const { is_new: isNew } = await grant.mutateAsync({
        params: { org_id: orgId },
        body: { amount_usd: amount, ref: ref.trim(), is_trial: isTrial },
      });
      notifyDone(isNew ? `$${amount} was granted` : "This reference was granted before");
      onClose();
    });
  return (
    <DialogForm form={form} submitLabel="Grant credit" onSubmit={send} onCancel={onClose}>
      <AmountFields
        form={form}
        example="25.00"
        refMeans="Identifies this grant permanently: granting it again changes nothing."
        isFirst
      />
      <Checkbox
        label="Trial credit"
        description="Unusual use stays monitored until the organization buys credit."
        {...checkable(isTrial, (to) => form.set({ isTrial: to }))}
      />
    </DialogForm>
  );
}

/** Lifts an organization's restrictions for unusual use. The reason goes into the change log. */
export const LiftDialog = inDialog("Lift restrictions", LiftForm);

function LiftForm({ orgId, onClose }: OrgProps) {
  const lift = useChange("POST /api/operator/organizations/:org_id/lift", refreshes);
  const form = useForm({ reason: "" });
  const send = (): void =>
    form.submission.run(async () => {
      const body = { reason: form.typed.reason.trim() };
      const { lifted } = await lift.mutateAsync({ params: { org_id: orgId }, body });
      notifyDone(lifted.length === 0 ? "Nothing was restricted" : "The restrictions were lifted");
      onClose();
    });
  return (
    <DialogForm form={form} submitLabel="Lift restrictions" onSubmit={send} onCancel={onClose}>
      <Text size="sm">
        All requests are allowed again within five seconds. The events behind these restrictions no
        longer count as a first warning.
      </Text>
      <TextInput
        label="Reason"
        description="For the change log. The customer does not see it."
        data-autofocus
        maxLength={200}
        {...form.text("reason")}
      />
    </DialogForm>
  );
}

export const ContractDialog = inDialog("Set contract limits", ContractFields);

const EMPTY: ContractForm = { scope: "org", target: "", rpm: "", tpm: "", concurrency: "" };

const SCOPES: { readonly value: OperatorContract["scope"]; readonly label: string }[] = [
  { value: "org", label: "All keys combined" },
  { value: "key", label: "Each key, or one key" },
  { value: "model", label: "One model" },
];

function ContractFields({ orgId, onClose }: OrgProps) {
  const change = useChange("POST /api/operator/organizations/:org_id/contract", refreshes);
  const form = useForm(EMPTY, stillWrong);
  const { scope } = form.typed;
  const send = (): void => {
    const read = readContractForm(form.typed);
    form.setProblems(read.isReady ? {} : read.problems);
    if (!read.isReady) return;
    form.submission.run(async () => {
      await change.mutateAsync({ params: { org_id: orgId }, body: read.body });
      notifyDone("The contract limits apply within five seconds");
      onClose();
    });
  };
  return (
    <DialogForm form={form} submitLabel="Set limits" onSubmit={send} onCancel={onClose}>
      <NativeSelect
        label="Applies to"
        data={SCOPES}
        {...controlled(scope, (to) => form.set({ scope: to }))}
      />
      {scope === "org" ? null : (
        <TextInput
          label={scope === "model" ? "Model ID" : "Key ID"}
          description={scope === "model" ? undefined : "Leave blank for each key."}
          maxLength={200}
          {...form.text("target")}
          error={form.errorOf("target") ?? form.errorOf("model") ?? form.errorOf("key_id")}
        />
      )}
      {LIMIT_KINDS.map((name) => (
        <TextInput
          key={name}
          label={KIND_LABELS[name].label}
          description="A number, or “default”. Leave blank to keep it."
          maxLength={10}
          {...form.text(name)}
        />
      ))}
    </DialogForm>
  );
}
