import { Group, List, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { lazy, useEffect, useState, Suspense } from "react";

import type { Purchase } from "../../api/contract.ts";
import { refreshAnswers, useAnswer } from "../../api/use-answer.ts";
import { Redirect } from "../../app/session-gate.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { Answer } from "../../ui/answer.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { Money } from "../../ui/money.tsx";
import { Note, Page, Panel } from "../../ui/page.tsx";
import { PurchaseState, purchaseWords } from "./purchase-panel.tsx";
import { pollAfterMs } from "./poll-pace.ts";
import { SmallButton } from "../../ui/buttons.tsx";

const AlertOffer = lazy(() => import("../settings/alert-offer.tsx"));

/**
 * `/billing/return/$purchaseId`: the page to which the checkout returns. Returning does not prove a
 * payment, so the purchase is polled until its result is known.
 */
export function PurchaseReturnPage() {
  const { purchaseId = "" } = useParams({ strict: false });
  return (
    <Page title="Your purchase" crumbs={[{ label: "Billing", to: "/billing" }]}>
      <ReturnedPurchase key={purchaseId} purchaseId={purchaseId} />
    </Page>
  );
}

function ReturnedPurchase({ purchaseId }: { readonly purchaseId: string }) {
  const [answers, setAnswers] = useState(0);
  const waitMs = pollAfterMs(answers);
  const answer = useAnswer(
    "GET /api/console/purchases/:purchase_id",
    { params: { purchase_id: purchaseId } },
    {
      refetchMs: (last) =>
        last !== undefined && purchaseWords(last).isDecided ? undefined : waitMs,
    },
  );
  const { data, dataUpdatedAt, errorUpdateCount } = answer;
  useEffect(() => {
    setAnswers((count) => count + 1);
  }, [dataUpdatedAt, errorUpdateCount]);
  useRefreshWhenGranted(data);
  const { next } = useSearch({ strict: false }) as { readonly next?: string };
  // A purchase that was started on the welcome page leads back there when it is paid.
  if (next === "welcome" && data?.status === "paid") return <Redirect to="/welcome" />;
  return (
    <Panel>
      <Answer of={answer}>
        {(purchase) => (
          <PurchaseReport
            purchase={purchase}
            isWaiting={waitMs !== undefined}
            onCheckAgain={() => {
              setAnswers(0);
              void answer.refetch();
            }}
          />
        )}
      </Answer>
    </Panel>
  );
}

/** When the credit is granted, reads the session and the answers of these routes again. */
function useRefreshWhenGranted(purchase: Purchase | undefined): void {
  const client = useQueryClient();
  const grantedAt = purchase?.granted_at ?? null;
  useEffect(() => {
    if (grantedAt === null) return;
    void refreshAnswers(client, [
      "GET /api/console/billing",
      "GET /api/console/credit-ledger",
      "GET /api/console/limits",
      "GET /api/console/keys",
      "GET /api/console/overview",
    ]);
  }, [client, grantedAt]);
}

function PurchaseReport(props: {
  readonly purchase: Purchase;
  readonly isWaiting: boolean;
  readonly onCheckAgain: () => void;
}) {
  const { purchase, isWaiting, onCheckAgain } = props;
  const { meaning, isDecided } = purchaseWords(purchase);
  return (
    <Stack gap="md" align="flex-start">
      <Group gap="sm">
        <Text fz="1.6rem" fw={600}>
          <Money usd={purchase.amount_usd} headline />
        </Text>
        <PurchaseState purchase={purchase} />
      </Group>
      <Text role="status">{meaning}</Text>
      {isDecided ? null : <Waiting isWaiting={isWaiting} onCheckAgain={onCheckAgain} />}
      {purchase.status === "paid" ? (
        <Suspense>
          <AlertOffer purchasedUsd={purchase.amount_usd} />
        </Suspense>
      ) : null}
      <Group gap="xs">
        <Note>Purchase ID</Note>
        <Copyable value={purchase.purchase_id} label="purchase ID" />
      </Group>
      <Group gap="sm">
        <LinkButton to="/billing" variant={isDecided ? "filled" : "default"}>
          Back to billing
        </LinkButton>
        {purchase.status === "paid" ? (
          <LinkButton to="/playground">Open the playground</LinkButton>
        ) : null}
      </Group>
    </Stack>
  );
}

function Waiting(props: { readonly isWaiting: boolean; readonly onCheckAgain: () => void }) {
  if (props.isWaiting) {
    return (
      <List size="sm" c="dimmed">
        <List.Item>This page updates automatically. You can leave it at any time.</List.Item>
        <List.Item>The credit is added as soon as the payment is confirmed.</List.Item>
      </List>
    );
  }
  return (
    <Stack gap="xs" align="flex-start">
      <Note>This page stopped checking. A payment confirmed later is still credited.</Note>
      <SmallButton onClick={props.onCheckAgain}>Check again</SmallButton>
    </Stack>
  );
}
