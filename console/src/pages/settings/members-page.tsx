import { Button, Stack, Select, Text } from "@mantine/core";
import { useState } from "react";

import { useAnswer, useChange, useMay, useSession } from "../../api/use-answer.ts";
import { Answer, Fault } from "../../ui/answer.tsx";
import { Note, Panel, RoleNote } from "../../ui/page.tsx";
import { InvitationPanel, InviteDialog } from "./invitation-panel.tsx";
import { SettingsFrame } from "./settings-frame.tsx";
import { ROLES, ROLE_WORDS } from "../../../../src/kernel/core/roles.ts";
import type { Member } from "../../api/contract.ts";
import { ConfirmName } from "../../ui/confirm-name.tsx";
import { timeColumn, column, actionsColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { notices, notifyDone } from "../../ui/notice.ts";
import { MovedNote } from "../../app/moved-note.tsx";
import { CompactButton } from "../../ui/buttons.tsx";

export function MembersPage() {
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

function MemberTable({ members }: { readonly members: readonly Member[] }) {
  const mayManage = useMay("members");
  const [removed, setRemoved] = useState<Member>();
  return (
    <>
      <DataTable
        caption="Members of the organization"
        columns={columnsFor(mayManage, setRemoved)}
        rows={members}
        rowKey={({ account_id: id }) => id}
      />
      <RemoveDialog removed={removed} onClose={() => setRemoved(undefined)} />
    </>
  );
}

function columnsFor(
  mayManage: boolean,
  onRemove: (member: Member) => void,
): readonly Column<Member>[] {
  const remove = actionsColumn<Member>((member) =>
    member.is_you ? null : (
      <CompactButton aria-label={`Remove ${member.email}`} onClick={() => onRemove(member)}>
        Remove
      </CompactButton>
    ),
  );
  return [
    column("who", "Member", (member) => <Who member={member} />),
    column("role", "Role", (member) =>
      mayManage && !member.is_you ? <RoleChoice member={member} /> : ROLE_WORDS[member.role].name,
    ),
    timeColumn("joined", "Joined", ({ joined_at: at }) => at, { precision: "day" }),
    timeColumn("seen", "Last seen", ({ last_seen_at: at }) => at, { otherwise: "Not recently" }),
    ...(mayManage ? [remove] : []),
  ];
}

function Who({ member }: { readonly member: Member }) {
  const { name, email, is_you: isYou } = member;
  return (
    <div style={{ overflowWrap: "anywhere" }}>
      <Text size="sm" fw={500}>
        {name ?? email}
        {isYou ? " (you)" : ""}
      </Text>
      {name === null || name === email ? null : <Note size="xs">{email}</Note>}
    </div>
  );
}

function RoleChoice({ member }: { readonly member: Member }) {
  const { account_id, email, role } = member;
  const change = useChange("PATCH /api/console/members/:account_id", ["GET /api/console/members"]);
  return (
    <Select
      aria-label={`Role of ${email}`}
      size="xs"
      w={130}
      allowDeselect={false}
      data={ROLES.map((each) => ({ value: each, label: ROLE_WORDS[each].name }))}
      value={role}
      disabled={change.isPending}
      onChange={(to) =>
        change.mutate(
          { params: { account_id }, body: { role: to ?? role } },
          notices(({ members }) => nowSentence(members, account_id)),
        )
      }
    />
  );
}

function nowSentence(members: readonly Member[], accountId: string): string {
  const member = members.find(({ account_id: id }) => id === accountId);
  return member === undefined ? "" : `${member.email} is now ${ROLE_WORDS[member.role].one}`;
}

function RemoveDialog(props: {
  readonly removed: Member | undefined;
  readonly onClose: () => void;
}) {
  const { removed, onClose } = props;
  const change = useChange("POST /api/console/members/:account_id/remove", [
    "GET /api/console/members",
  ]);
  return (
    <ConfirmName
      opened={removed !== undefined}
      title="Remove member"
      name={removed?.email ?? ""}
      confirmLabel="Remove"
      onConfirm={async () => {
        if (removed === undefined) return;
        await change.mutateAsync({ params: { account_id: removed.account_id } });
        notifyDone(`${removed.email} was removed`);
        onClose();
      }}
      onClose={onClose}
    >
      Access ends with the next request, and invitations from this member end. Keys that this member
      created or rotated keep working, and webhooks keep receiving: disable what the member may
      still use.
      {removed === undefined ? null : <Staying accountId={removed.account_id} />}
    </ConfirmName>
  );
}

/** Keys and webhooks that the member made, or may have made. They keep working after the removal. */
function Staying({ accountId }: { readonly accountId: string }) {
  const made = useAnswer("GET /api/console/members/:account_id/made", {
    params: { account_id: accountId },
  });
  if (made.isError) return <Fault error={made.error} />;
  if (made.data === undefined) return null;
  const { keys, webhooks, has_more: hasMore } = made.data;
  const names = [
    ...keys.map((each) => ({ ...each, kind: "Key" })),
    ...webhooks.map((each) => ({ ...each, kind: "Webhook" })),
  ];
  if (names.length === 0) return null;
  return (
    <ul aria-label="What stays" style={{ overflowWrap: "anywhere" }}>
      {names.map(({ id, kind, name, is_maker_known: isMakerKnown }) => (
        <li key={id}>
          {kind} {name}
          {isMakerKnown ? "" : " (maker not known any more)"}
        </li>
      ))}
      {hasMore ? <li>More than fit in this list: see the pages of keys and alerts</li> : null}
    </ul>
  );
}

function LeaveOrganization({ members }: { readonly members: readonly Member[] }) {
  const { org } = useSession();
  const [isOpen, setOpen] = useState(false);
  const leave = useChange("POST /api/console/leave");
  const owners = members.filter(({ role }) => role === "owner");
  if (owners.every(({ is_you: isYou }) => isYou)) {
    return (
      <Note>You are the only owner, so you cannot leave. Make another member an owner first.</Note>
    );
  }
  return (
    <>
      <Button variant="subtle" color="red" size="compact-sm" onClick={() => setOpen(true)}>
        Leave organization
      </Button>
      <ConfirmName
        opened={isOpen}
        title="Leave organization"
        name={org?.name ?? ""}
        confirmLabel="Leave"
        onConfirm={async () => {
          await MovedNote.during(() => leave.mutateAsync());
          globalThis.location.assign("/");
        }}
        onClose={() => setOpen(false)}
      >
        You lose access to its keys, balance and usage. To come back you need a new invitation.
      </ConfirmName>
    </>
  );
}
