import { SimpleGrid, Skeleton } from "@mantine/core";
import type { ReactNode } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { RoleNote } from "../../ui/role-note.tsx";
import { AlertLogPanel } from "./alert-log-panel.tsx";
import { AlertRulesPanel } from "./alert-rules-panel.tsx";
import { DestinationPanel } from "./destination-panel.tsx";
import { SettingsFrame } from "./settings-frame.tsx";

const LEAD =
  "Alerts report a low balance, caps that are nearly used and other events, each once until its figure " +
  "has recovered.";

export function AlertsPage(): ReactNode {
  const answer = useAnswer("GET /api/console/alerts");
  return (
    <SettingsFrame title="Alerts" lead={LEAD}>
      <RoleNote need="billing" what="change alerts" />
      <Answer of={answer} skeleton={<AlertsSkeleton />}>
        {(alerts) => (
          <>
            <AlertRulesPanel rules={alerts.rules} />
            <DestinationPanel alerts={alerts} />
          </>
        )}
      </Answer>
      <AlertLogPanel />
    </SettingsFrame>
  );
}

function AlertsSkeleton(): ReactNode {
  return (
    <SimpleGrid cols={1}>
      <Skeleton height={360} radius="md" />
      <Skeleton height={160} radius="md" />
    </SimpleGrid>
  );
}
