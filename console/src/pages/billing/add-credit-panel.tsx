import { Button, Checkbox, Code, Group, Stack, Text, TextInput } from "@mantine/core";
import { CreditCard } from "lucide-react";
import { useState } from "react";

import type { Billing } from "../../api/contract.ts";
import { call } from "../../api/client.ts";
import { useMay, useSession } from "../../api/use-answer.ts";
import { keptKey } from "../../app/kept-key.ts";
import { CodeBlock } from "../../ui/code-block.tsx";
import { controlled, fieldError, checkable, submitting } from "../../ui/fields.ts";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { showCents, showUsd } from "../../ui/money-math.ts";
import { Note, RoleNote } from "../../ui/page.tsx";
import { UnplacedFault, useSubmission } from "../../ui/form-dialog.tsx";
import { readAmount, usualAmounts } from "./purchase-amount.ts";

type Payments = Billing["payments"];

interface AddCreditProps {
  readonly payments: Payments;
  /** The page to return to after the payment. Default: billing. */
  readonly backTo?: "billing" | "welcome";
  readonly canSaveCard?: boolean;
  readonly onLeave?: () => void;
}

export function AddCredit(props: AddCreditProps) {
  const mayBuy = useMay("billing");
  if (!mayBuy) return <RoleNote need="billing" what="add credit" />;
  return props.payments.mode === "none" ? <OperatorCredit /> : <BuyForm {...props} />;
}

function OperatorCredit() {
  const { org, installation } = useSession();
  const orgId = org?.org_id ?? "ORG_ID";
  const command = `tokenmarket credit grant --org ${orgId} --amount-usd 25.00 --ref invoice-17`;
  return (
    <Stack gap="sm">
      <Text>
        Card payments are not set up here. The operator of this installation adds credit for you.
        {installation.support === null ? "" : ` Ask ${installation.support}.`}
      </Text>
      <Note>
        Operators can run this command; <Code>--ref</Code> identifies the grant: using it again adds
        nothing.
      </Note>
      <CodeBlock code={command} label="Command to grant credit" />
    </Stack>
  );
}

const OTHER = "other";
const PLACED: ReadonlySet<string> = new Set(["amount_usd"]);

function BuyForm({ payments, backTo = "billing", canSaveCard = false, onLeave }: AddCreditProps) {
  const [savesCard, setSavesCard] = useState(false);
  const bounds = { minUsd: payments.min_usd, maxUsd: payments.max_usd };
  const usual = usualAmounts(bounds);
  const [chosen, setChosen] = useState(usual[1] ?? usual[0] ?? OTHER);
  const [typed, setTyped] = useState("");
  const [isChecked, setIsChecked] = useState(false);
  const submission = useSubmission();
  const read = readAmount(chosen === OTHER ? typed : chosen, bounds);
  const amountUsd = read.kind === "amount" ? read.amountUsd : undefined;

  const submit = (): void => {
    setIsChecked(true);
    if (amountUsd === undefined) return;
    submission.run(async () => {
      const { checkout_url: url } = await call("POST /api/console/purchases", {
        body: { amount_usd: amountUsd, back_to: backTo, save_card: savesCard },
      });
      onLeave?.();
      keptKey.packForCheckout(Date.now());
      leaveFor(url);
      await untilBack();
    });
  };

  return (
    <form {...submitting(submit)} noValidate>
      <Stack gap="md" align="flex-start">
        <FilterChips
          label="Amount"
          options={[
            ...usual.map((usd) => ({ value: usd, label: `$${usd}` })),
            { value: OTHER, label: "Other" },
          ]}
          value={chosen}
          onChange={setChosen}
        />
        {chosen === OTHER ? (
          <TextInput
            label="Amount in dollars"
            description={`From ${showCents(bounds.minUsd)} to ${showCents(bounds.maxUsd)}.`}
            inputMode="decimal"
            maxLength={16}
            {...controlled(typed, setTyped)}
            error={amountError(read, isChecked) ?? fieldError(submission.fault, "amount_usd")}
          />
        ) : null}
        {canSaveCard ? (
          <Checkbox
            label="Save this card for automatic top-up"
            {...checkable(savesCard, setSavesCard)}
          />
        ) : null}
        <UnplacedFault fault={submission.fault} placed={chosen === OTHER ? PLACED : undefined} />
        <Group gap="md">
          <Button
            type="submit"
            leftSection={<CreditCard size={16} aria-hidden />}
            loading={submission.isBusy}
          >
            {amountUsd === undefined ? "Continue to payment" : `Pay ${showUsd(amountUsd)}`}
          </Button>
          <ChargeSentence payments={payments} amountUsd={amountUsd} />
        </Group>
      </Stack>
    </form>
  );
}

function ChargeSentence(props: {
  readonly payments: Payments;
  readonly amountUsd: string | undefined;
}) {
  const { payments, amountUsd } = props;
  const where =
    payments.mode === "test"
      ? "Test mode: the next page charges nothing."
      : "You pay on Stripe. Your card details never reach Token Market.";
  return (
    <Note role="status">
      {amountUsd === undefined
        ? where
        : `One charge of ${showUsd(amountUsd)}, all of it added as credit. ${where}`}
    </Note>
  );
}

/** The message at the field. A blank field is an error only after the button was pressed. */
function amountError(read: ReturnType<typeof readAmount>, isChecked: boolean): string | undefined {
  if (read.kind === "problem") return read.problem;
  return read.kind === "blank" && isChecked ? "Enter an amount." : undefined;
}

/** Opens the payment page. Throws if the URL is not `http` or `https`. */
export function leaveFor(url: string): void {
  const address = new URL(url, window.location.origin);
  if (!["https:", "http:"].includes(address.protocol)) {
    throw new Error("the payment page has no web address");
  }
  window.location.assign(address.href);
}

/** Resolves when the user returns to this page, so that a button stays busy until then. */
export async function untilBack(): Promise<void> {
  await new Promise((resolve) => {
    window.addEventListener("pageshow", resolve, { once: true });
  });
}
