import { Button, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { BrowserSession } from "../../../../src/account/console-api/contract.ts";
import { useAnswer, useChange } from "../../api/use-answer.ts";
import { useSession } from "../../api/use-session.ts";
import { signOut } from "../../app/sign-out.ts";
import { Answer } from "../../ui/answer.tsx";
import { timeColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { notices, notifyFault } from "../../ui/notice.ts";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { browserName } from "./browser-name.ts";

export function SessionListPanel(): ReactNode {
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
            <Text size="sm" c="dimmed" mt="sm">
              {expires_at === null ? null : (
                <>
                  The session of this browser ends <Time at={expires_at} />.{" "}
                </>
              )}
              Signing out ends the session of one browser. Your session at the identity provider
              stays.
            </Text>
          </>
        )}
      </Answer>
    </Panel>
  );
}

const COLUMNS: readonly Column<BrowserSession>[] = [
  {
    id: "browser",
    label: "Browser",
    render: ({ user_agent: agent, is_this: isThis }) =>
      `${browserName(agent)}${isThis ? " (this browser)" : ""}`,
  },
  timeColumn("started", "Signed in", ({ started_at: at }) => at),
  timeColumn("seen", "Last seen", ({ last_seen_at: at }) => at),
  {
    id: "actions",
    label: "Actions",
    align: "right",
    render: (session) => (session.is_this ? <SignOutButton /> : <EndButton session={session} />),
  },
];

function SignOutButton(): ReactNode {
  return (
    <Button
      size="compact-xs"
      variant="default"
      aria-label="Sign out"
      onClick={() => void signOut().catch(notifyFault)}
    >
      Sign out
    </Button>
  );
}

function EndButton({ session }: { readonly session: BrowserSession }): ReactNode {
  const name = browserName(session.user_agent);
  const end = useChange("POST /api/console/sessions/:session_id/end", {
    refreshes: ["GET /api/console/sessions", "GET /api/console/settings"],
  });
  return (
    <Button
      size="compact-xs"
      variant="default"
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
    </Button>
  );
}
