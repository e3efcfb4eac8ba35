import { Stack, Text } from "@mantine/core";
import { useState } from "react";

import type { OperatorComparison, OperatorStatement } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/format.ts";
import { moneyColumn, numberColumn, timeColumn, column } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Panel } from "../../ui/page.tsx";
import { CompareDialog } from "./settlement-dialogs.tsx";
import { SmallButton } from "../../ui/buttons.tsx";
import { Banner } from "../../ui/banner.tsx";

export function StatementPanel(props: { readonly provider: string; readonly period: string }) {
  const { provider, period } = props;
  const found = useAnswer("GET /api/operator/settlement/:provider_id/:period_start", {
    params: { provider_id: provider, period_start: period },
  });
  const [isOpened, setIsOpened] = useState(false);
  const [compared, setCompared] = useState<OperatorComparison>();
  return (
    <Panel
      title={`Statement of ${provider}, ${period.slice(0, 10)}`}
      actions={<SmallButton onClick={() => setIsOpened(true)}>Compare statement</SmallButton>}
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

type Reconciliation = OperatorStatement["reconciliations"][number];

const MODELS: readonly Column<OperatorStatement["models"][number]>[] = [
  column("model", "Model", ({ model }) => model, { sortValue: ({ model }) => model }),
  numberColumn("attempts", "Attempts", ({ attempts }) => attempts, { isSortable: true }),
  column("cost", "Cost", ({ cost_usd: usd }) => `$${usd}`, { align: "right" }),
  moneyColumn("debit", "Charged to customers", ({ debit_usd: usd }) => usd),
];

const RECONCILIATIONS: readonly Column<Reconciliation>[] = [
  timeColumn("at", "Compared", ({ recorded_at: at }) => at),
  column("theirs", "Theirs", ({ their_usd: usd }) => `$${usd}`, { align: "right" }),
  column("ours", "Ours", ({ our_usd: usd }) => `$${usd}`, { align: "right" }),
  column("result", "Result", renderResult),
];

function renderResult(each: Reconciliation) {
  const { their_usd: theirs, our_usd: ours, differing_lines: lines } = each;
  if (theirs === ours && (lines ?? 0) === 0) return <StatusBadge tone="ok">Equal</StatusBadge>;
  const text = lines === null ? "Differs" : `Differs in ${formatCount(lines)} lines`;
  return <StatusBadge tone="bad">{text}</StatusBadge>;
}

function Comparison({ found }: { readonly found: OperatorComparison }) {
  const { lines, first_differences: differences } = found;
  return (
    <Stack gap="xs" role="status">
      <Banner tone={found.is_equal ? "info" : "warn"}>
        {found.is_equal ? "The statement equals ours. " : "The statement differs from ours. "}
        Theirs ${found.their_usd}, ours ${found.our_usd}, difference ${found.difference_usd}.
        {found.their_lines_usd === null ? "" : ` Their lines add up to $${found.their_lines_usd}.`}
      </Banner>
      {lines === null ? null : (
        <Text size="sm">
          {formatCount(lines.compared)} lines compared: {formatCount(lines.differing)} differ,{" "}
          {formatCount(lines.only_theirs)} only theirs, {formatCount(lines.only_ours)} only ours,{" "}
          {formatCount(lines.unknown_claimed)} with a cost that we do not know.
        </Text>
      )}
      {differences.length === 0 ? null : (
        <DataTable
          caption="First lines that differ"
          columns={DIFFERENCES}
          rows={differences}
          rowKey={({ of, id, kind }) => `${of} ${id} ${kind}`}
        />
      )}
    </Stack>
  );
}

type Difference = OperatorComparison["first_differences"][number];

const KINDS: Readonly<Record<Difference["kind"], string>> = {
  differs: "Differs",
  only_theirs: "Only theirs",
  only_ours: "Only ours",
  unknown_claimed: "Our cost is unknown",
};

const DIFFERENCES: readonly Column<Difference>[] = [
  column("id", "Line", ({ of, id }) => `${of} ${id}`),
  column("kind", "Result", ({ kind }) => KINDS[kind]),
  column("theirs", "Theirs", (each) => dollars(each.their_usd), { align: "right" }),
  column("ours", "Ours", (each) => dollars(each.our_usd), { align: "right" }),
];

function dollars(usd: string | null) {
  return usd === null ? "—" : `$${usd}`;
}
