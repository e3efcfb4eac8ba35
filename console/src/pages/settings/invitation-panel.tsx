import { Button, Group } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { ROLE_WORDS } from "../../../../src/kernel/core/roles.ts";
import type {
  Invitation,
  SentInvitation,
  Team,
} from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { timeColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { notices, notifyFault } from "../../ui/notice.ts";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { InvitationLink } from "./invitation-link.tsx";

export function InvitationPanel({ team }: { readonly team: Team }): ReactNode {
  const mayManage = useMay("members");
  const [sent, setSent] = useState<SentInvitation>();
  return (
    <Panel title="Open invitations">
      <DataTable
        caption="Open invitations"
        columns={mayManage ? [...COLUMNS, actionsColumn(setSent)] : COLUMNS}
        rows={team.invitations}
        rowKey={({ invitation_id: id }) => id}
        empty="No open invitations."
      />
      <InvitationLink sent={sent} onClose={() => setSent(undefined)} />
    </Panel>
  );
}

const COLUMNS: readonly Column<Invitation>[] = [
  {
    id: "email",
    label: "Email",
    render: ({ email }) => <span style={{ overflowWrap: "anywhere" }}>{email}</span>,
  },
  { id: "role", label: "Role", render: ({ role }) => ROLE_WORDS[role].name },
  {
    id: "expires",
    label: "Expires",
    render: ({ expires_at: at, is_expired: isExpired }) =>
      isExpired ? <StatusBadge tone="warn">Expired</StatusBadge> : <Time at={at} />,
  },
  timeColumn("mailed", "Sent by email", ({ mailed_at: at }) => at, { otherwise: "No" }),
];

function actionsColumn(onSent: (sent: SentInvitation) => void): Column<Invitation> {
  return {
    id: "actions",
    label: "Actions",
    align: "right",
    render: (invitation) => <Actions invitation={invitation} onSent={onSent} />,
  };
}

function Actions(props: {
  readonly invitation: Invitation;
  readonly onSent: (sent: SentInvitation) => void;
}): ReactNode {
  const { email, invitation_id } = props.invitation;
  const refreshes = ["GET /api/console/members"] as const;
  const renew = useChange("POST /api/console/invitations/:invitation_id/renew", { refreshes });
  const revoke = useChange("POST /api/console/invitations/:invitation_id/revoke", { refreshes });
  const asked = { params: { invitation_id } };
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`Send again to ${email}`}
        loading={renew.isPending}
        onClick={() =>
          renew.mutate(asked, {
            onSuccess: (sent) => {
              props.onSent(sent);
              // Clears the cached answer, which contains the link: only the dialog may keep it.
              renew.reset();
            },
            onError: notifyFault,
          })
        }
      >
        Send again
      </Button>
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`Revoke the invitation of ${email}`}
        loading={revoke.isPending}
        onClick={() => revoke.mutate(asked, notices(`The invitation of ${email} was revoked`))}
      >
        Revoke
      </Button>
    </Group>
  );
}
