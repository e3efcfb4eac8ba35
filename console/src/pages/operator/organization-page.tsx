import { Group } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";

import type { OperatorOrgPage } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { column } from "../../ui/columns.tsx";
import { Answer } from "../../ui/answer.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/page.tsx";
import { TablePanel, type Column } from "../../ui/data-table.tsx";
import { Time } from "../../ui/time.tsx";
import { Facts } from "../../ui/facts.tsx";
import { OperatorPage } from "./operator-frame.tsx";
import { ContractDialog, GrantDialog, LiftDialog } from "./organization-dialogs.tsx";
import {
  CHANGES,
  figureColumns,
  KEYS,
  limitColumns,
  MEMBERS,
  PURCHASES,
  RESTRICTIONS,
  WALLET,
} from "./organization-tables.tsx";
import { CREDIT_LABELS } from "./organizations-page.tsx";
import { SmallButton } from "../../ui/buttons.tsx";

export function OperatorOrganizationPage() {
  const { orgId = "" } = useParams({ strict: false });
  const found = useAnswer("GET /api/operator/organizations/:org_id", {
    params: { org_id: orgId },
  });
  return (
    <OperatorPage
      title={found.data?.org.name ?? "Organization"}
      crumbs={[
        { label: "Operator", to: "/operator" },
        { label: "Organizations", to: "/operator/organizations" },
      ]}
      isChanging
    >
      <Answer of={found} rows={12}>
        {(page) => <Organization page={page} />}
      </Answer>
    </OperatorPage>
  );
}

type Dialog = "grant" | "contract" | "lift";

function Organization({ page }: { readonly page: OperatorOrgPage }) {
  const [opened, setOpened] = useState<Dialog>();
  const { org, restrictions } = page;
  const close = (): void => setOpened(undefined);
  const canLift = restrictions.some(({ lifted_at: at }) => at === null);
  return (
    <>
      <Panel title="Organization" actions={<Actions canLift={canLift} onOpen={setOpened} />}>
        <Facts
          facts={[
            ["ID", <Copyable value={org.org_id} label="organization ID" />],
            ["Email", org.email],
            ["Balance", <Money usd={org.balance_usd} isBrief />],
            ["Spent this month", <Money usd={org.spent_month_usd} isBrief />],
            ["On hold for requests in progress", <Money usd={org.held_usd} isBrief />],
            ["Monthly cap", org.cap_usd === null ? "None" : <Money usd={org.cap_usd} isBrief />],
            ["Credit", CREDIT_LABELS[org.credit]],
            ["Created", <Time at={org.created_at} />],
          ]}
        />
      </Panel>
      <Tables page={page} />
      <GrantDialog opened={opened === "grant"} orgId={org.org_id} onClose={close} />
      <ContractDialog opened={opened === "contract"} orgId={org.org_id} onClose={close} />
      <LiftDialog opened={opened === "lift"} orgId={org.org_id} onClose={close} />
    </>
  );
}

function Actions(props: { readonly canLift: boolean; readonly onOpen: (dialog: Dialog) => void }) {
  return (
    <Group gap="xs">
      <SmallButton onClick={() => props.onOpen("grant")}>Grant credit</SmallButton>
      <SmallButton onClick={() => props.onOpen("contract")}>Set contract limits</SmallButton>
      {props.canLift ? (
        <SmallButton onClick={() => props.onOpen("lift")}>Lift restrictions</SmallButton>
      ) : null}
    </Group>
  );
}

function Tables({ page }: { readonly page: OperatorOrgPage }) {
  return (
    <>
      <TablePanel
        title="Usage of the last 30 days"
        caption="Usage of the last 30 days by model"
        columns={USAGE}
        rows={page.usage}
        rowKey={({ model }) => model}
        empty="No calls. An hour is counted soon after it is over."
      />
      <TablePanel
        title="Keys"
        columns={KEYS}
        rows={page.keys}
        rowKey={({ key_id: id }) => id}
        empty="No keys yet."
      />
      <TablePanel
        title="Members"
        columns={MEMBERS}
        rows={page.members}
        rowKey={({ email }) => email}
        empty="Nobody has signed in."
      />
      {page.restrictions.length === 0 ? null : (
        <TablePanel
          title="Restrictions for unusual use"
          caption="Restrictions"
          columns={RESTRICTIONS}
          rows={page.restrictions}
          rowKey={({ family, since }) => `${family} ${since}`}
        />
      )}
      <TablePanel
        title="Limits"
        columns={limitColumns(page.keys)}
        rows={page.limits}
        rowKey={(limit) => JSON.stringify([limit.source, limit.scope, limit.key_id, limit.model])}
        empty="The default limits apply."
      />
      <TablePanel
        title="Credit ledger"
        caption="Newest entries of the credit ledger"
        columns={WALLET}
        rows={page.wallet}
        rowKey={({ kind, ref, at }) => `${kind} ${ref} ${at}`}
        empty="No credit yet."
      />
      <TablePanel
        title="Purchases"
        caption="Newest purchases"
        columns={PURCHASES}
        rows={page.purchases}
        rowKey={({ purchase_id: id }) => id}
        empty="No purchases yet."
      />
      <TablePanel
        title="Changes"
        caption="Newest changes"
        columns={CHANGES}
        rows={page.changes}
        rowKey={({ position }) => String(position)}
        empty="No changes."
      />
    </>
  );
}

const USAGE: readonly Column<OperatorOrgPage["usage"][number]>[] = [
  column("model", "Model", ({ model }) => model),
  ...figureColumns(),
];
