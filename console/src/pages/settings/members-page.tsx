import { Button, Stack } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { Answer } from "../../ui/answer.tsx";
import { Panel } from "../../ui/panel.tsx";
import { RoleNote } from "../../ui/role-note.tsx";
import { InvitationPanel } from "./invitation-panel.tsx";
import { InviteDialog } from "./invite-dialog.tsx";
import { LeaveOrganization } from "./leave-organization.tsx";
import { MemberTable } from "./member-table.tsx";
import { SettingsFrame } from "./settings-frame.tsx";

export function MembersPage(): ReactNode {
  const answer = useAnswer("GET /api/console/members");
  const mayManage = useMay("members");
  const [isInviting, setInviting] = useState(false);
  return (
    <SettingsFrame
      title="Members"
      lead="All members share the keys, balance and limits of the organization."
      actions={
        <Button disabled={!mayManage} onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      <RoleNote need="members" what="invite and change members" />
      <Answer of={answer} rows={6}>
        {(team) => (
          <>
            <Panel title="Members">
              <Stack gap="md">
                <MemberTable members={team.members} />
                <LeaveOrganization members={team.members} />
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
    </SettingsFrame>
  );
}
