import { Group } from "@mantine/core";
import { useState } from "react";

import type { OperatorClosing, OperatorPeriod, OperatorSettlement } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { Banner } from "../../ui/banner.tsx";
import { timeColumn, column, actionsColumn } from "../../ui/columns.tsx";
import { type Column, TablePanel } from "../../ui/data-table.tsx";
import { NewestNote } from "../../ui/page.tsx";
import { parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Time } from "../../ui/time.tsx";
import { OperatorPage } from "./operator-frame.tsx";
import { CloseDialog, DepositDialog, PaymentDialog } from "./settlement-dialogs.tsx";
import { StatementPanel } from "./statement-panel.tsx";
import { SmallButton, CompactButton } from "../../ui/buttons.tsx";

/** Maximum number of closed periods that the server lists for this page. */
const PERIODS_MAX = 200;

export function OperatorSettlementPage() {
  const found = useAnswer("GET /api/operator/settlement");
  const [{ provider, period }] = useFilters<{ provider?: string; period?: string }>();
  return (
    <OperatorPage title="Settlement" isChanging>
      {provider === undefined || period === undefined ? null : (
        <StatementPanel key={`${provider} ${period}`} provider={provider} period={period} />
      )}
      <Answer of={found} rows={12}>
        {(settlement) => <Settlement {...settlement} />}
      </Answer>
    </OperatorPage>
  );
}

function Settlement({ balances, periods }: OperatorSettlement) {
  const [paid, setPaid] = useState<OperatorPeriod>();
  const [opened, setOpened] = useState<"close" | "deposit">();
  const [closing, setClosing] = useState<OperatorClosing>();
  const close = (): void => setOpened(undefined);
  return (
    <>
      <Unlisted providers={closing?.unlisted ?? []} />
      <TablePanel
        title="Balances with providers"
        actions={<SmallButton onClick={() => setOpened("deposit")}>Record deposit</SmallButton>}
        columns={BALANCES}
        rows={balances}
        rowKey={({ provider }) => provider}
        empty="No provider has served a request yet."
      />
      <TablePanel
        title="Closed periods"
        actions={<SmallButton onClick={() => setOpened("close")}>Close periods</SmallButton>}
        columns={periodColumns(setPaid)}
        rows={periods}
        rowKey={({ provider, start }) => `${provider} ${start}`}
        empty="No closed periods yet."
        note={
          <NewestNote
            rows={periods}
            max={PERIODS_MAX}
            older="The command `tokenmarket settlement list` lists all of them."
          />
        }
      />
      <CloseDialog
        opened={opened === "close"}
        balances={balances}
        onClose={close}
        onClosed={setClosing}
      />
      <DepositDialog opened={opened === "deposit"} onClose={close} />
      <PaymentDialog edited={paid} onClose={() => setPaid(undefined)} />
    </>
  );
}

function Unlisted(props: { readonly providers: OperatorClosing["unlisted"] }) {
  return props.providers.map(({ provider, terms_from: from }) => (
    <Banner key={provider} tone="warn">
      {from === "default"
        ? `${provider} has no manifest: it is settled monthly, in arrears.`
        : `${provider} has no manifest: it is settled by the terms of its last period.`}
    </Banner>
  ));
}

const BALANCES: readonly Column<OperatorSettlement["balances"][number]>[] = [
  column("provider", "Provider", ({ provider }) => provider, {
    sortValue: ({ provider }) => provider,
  }),
  money("accrued", "Accrued", ({ accrued_usd: usd }) => usd),
  money("payable", "Payable", ({ payable_usd: usd }) => usd),
  money("deposit", "Deposit left", ({ deposit_usd: usd }) => usd),
  money("unknown", "Not known after a crash", ({ unknown_usd: usd }) => usd),
  money("margin", "Margin", ({ margin_usd: usd }) => usd),
];

function money<T>(id: string, label: string, usdOf: (row: T) => string): Column<T> {
  const render = (row: T) =>
    parseUsd(usdOf(row)) === 0n ? "–" : <Money usd={usdOf(row)} isBrief />;
  return column(id, label, render, { align: "right" });
}

function periodColumns(onPay: (period: OperatorPeriod) => void): readonly Column<OperatorPeriod>[] {
  return [
    column("provider", "Provider", ({ provider }) => provider, {
      sortValue: ({ provider }) => provider,
    }),
    timeColumn("start", "Period from", ({ start }) => start, { isSortable: true }),
    timeColumn("end", "To", ({ end }) => end),
    money("payable", "Payable", ({ payable_usd: usd }) => usd),
    column("paid", "Paid", paidText),
    actionsColumn((period) => <PeriodActions period={period} onPay={onPay} />),
  ];
}

function paidText({ payment, mode }: OperatorPeriod) {
  if (payment !== null) return <Time at={payment.paid_at} precision="day" />;
  return mode === "prepaid" ? "From the deposit" : "Not yet";
}

function PeriodActions(props: {
  readonly period: OperatorPeriod;
  readonly onPay: (period: OperatorPeriod) => void;
}) {
  const { period } = props;
  const { provider, start, mode, payment } = period;
  return (
    <Group gap="xs" justify="flex-end" wrap="nowrap">
      <LinkButton to="/operator/settlement" search={{ provider, period: start }} size="compact-xs">
        Statement
      </LinkButton>
      {mode === "prepaid" || payment !== null ? null : (
        <CompactButton
          aria-label={`Record payment of ${provider} from ${start}`}
          onClick={() => props.onPay(period)}
        >
          Record payment
        </CompactButton>
      )}
    </Group>
  );
}
