import { Group, Stack, Switch, useMantineColorScheme } from "@mantine/core";

import type { Settings, BrowserSession } from "../api/contract.ts";
import { useAnswer, useChange, useSession } from "../api/use-answer.ts";
import { checkable } from "../ui/fields.ts";
import { Answer } from "../ui/answer.tsx";
import { StatusBadge } from "../ui/badge.tsx";
import { Facts } from "../ui/facts.tsx";
import { Note, Panel } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import { SettingsFrame } from "./settings/settings-frame.tsx";
import { hatching, singleKeys } from "../ui/browser-switch.ts";
import { FilterChips } from "../ui/filter-chips.tsx";
import { signOut } from "../app/sign-in.ts";
import { timeColumn, column, actionsColumn } from "../ui/columns.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { notices, notifyFault } from "../ui/notice.ts";
import { browserName } from "./settings/browser-name.ts";
import { CompactButton } from "../ui/buttons.tsx";

export function SettingsPage() {
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

function ProfilePanel({ user }: { readonly user: Settings["user"] }) {
  return (
    <Panel title="Profile">
      <Facts
        facts={[
          ["Name", user.name ?? "–"],
          [
            "Email",
            <Group gap="xs">
              {user.email}
              <StatusBadge tone={user.is_verified ? "ok" : "warn"}>
                {user.is_verified ? "Verified" : "Not verified"}
              </StatusBadge>
            </Group>,
          ],
          [
            "Signs in with",
            user.identities.map(({ issuer, linked_at }) => (
              <div key={`${issuer} ${linked_at}`}>
                {issuer}, since <Time at={linked_at} precision="day" />
              </div>
            )),
          ],
        ]}
      />
    </Panel>
  );
}

function AppearancePanel() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [areOn, setOn] = singleKeys.use();
  const [isHatched, setHatching] = hatching.use();
  return (
    <Panel title="Appearance">
      <Stack gap="md">
        <FilterChips
          label="Theme"
          options={[
            { value: "auto", label: "System" },
            { value: "light", label: "Light" },
            { value: "dark", label: "Dark" },
          ]}
          value={colorScheme}
          onChange={setColorScheme}
        />
        <Switch
          label="Single-key shortcuts"
          description="g and a letter, / and ?. When off, only search (Ctrl K or ⌘K) and Esc work."
          {...checkable(areOn, setOn)}
        />
        <Switch
          label="Patterns in charts"
          description="Draws a pattern on every color. Colors alone are chosen to be distinct with any kind of color blindness."
          {...checkable(isHatched, setHatching)}
        />
        <Note size="xs">Stored in this browser only.</Note>
      </Stack>
    </Panel>
  );
}

function SessionListPanel() {
  const answer = useAnswer("GET /api/console/sessions");
  const { expires_at } = useSession();
  return (
    <Panel title="Signed-in browsers">
      <Answer of={answer} rows={3}>
        {({ sessions }) => (
          <>
            <DataTable
              caption="Browsers in which you are signed in"
              columns={COLUMNS}
              rows={sessions}
              rowKey={({ session_id: id }) => id}
            />
            <Note mt="sm">
              {expires_at === null ? null : (
                <>
                  The session of this browser ends <Time at={expires_at} />.{" "}
                </>
              )}
              Signing out ends the session of one browser. Your session at the identity provider
              stays.
            </Note>
          </>
        )}
      </Answer>
    </Panel>
  );
}

const COLUMNS: readonly Column<BrowserSession>[] = [
  column(
    "browser",
    "Browser",
    ({ user_agent: agent, is_this: isThis }) =>
      `${browserName(agent)}${isThis ? " (this browser)" : ""}`,
  ),
  timeColumn("started", "Signed in", ({ started_at: at }) => at),
  timeColumn("seen", "Last seen", ({ last_seen_at: at }) => at),
  actionsColumn((session) =>
    session.is_this ? (
      <CompactButton aria-label="Sign out" onClick={() => void signOut().catch(notifyFault)}>
        Sign out
      </CompactButton>
    ) : (
      <EndButton session={session} />
    ),
  ),
];

function EndButton({ session }: { readonly session: BrowserSession }) {
  const name = browserName(session.user_agent);
  const end = useChange("POST /api/console/sessions/:session_id/end", [
    "GET /api/console/sessions",
    "GET /api/console/settings",
  ]);
  return (
    <CompactButton
      aria-label={`Sign out ${name}`}
      loading={end.isPending}
      onClick={() =>
        end.mutate(
          { params: { session_id: session.session_id } },
          notices(`${name} was signed out`),
        )
      }
    >
      Sign out
    </CompactButton>
  );
}
