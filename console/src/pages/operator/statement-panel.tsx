import { Button, Stack } from "@mantine/core";
import { useState, type ReactElement } from "react";

import type {
  OperatorComparison,
  OperatorStatement,
} from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/count.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { CompareDialog } from "./compare-dialog.tsx";
import { Comparison } from "./comparison.tsx";

/** A closed period by model, and its comparisons with the provider's statements. */
export function StatementPanel(props: {
  readonly provider: string;
  readonly period: string;
}): ReactElement {
  const { provider, period } = props;
  const found = useAnswer("GET /api/operator/settlement/:provider_id/:period_start", {
    params: { provider_id: provider, period_start: period },
  });
  const [isOpened, setIsOpened] = useState(false);
  const [compared, setCompared] = useState<OperatorComparison>();
  return (
    <Panel
      title={`Statement of ${provider}, ${period.slice(0, 10)}`}
      actions={
        <Button size="xs" variant="default" onClick={() => setIsOpened(true)}>
          Compare statement
        </Button>
      }
    >
      <CompareDialog
        opened={isOpened}
        provider={provider}
        period={period}
        onClose={() => setIsOpened(false)}
        onCompared={setCompared}
      />
      <Answer of={found} skeleton={<Loading rows={6} />}>
        {(statement) => (
          <Stack gap="md">
            {compared === undefined ? null : <Comparison found={compared} />}
            <DataTable
              caption="Models of the period"
              columns={MODELS}
              rows={statement.models}
              rowKey={({ model, upstream_model: upstream }) => `${model} ${upstream}`}
              empty={<Empty title="Nothing was served in this period." />}
            />
            <DataTable
              caption="Reconciliations"
              columns={RECONCILIATIONS}
              rows={statement.reconciliations}
              rowKey={({ recorded_at: at }) => at}
              empty={<Empty title="No provider statement has been compared yet." />}
            />
          </Stack>
        )}
      </Answer>
    </Panel>
  );
}

type Model = OperatorStatement["models"][number];
type Reconciliation = OperatorStatement["reconciliations"][number];

const MODELS: readonly Column<Model>[] = [
  { id: "model", label: "Model", render: ({ model }) => model, sortValue: ({ model }) => model },
  {
    id: "attempts",
    label: "Attempts",
    align: "right",
    render: ({ attempts }) => formatCount(attempts),
    sortValue: ({ attempts }) => attempts,
  },
  { id: "cost", label: "Cost", align: "right", render: ({ cost_usd: usd }) => `$${usd}` },
  {
    id: "debit",
    label: "Charged to customers",
    align: "right",
    render: ({ debit_usd: usd }) => <Money usd={usd} />,
  },
];

const RECONCILIATIONS: readonly Column<Reconciliation>[] = [
  { id: "at", label: "Compared", render: ({ recorded_at: at }) => <Time at={at} /> },
  { id: "theirs", label: "Theirs", align: "right", render: ({ their_usd: usd }) => `$${usd}` },
  { id: "ours", label: "Ours", align: "right", render: ({ our_usd: usd }) => `$${usd}` },
  { id: "result", label: "Result", render: (each) => renderResult(each) },
];

function renderResult(each: Reconciliation): ReactElement {
  const { their_usd: theirs, our_usd: ours, differing_lines: lines } = each;
  if (theirs === ours && (lines ?? 0) === 0) return <StatusBadge tone="ok">Equal</StatusBadge>;
  const text = lines === null ? "Differs" : `Differs in ${formatCount(lines)} lines`;
  return <StatusBadge tone="bad">{text}</StatusBadge>;
}
