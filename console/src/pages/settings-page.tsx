import type { ReactElement } from "react";

import { useAnswer } from "../api/use-answer.ts";
import { Answer } from "../ui/answer.tsx";
import { Loading } from "../ui/loading.tsx";
import { AppearancePanel } from "./settings/appearance-panel.tsx";
import { ProfilePanel } from "./settings/profile-panel.tsx";
import { SessionListPanel } from "./settings/session-list-panel.tsx";
import { SettingsFrame } from "./settings/settings-frame.tsx";

/** `/settings`: the reader's profile, the appearance, and signed-in browsers. */
export function SettingsPage(): ReactElement {
  const settings = useAnswer("GET /api/console/settings");
  return (
    <SettingsFrame title="You">
      <Answer of={settings} skeleton={<Loading rows={6} />}>
        {({ user }) => <ProfilePanel user={user} />}
      </Answer>
      <AppearancePanel />
      <SessionListPanel />
    </SettingsFrame>
  );
}
