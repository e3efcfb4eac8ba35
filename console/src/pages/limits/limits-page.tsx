import { Alert, Button, Paper, SimpleGrid, Text } from "@mantine/core";
import { Info, Plus } from "lucide-react";
import { lazy, useState } from "react";

import type { Limits, LimitRow } from "../../api/contract.ts";
import { useAnswer, useMay, useSession } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Note, Page, RoleNote } from "../../ui/page.tsx";
import { WhenOpened } from "../../ui/dialog.tsx";
import { CapPanel } from "./cap-panel.tsx";
import { LimitPanel, SourceBadge } from "./limit-panel.tsx";
import { RefusalPanel } from "./refusal-panel.tsx";
import { formatCount } from "../../ui/format.ts";
import { KIND_LABELS, LIMIT_KINDS, type LimitKind } from "./limit-change.ts";
import { ShareBar } from "./used-bar.tsx";

const AddLimitDialog = lazy(() => import("./add-limit-dialog.tsx"));

const LEAD =
  "Per-minute limits cover the last 60 seconds. A request must be within every limit that " +
  "applies: organization, key, and model.";

const REFRESH_MS = 10_000;

export function LimitsPage() {
  const answer = useAnswer("GET /api/console/limits", undefined, { refetchMs: REFRESH_MS });
  const [isAdding, setIsAdding] = useState(false);
  const mayChange = useMay("keys");
  return (
    <Page
      isWide
      title="Limits"
      lead={LEAD}
      actions={
        <Button
          leftSection={<Plus size={16} aria-hidden />}
          disabled={answer.data === undefined || !mayChange}
          onClick={() => setIsAdding(true)}
        >
          Add model limit
        </Button>
      }
    >
      <RoleNote need="keys" what="change limits and caps of keys" />
      <RoleNote need="billing" what="change the organization's cap" />
      <RefusalPanel />
      <Answer of={answer} rows={12}>
        {(limits) => (
          <>
            <UnfundedNote limits={limits} />
            <OrgMeters rows={limits.rows} />
            <LimitPanel rows={limits.rows} />
            <CapPanel caps={limits.caps} />
            <WhenOpened opened={isAdding}>
              <AddLimitDialog
                opened={isAdding}
                rows={limits.rows}
                onClose={() => setIsAdding(false)}
              />
            </WhenOpened>
          </>
        )}
      </Answer>
    </Page>
  );
}

function UnfundedNote({ limits }: { readonly limits: Limits }) {
  const { unfunded_rpm: rpm } = useSession();
  if (limits.is_funded) return null;
  return (
    <Alert color="gray" icon={<Info aria-hidden />} title={`Limited to ${rpm} requests per minute`}>
      Until your organization has credit, all keys combined can send {rpm} requests per minute.{" "}
      <AppLink to="/billing">Add credit</AppLink> and the limits below apply within seconds.
    </Alert>
  );
}

function OrgMeters({ rows }: { readonly rows: readonly LimitRow[] }) {
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

function Meter({ row, kind }: { readonly row: LimitRow; readonly kind: LimitKind }) {
  const { used, effective, source } = row[kind];
  return (
    <Paper withBorder p="md" bg="var(--tm-surface)">
      <Note>{KIND_LABELS[kind].label}</Note>
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
