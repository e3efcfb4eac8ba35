import { Stack, Text } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";

import type { OperatorComparison } from "../../../../src/account/console-api/contract.ts";
import { Banner } from "../../ui/banner.tsx";
import { formatCount } from "../../ui/count.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";

export function Comparison({ found }: { readonly found: OperatorComparison }): ReactElement {
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
  { id: "id", label: "Line", render: ({ of, id }) => `${of} ${id}` },
  { id: "kind", label: "Result", render: ({ kind }) => KINDS[kind] },
  { id: "theirs", label: "Theirs", align: "right", render: (each) => dollars(each.their_usd) },
  { id: "ours", label: "Ours", align: "right", render: (each) => dollars(each.our_usd) },
];

function dollars(usd: string | null): ReactNode {
  return usd === null ? "—" : `$${usd}`;
}
