import { Button, Group, Text, TextInput } from "@mantine/core";
import { useState, type ReactElement, type ReactNode } from "react";

import type {
  OperatorClosing,
  OperatorPeriod,
  OperatorSettlement,
} from "../../../../src/account/console-api/contract.ts";
import { useAnswer, useChange } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { Banner } from "../../ui/banner.tsx";
import { timeColumn } from "../../ui/columns.tsx";
import { controlled } from "../../ui/controlled.ts";
import type { Column } from "../../ui/data-table.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { notifyDone } from "../../ui/notice.ts";
import { TablePanel } from "../../ui/table-panel.tsx";
import { Time } from "../../ui/time.tsx";
import { DialogForm } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { CloseDialog } from "./close-dialog.tsx";
import { DepositDialog } from "./deposit-dialog.tsx";
import { OperatorPage } from "./operator-frame.tsx";
import { StatementPanel } from "./statement-panel.tsx";

export function OperatorSettlementPage(): ReactElement {
  const found = useAnswer("GET /api/operator/settlement");
  const [{ provider, period }] = useFilters<{ provider?: string; period?: string }>();
  return (
    <OperatorPage
      title="Settlement"
      crumbs={[{ label: "Operator", to: "/operator" }]}
      lead="Changes need a sign-in within the last 12 hours and are in the change log under your account."
    >
      {provider === undefined || period === undefined ? null : (
        <StatementPanel key={`${provider} ${period}`} provider={provider} period={period} />
      )}
      <Answer of={found} rows={12}>
        {(settlement) => <Settlement {...settlement} />}
      </Answer>
    </OperatorPage>
  );
}

function Settlement({ balances, periods }: OperatorSettlement): ReactElement {
  const [paid, setPaid] = useState<OperatorPeriod>();
  const [opened, setOpened] = useState<"close" | "deposit">();
  const [closing, setClosing] = useState<OperatorClosing>();
  const close = (): void => setOpened(undefined);
  return (
    <>
      <Unlisted providers={closing?.unlisted ?? []} />
      <TablePanel
        title="Balances with providers"
        actions={<OpenButton label="Record deposit" onOpen={() => setOpened("deposit")} />}
        columns={BALANCES}
        rows={balances}
        rowKey={({ provider }) => provider}
        empty="No provider has served a request yet."
      />
      <TablePanel
        title="Closed periods"
        actions={<OpenButton label="Close periods" onOpen={() => setOpened("close")} />}
        columns={periodColumns(setPaid)}
        rows={periods}
        rowKey={({ provider, start }) => `${provider} ${start}`}
        empty="No closed periods yet."
      />
      <CloseDialog
        opened={opened === "close"}
        balances={balances}
        onClose={close}
        onClosed={setClosing}
      />
      <DepositDialog opened={opened === "deposit"} onClose={close} />
      <Dialog opened={paid !== undefined} title="Record payment" onClose={() => setPaid(undefined)}>
        {paid === undefined ? null : (
          <PaymentForm period={paid} onClose={() => setPaid(undefined)} />
        )}
      </Dialog>
    </>
  );
}

function OpenButton(props: { readonly label: string; readonly onOpen: () => void }): ReactElement {
  return (
    <Button size="xs" variant="default" onClick={props.onOpen}>
      {props.label}
    </Button>
  );
}

function Unlisted(props: { readonly providers: OperatorClosing["unlisted"] }): ReactNode {
  return props.providers.map(({ provider, terms_from: from }) => (
    <Banner key={provider} tone="warn">
      {from === "default"
        ? `${provider} has no manifest: it is settled monthly, in arrears.`
        : `${provider} has no manifest: it is settled by the terms of its last period.`}
    </Banner>
  ));
}

type Balance = OperatorSettlement["balances"][number];

const BALANCES: readonly Column<Balance>[] = [
  {
    id: "provider",
    label: "Provider",
    render: ({ provider }) => provider,
    sortValue: ({ provider }) => provider,
  },
  money("accrued", "Accrued", ({ accrued_usd: usd }) => usd),
  money("payable", "Payable", ({ payable_usd: usd }) => usd),
  money("deposit", "Deposit left", ({ deposit_usd: usd }) => usd),
  money("unknown", "Not known after a crash", ({ unknown_usd: usd }) => usd),
  money("margin", "Margin", ({ margin_usd: usd }) => usd),
];

function money<T>(id: string, label: string, usdOf: (row: T) => string): Column<T> {
  const render = (row: T): ReactNode =>
    parseUsd(usdOf(row)) === 0n ? "–" : <Money usd={usdOf(row)} isBrief />;
  return { id, label, align: "right", render };
}

function periodColumns(onPay: (period: OperatorPeriod) => void): readonly Column<OperatorPeriod>[] {
  return [
    {
      id: "provider",
      label: "Provider",
      render: ({ provider }) => provider,
      sortValue: ({ provider }) => provider,
    },
    timeColumn("start", "Period from", ({ start }) => start, { isSortable: true }),
    timeColumn("end", "To", ({ end }) => end),
    money("payable", "Payable", ({ payable_usd: usd }) => usd),
    { id: "paid", label: "Paid", render: paidText },
    {
      id: "actions",
      label: "Actions",
      align: "right",
      render: (period) => <PeriodActions period={period} onPay={onPay} />,
    },
  ];
}

function paidText({ payment, mode }: OperatorPeriod): ReactNode {
  if (payment !== null) return <Time at={payment.paid_at} precision="day" />;
  return mode === "prepaid" ? "From the deposit" : "Not yet";
}

function PeriodActions(props: {
  readonly period: OperatorPeriod;
  readonly onPay: (period: OperatorPeriod) => void;
}): ReactElement {
  const { period } = props;
  const { provider, start, mode, payment } = period;
  return (
    <Group gap="xs" justify="flex-end" wrap="nowrap">
      <LinkButton
        to="/operator/settlement"
        search={{ provider, period: start }}
        size="compact-xs"
        variant="default"
      >
        Statement
      </LinkButton>
      {mode === "prepaid" || payment !== null ? null : (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Record payment of ${provider} from ${start}`}
          onClick={() => props.onPay(period)}
        >
          Record payment
        </Button>
      )}
    </Group>
  );
}

function PaymentForm(props: {
  readonly period: OperatorPeriod;
  readonly onClose: () => void;
}): ReactElement {
  const { period, onClose } = props;
  const pay = useChange("POST /api/operator/settlement/:provider_id/:period_start/payment", {
    refreshes: ["GET /api/operator/settlement"],
  });
  const submission = useSubmission();
  const [ref, setRef] = useState("");
  const send = (): void =>
    submission.run(async () => {
      const params = { provider_id: period.provider, period_start: period.start };
      const { is_new: isNew } = await pay.mutateAsync({ params, body: { ref: ref.trim() } });
      const name = `The payment ${ref.trim()} to ${period.provider}`;
      notifyDone(`${name} was ${isNew ? "recorded" : "already recorded"}`);
      onClose();
    });
  return (
    <DialogForm
      submission={submission}
      fields={["ref"]}
      submitLabel="Record payment"
      onSubmit={send}
      onCancel={onClose}
    >
      <Text size="sm">
        <Money usd={period.payable_usd} /> to {period.provider}, paid in full. This cannot be
        undone. It needs a sign-in within the last 12 hours.
      </Text>
      <TextInput
        label="Reference"
        description="Identifies this payment permanently: recording it again changes nothing."
        data-autofocus
        maxLength={200}
        {...controlled(ref, setRef)}
        error={fieldError(submission.fault, "ref")}
      />
    </DialogForm>
  );
}
