import { Group } from "@mantine/core";
import type { ReactElement } from "react";

import type { Settings } from "../../../src/account/console-api/contract.ts";
import { useAnswer } from "../api/use-answer.ts";
import { Answer } from "../ui/answer.tsx";
import { StatusBadge } from "../ui/badge.tsx";
import { Facts } from "../ui/facts.tsx";
import { Panel } from "../ui/panel.tsx";
import { Time } from "../ui/time.tsx";
import { AppearancePanel } from "./settings/appearance-panel.tsx";
import { SessionListPanel } from "./settings/session-list-panel.tsx";
import { SettingsFrame } from "./settings/settings-frame.tsx";

export function SettingsPage(): ReactElement {
  const settings = useAnswer("GET /api/console/settings");
  return (
    <SettingsFrame title="You">
      <Answer of={settings} rows={6}>
        {({ user }) => <ProfilePanel user={user} />}
      </Answer>
      <AppearancePanel />
      <SessionListPanel />
    </SettingsFrame>
  );
}

function ProfilePanel({ user }: { readonly user: Settings["user"] }): ReactElement {
  return (
    <Panel title="Profile">
      <Facts
        facts={[
          ["Name", user.name ?? "–"],
          [
            "Email",
            <Group key="email" gap="xs">
              {user.email}
              <StatusBadge tone={user.is_verified ? "ok" : "warn"}>
                {user.is_verified ? "Verified" : "Not verified"}
              </StatusBadge>
            </Group>,
          ],
          ...user.identities.map(
            ({ issuer, linked_at }) =>
              [
                "Signs in with",
                <span key={issuer}>
                  {issuer}, since <Time at={linked_at} precision="day" />
                </span>,
              ] as const,
          ),
        ]}
      />
    </Panel>
  );
}
