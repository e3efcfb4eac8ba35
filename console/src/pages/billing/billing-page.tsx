import { SimpleGrid, Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";

import type { Billing, TopUp } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer, Loading } from "../../ui/answer.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { FigureCard } from "../../ui/figure-card.tsx";
import { compareUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Page, Panel } from "../../ui/page.tsx";
import { AddCredit } from "./add-credit-panel.tsx";
import { CreditLedgerPanel } from "./credit-ledger-panel.tsx";
import { PurchasePanel } from "./purchase-panel.tsx";
import { TopUpPanel } from "./top-up-panel.tsx";

const AlertOffer = lazy(() => import("../settings/alert-offer.tsx"));

const CARD_POLL_MS = 3_000;

const LEAD =
  "Credit is prepaid. A request is accepted when your available balance covers its maximum cost, " +
  "and charged its actual cost when it ends.";

export function BillingPage() {
  const answer = useAnswer("GET /api/console/billing");
  // A new card is entered at the payment provider, which reports it to the server later.
  const { data: topUp } = useAnswer("GET /api/console/top-up", undefined, {
    refetchMs: (last) => (last?.is_card_pending === true ? CARD_POLL_MS : undefined),
  });
  return (
    <Page title="Billing" lead={LEAD} actions={<StatementLinks />}>
      <Answer of={answer} skeleton={<BillingSkeleton />}>
        {(billing) => <BillingParts billing={billing} topUp={topUp} />}
      </Answer>
      <CreditLedgerPanel />
    </Page>
  );
}

function BillingParts(props: { readonly billing: Billing; readonly topUp: TopUp | undefined }) {
  const { billing, topUp } = props;
  const paid = billing.purchases.find(({ status }) => status === "paid");
  return (
    <>
      <BalanceFigures billing={billing} />
      <Panel title="Add credit">
        <AddCredit
          payments={billing.payments}
          canSaveCard={topUp?.is_available === true && topUp.card === null}
        />
      </Panel>
      {topUp === undefined ? null : <TopUpPanel topUp={topUp} />}
      {paid === undefined ? null : (
        <Suspense>
          <AlertOffer purchasedUsd={paid.amount_usd} />
        </Suspense>
      )}
      <PurchasePanel purchases={billing.purchases} />
    </>
  );
}

function StatementLinks() {
  return (
    <>
      <LinkButton to="/billing/statements" size="xs">
        Statements
      </LinkButton>
      <LinkButton to="/billing/company" size="xs">
        Company data
      </LinkButton>
    </>
  );
}

function BalanceFigures({ billing }: { readonly billing: Billing }) {
  const { balance, owed_usd: owedUsd } = billing;
  const cards = [
    ["Available", balance.available_usd, "Balance minus holds"],
    ["Balance", balance.settled_usd, "Credit minus the cost of requests"],
    ["On hold", balance.held_usd, "Maximum cost of requests in progress"],
    ["Owed", owedUsd, "After refunds and disputes. New credit pays it first."],
  ] as const;
  const count = compareUsd(owedUsd, "0") > 0 ? 4 : 3;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: count }}>
      {cards.slice(0, count).map(([label, usd, hint]) => (
        <FigureCard key={label} label={label} value={<Money usd={usd} headline />} hint={hint} />
      ))}
    </SimpleGrid>
  );
}

function BillingSkeleton() {
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
        {["available", "balance", "held"].map((figure) => (
          <Skeleton key={figure} height={106} radius="md" />
        ))}
      </SimpleGrid>
      <Panel title="Add credit">
        <Loading rows={4} />
      </Panel>
      <Panel title="Purchases">
        <Loading rows={3} />
      </Panel>
    </>
  );
}
