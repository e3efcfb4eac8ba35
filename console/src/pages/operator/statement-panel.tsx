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
import { moneyColumn, numberColumn, timeColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Panel } from "../../ui/panel.tsx";
import { CompareDialog } from "./compare-dialog.tsx";
import { Comparison } from "./comparison.tsx";

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
      <Answer of={found} rows={6}>
        {(statement) => (
          <Stack gap="md">
            {compared === undefined ? null : <Comparison found={compared} />}
            <DataTable
              caption="Models of the period"
              columns={MODELS}
              rows={statement.models}
              rowKey={({ model, upstream_model: upstream }) => `${model} ${upstream}`}
              empty="Nothing was served in this period."
            />
            <DataTable
              caption="Reconciliations"
              columns={RECONCILIATIONS}
              rows={statement.reconciliations}
              rowKey={({ recorded_at: at }) => at}
              empty="No provider statement has been compared yet."
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
  numberColumn("attempts", "Attempts", ({ attempts }) => attempts, { isSortable: true }),
  { id: "cost", label: "Cost", align: "right", render: ({ cost_usd: usd }) => `$${usd}` },
  moneyColumn("debit", "Charged to customers", ({ debit_usd: usd }) => usd),
];

const RECONCILIATIONS: readonly Column<Reconciliation>[] = [
  timeColumn("at", "Compared", ({ recorded_at: at }) => at),
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
