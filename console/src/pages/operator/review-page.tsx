import { Group, Stack } from "@mantine/core";
import { useState } from "react";

import type { OperatorRestriction, WaitingPurchase } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { moneyColumn, timeColumn, column, actionsColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { addUsd, compareUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { OrgLink } from "./desk-page.tsx";
import { OperatorPage } from "./operator-frame.tsx";
import { GrantDialog, LiftDialog } from "./organization-dialogs.tsx";
import { RESTRICTIONS } from "./organization-tables.tsx";
import { CompactButton, SmallButton } from "../../ui/buttons.tsx";

export function OperatorReviewPage() {
  return (
    <OperatorPage title="Needs review" isChanging>
      <Purchases />
      <Restrictions />
    </OperatorPage>
  );
}

function Purchases() {
  const found = useAnswer("GET /api/operator/purchases");
  const [granted, setGranted] = useState<WaitingPurchase>();
  return (
    <Panel title="Purchases">
      <Stack gap="md">
        <Note>
          Parked: the payment did not match the order, or came after a grant by hand, so it credited
          nothing. See at the payment provider what was paid. Refund it there, or grant credit for
          it with the purchase ID as the reference, which counts only once.
        </Note>
        <Answer of={found} rows={4}>
          {({ data }) => (
            <DataTable
              caption="Purchases that are not credited"
              columns={purchaseColumns(setGranted)}
              rows={data}
              rowKey={({ purchase_id: id }) => id}
              empty="No parked or pending purchases."
            />
          )}
        </Answer>
      </Stack>
      {granted === undefined ? null : (
        <GrantDialog
          key={granted.purchase_id}
          opened
          orgId={granted.org_id}
          reference={granted.purchase_id}
          onClose={() => setGranted(undefined)}
        />
      )}
    </Panel>
  );
}

function purchaseColumns(
  onGrant: (purchase: WaitingPurchase) => void,
): readonly Column<WaitingPurchase>[] {
  return [
    column("id", "Purchase", ({ purchase_id: id }) => (
      <Copyable value={id} label="purchase ID" short />
    )),
    ORGANIZATION,
    column("status", "Status", purchaseState),
    moneyColumn("amount", "Ordered", ({ amount_usd: usd }) => usd, { isBrief: true }),
    timeColumn("at", "Date", ({ created_at: at }) => at),
    actionsColumn((purchase) =>
      purchase.status !== "parked" || purchase.is_granted || isReturned(purchase) ? null : (
        <CompactButton
          aria-label={`Grant credit for ${purchase.purchase_id}`}
          onClick={() => onGrant(purchase)}
        >
          Grant credit
        </CompactButton>
      ),
    ),
  ];
}

function purchaseState(purchase: WaitingPurchase) {
  const { status, is_granted: isGranted, refunded_usd: refunded } = purchase;
  return (
    <Group gap={4}>
      {isGranted || isReturned(purchase) ? null : status === "parked" ? (
        <StatusBadge tone="bad">Parked</StatusBadge>
      ) : (
        <StatusBadge tone="quiet">Payment pending</StatusBadge>
      )}
      {isGranted ? <StatusBadge tone="quiet">Granted by hand</StatusBadge> : null}
      {compareUsd(refunded, "0") > 0 ? (
        <StatusBadge tone="quiet">
          Refunded <Money usd={refunded} isBrief />
        </StatusBadge>
      ) : null}
      {compareUsd(purchase.disputed_usd, "0") > 0 ? (
        <StatusBadge tone="bad">
          Disputed <Money usd={purchase.disputed_usd} isBrief />
        </StatusBadge>
      ) : null}
    </Group>
  );
}

/** True if as much was returned as was ordered. Credit for it would pay the customer twice. */
function isReturned(purchase: WaitingPurchase): boolean {
  const { amount_usd: ordered, refunded_usd: refunded, disputed_usd: disputed } = purchase;
  return compareUsd(addUsd(refunded, disputed), ordered) >= 0;
}

const ORGANIZATION = column(
  "org",
  "Organization",
  ({ org_id, org_name }: { readonly org_id: string; readonly org_name: string }) => (
    <OrgLink orgId={org_id} name={org_name} />
  ),
);

function Restrictions() {
  const [search, change] = useFilters<{ past?: string }>();
  const past = search.past === "yes" ? "yes" : "no";
  const found = useAnswer("GET /api/operator/restrictions", { query: { past } });
  const [lifted, setLifted] = useState<string>();
  const other = past === "yes" ? "" : "yes";
  return (
    <Panel
      title="Restrictions for unusual use"
      actions={
        <Group gap="xs">
          <SmallButton onClick={() => change({ past: other }, { history: "step" })}>
            {past === "yes" ? "Only those in effect" : "Show past ones"}
          </SmallButton>
        </Group>
      }
    >
      <Answer of={found} rows={4}>
        {({ data }) => (
          <DataTable
            caption="Restrictions for unusual use"
            columns={restrictionColumns(setLifted)}
            rows={data}
            rowKey={({ org_id: orgId, family, since }) => `${orgId} ${family} ${since}`}
            empty="No organizations are limited or restricted."
          />
        )}
      </Answer>
      {lifted === undefined ? null : (
        <LiftDialog key={lifted} opened orgId={lifted} onClose={() => setLifted(undefined)} />
      )}
    </Panel>
  );
}

function restrictionColumns(
  onLift: (orgId: string) => void,
): readonly Column<OperatorRestriction>[] {
  return [
    ORGANIZATION,
    ...RESTRICTIONS,
    actionsColumn(({ org_id: orgId, org_name: name, in_effect: isInEffect }) =>
      isInEffect ? (
        <CompactButton
          aria-label={`Lift the restrictions of ${name}`}
          onClick={() => onLift(orgId)}
        >
          Lift
        </CompactButton>
      ) : null,
    ),
  ];
}
