import { Stack, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Statement } from "../../../../src/account/console-api/contract.ts";
import { monthName } from "../../../../src/kernel/core/document-words.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { Banner } from "../../ui/banner.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { DocumentActions } from "./document-actions.tsx";
import { StatementParties } from "./statement-parties.tsx";
import { StatementTables } from "./statement-tables.tsx";
import styles from "./statement.module.css";

export function StatementPage(): ReactNode {
  const { month = "" } = useParams({ strict: false }) as { readonly month?: string };
  const answer = useAnswer("GET /api/console/statements/:month", { params: { month } });
  const base = `/api/console/statements/${encodeURIComponent(month)}/statement`;
  return (
    <Page
      title={`Statement of ${monthName(month)}`}
      crumbs={[
        { label: "Billing", to: "/billing" },
        { label: "Statements", to: "/billing/statements" },
      ]}
      actions={<DocumentActions base={base} formats={["pdf", "csv", "json"]} />}
    >
      <Answer of={answer} rows={8}>
        {(statement) => <StatementSheet statement={statement} />}
      </Answer>
    </Page>
  );
}

function StatementSheet({ statement }: { readonly statement: Statement }): ReactNode {
  const { differences } = statement;
  return (
    <Stack gap="lg" className={styles.sheet}>
      {differences.length === 0 ? null : (
        <Banner tone="bad">
          The books differ from this closed statement: {differences.join("; ")}.
        </Banner>
      )}
      <Panel title={statement.number === null ? STATES[statement.state] : statement.number}>
        <StatementParties company={statement.company} issuer={statement.issuer} />
      </Panel>
      <StatementTables statement={statement} />
      <Text size="sm" c="dimmed">
        Costs count in the UTC month in which they were charged: a request that began in one month
        and ended in the next is in the next, and so is a later correction. A closed statement does
        not change. {statement.has_left_journal ? LEFT : ""} Addresses are those of today.
      </Text>
      {statement.sha256 === null ? null : (
        <Text size="xs" c="dimmed" className={styles.hash}>
          SHA-256 of the JSON file: {statement.sha256}
        </Text>
      )}
    </Stack>
  );
}

const LEFT =
  "Requests of this month have been archived since, so its usage is no longer compared with them.";

const STATES: Readonly<Record<Statement["state"], string>> = {
  so_far: "This month so far",
  closing: "Ended, closes within six hours",
  due: "Over",
  closed: "Closed",
};
