import { Button, Group, Stack } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { RoleNote } from "../../ui/role-note.tsx";
import { InvitationPanel } from "./invitation-panel.tsx";
import { InviteDialog } from "./invite-dialog.tsx";
import { LeaveOrganization } from "./leave-organization.tsx";
import { MemberTable } from "./member-table.tsx";

/** `/settings/members`: who belongs to the organization, and who is invited. */
export function MembersPage(): ReactNode {
  const answer = useAnswer("GET /api/console/members");
  const mayManage = useMay("members");
  const [isInviting, setInviting] = useState(false);
  return (
    <Page
      title="Members"
      crumbs={[{ label: "Settings", to: "/settings" }]}
      lead="All members share the keys, balance and limits of the organization."
      actions={
        <Button disabled={!mayManage} onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      <RoleNote need="members" what="invite and change members" />
      <Answer of={answer} skeleton={<Loading rows={6} />}>
        {(team) => (
          <>
            <Panel title="Members">
              <Stack gap="md">
                <MemberTable members={team.members} />
                <Group gap="md">
                  <LeaveOrganization />
                  <AppLink to="/settings/changes">View change log</AppLink>
                </Group>
              </Stack>
            </Panel>
            <InvitationPanel team={team} />
            <InviteDialog
              opened={isInviting}
              canEmail={team.can_email}
              onClose={() => setInviting(false)}
            />
          </>
        )}
      </Answer>
    </Page>
  );
}
