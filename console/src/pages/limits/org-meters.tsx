import { Paper, SimpleGrid, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { LimitRow } from "../../../../src/account/console-api/contract.ts";
import { formatCount } from "../../ui/count.tsx";
import { KIND_LABELS, LIMIT_KINDS, type LimitKind } from "./limit-change.ts";
import { SourceBadge } from "./source-badge.tsx";
import { ShareBar } from "./used-bar.tsx";

export function OrgMeters({ rows }: { readonly rows: readonly LimitRow[] }): ReactNode {
  const org = rows.find(({ scope }) => scope === "org");
  if (org === undefined) return null;
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }} spacing={{ base: "xs", sm: "md" }}>
      {LIMIT_KINDS.map((kind) => (
        <Meter key={kind} row={org} kind={kind} />
      ))}
    </SimpleGrid>
  );
}

function Meter({ row, kind }: { readonly row: LimitRow; readonly kind: LimitKind }): ReactNode {
  const { used, effective, source } = row[kind];
  return (
    <Paper withBorder p="md" bg="var(--tm-surface)">
      <Text size="sm" c="dimmed">
        {KIND_LABELS[kind].label}
      </Text>
      <Text fz="1.6rem" fw={600} lh={1.3} style={{ fontVariantNumeric: "tabular-nums" }}>
        {used === null ? "–" : formatCount(used)}
        <Text span c="dimmed" fz="md" fw={400}>
          {effective === null ? " · No limit" : ` of ${formatCount(effective)}`}
        </Text>
      </Text>
      <ShareBar share={used === null || effective === null ? 0 : used / Math.max(1, effective)} />
      <Text component="div" size="xs" c="dimmed" mt="xs">
        All keys combined, {used === null ? "current use unknown" : KIND_LABELS[kind].used}{" "}
        <SourceBadge source={source} />
      </Text>
    </Paper>
  );
}
