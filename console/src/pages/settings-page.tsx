import type { ReactElement } from "react";

import { useAnswer } from "../api/use-answer.ts";
import { Answer } from "../ui/answer.tsx";
import { Loading } from "../ui/loading.tsx";
import { Page } from "../ui/page.tsx";
import { AppearancePanel } from "./settings/appearance-panel.tsx";
import { DataPanel } from "./settings/data-panel.tsx";
import { OrganizationPanel } from "./settings/organization-panel.tsx";
import { ProfilePanel } from "./settings/profile-panel.tsx";
import { SessionListPanel } from "./settings/session-list-panel.tsx";
import { SessionPanel } from "./settings/session-panel.tsx";

/** The person's account, the organization, this browser, and the stored data. */
export function SettingsPage(): ReactElement {
  const settings = useAnswer("GET /api/console/settings");
  return (
    <Page title="Settings">
      <Answer of={settings} skeleton={<Loading rows={14} />}>
        {({ user, org, sessions }) => (
          <>
            <ProfilePanel user={user} />
            <OrganizationPanel org={org} />
            <AppearancePanel />
            <SessionPanel sessions={sessions} />
            <SessionListPanel />
            <DataPanel />
          </>
        )}
      </Answer>
    </Page>
  );
}
