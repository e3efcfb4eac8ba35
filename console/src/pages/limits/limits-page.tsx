import { Alert, Button } from "@mantine/core";
import { Info, Plus } from "lucide-react";
import { lazy, useState, type ReactNode } from "react";

import type { Limits } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { useSession } from "../../api/use-session.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Page } from "../../ui/page.tsx";
import { RoleNote } from "../../ui/role-note.tsx";
import { WhenOpened } from "../../ui/when-opened.tsx";
import { CapPanel } from "./cap-panel.tsx";
import { LimitPanel } from "./limit-panel.tsx";
import { OrgMeters } from "./org-meters.tsx";
import { RefusalPanel } from "./refusal-panel.tsx";

const AddLimitDialog = lazy(() => import("./add-limit-dialog.tsx"));

const LEAD =
  "Per-minute limits cover the last 60 seconds. A request must be within every limit that " +
  "applies: organization, key, and model.";

const REFRESH_MS = 10_000;

export function LimitsPage(): ReactNode {
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

function UnfundedNote({ limits }: { readonly limits: Limits }): ReactNode {
  const { unfunded_rpm: rpm } = useSession();
  if (limits.is_funded) return null;
  return (
    <Alert
      color="gray"
      variant="light"
      icon={<Info aria-hidden />}
      title={`Limited to ${rpm} requests per minute`}
    >
      Until your organization has credit, all keys combined can send {rpm} requests per minute.{" "}
      <AppLink to="/billing" inherit underline="always">
        Add credit
      </AppLink>{" "}
      and the limits below apply within seconds.
    </Alert>
  );
}
