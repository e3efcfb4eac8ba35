import { Button, Group, Radio, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";

import { ROLE_WORDS, ROLES } from "../../../../src/kernel/core/roles.ts";
import type { Invitation, SentInvitation, Team } from "../../api/contract.ts";
import { refreshAnswers, useChange, useMay } from "../../api/use-answer.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { timeColumn, column, actionsColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { notices, notifyFault } from "../../ui/notice.ts";
import { Note, Panel } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { call } from "../../api/client.ts";
import { Dialog } from "../../ui/dialog.tsx";
import {
  DialogForm,
  editDialog,
  useForm,
  useSubmission,
  type EditProps,
} from "../../ui/form-dialog.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { CompactButton } from "../../ui/buttons.tsx";

export function InvitationPanel({ team }: { readonly team: Team }) {
  const mayManage = useMay("members");
  const [sent, setSent] = useState<SentInvitation>();
  const actions = actionsColumn<Invitation>((invitation) => (
    <Actions invitation={invitation} onSent={setSent} />
  ));
  return (
    <Panel title="Open invitations">
      <DataTable
        caption="Open invitations"
        columns={mayManage ? [...COLUMNS, actions] : COLUMNS}
        rows={team.invitations}
        rowKey={({ invitation_id: id }) => id}
        empty="No open invitations."
      />
      <InvitationLink edited={sent} onClose={() => setSent(undefined)} />
    </Panel>
  );
}

const COLUMNS: readonly Column<Invitation>[] = [
  column("email", "Email", ({ email }) => (
    <span style={{ overflowWrap: "anywhere" }}>{email}</span>
  )),
  column("role", "Role", ({ role }) => ROLE_WORDS[role].name),
  column("expires", "Expires", ({ expires_at: at, is_expired: isExpired }) =>
    isExpired ? <StatusBadge tone="warn">Expired</StatusBadge> : <Time at={at} />,
  ),
  timeColumn("mailed", "Sent by email", ({ mailed_at: at }) => at, { otherwise: "No" }),
];

const REFRESHED = ["GET /api/console/members"] as const;

function Actions(props: {
  readonly invitation: Invitation;
  readonly onSent: (sent: SentInvitation) => void;
}) {
  const { email, invitation_id } = props.invitation;
  const client = useQueryClient();
  const renewal = useSubmission();
  const revoke = useChange("POST /api/console/invitations/:invitation_id/revoke", REFRESHED);
  const asked = { params: { invitation_id } };
  const renew = (): void =>
    renewal.run(async () => {
      try {
        // The link is shown first: the server cannot show it again, and the refresh may take long.
        props.onSent(await call("POST /api/console/invitations/:invitation_id/renew", asked));
      } catch (fault) {
        notifyFault(fault);
        throw fault;
      }
      await refreshAnswers(client, REFRESHED);
    });
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      <CompactButton aria-label={`Send again to ${email}`} loading={renewal.isBusy} onClick={renew}>
        Send again
      </CompactButton>
      <CompactButton
        aria-label={`Revoke the invitation of ${email}`}
        loading={revoke.isPending}
        onClick={() => revoke.mutate(asked, notices(`The invitation of ${email} was revoked`))}
      >
        Revoke
      </CompactButton>
    </Group>
  );
}

export function InviteDialog(props: {
  readonly opened: boolean;
  readonly canEmail: boolean;
  readonly onClose: () => void;
}) {
  const [sent, setSent] = useState<SentInvitation>();
  const close = (): void => {
    props.onClose();
    setSent(undefined);
  };
  return (
    <>
      <Dialog
        opened={props.opened && sent === undefined}
        title="Invite to the organization"
        onClose={close}
      >
        <InviteForm canEmail={props.canEmail} onSent={setSent} onCancel={close} />
      </Dialog>
      <InvitationLink edited={sent} onClose={close} />
    </>
  );
}

function InviteForm(props: {
  readonly canEmail: boolean;
  readonly onSent: (sent: SentInvitation) => void;
  readonly onCancel: () => void;
}) {
  const client = useQueryClient();
  const form = useForm<Pick<Invitation, "email" | "role">>({ email: "", role: "developer" });
  const submit = (): void =>
    form.submission.run(async () => {
      const { email, role } = form.typed;
      const body = { email: email.trim(), role };
      const sent = await call("POST /api/console/invitations", { body });
      props.onSent(sent);
      await refreshAnswers(client, REFRESHED);
    });
  return (
    <DialogForm form={form} submitLabel="Invite" onSubmit={submit} onCancel={props.onCancel}>
      <TextInput
        label="Email"
        description="Only the person who signs in with this address can accept."
        type="email"
        {...form.text("email")}
        data-autofocus
      />
      <Radio.Group label="Role" value={form.typed.role} onChange={(role) => form.set({ role })}>
        <Stack gap="xs" mt="xs">
          {ROLES.map((each) => (
            <Radio
              key={each}
              value={each}
              label={ROLE_WORDS[each].name}
              description={ROLE_WORDS[each].meaning}
            />
          ))}
        </Stack>
      </Radio.Group>
      <Note>
        {props.canEmail
          ? "The link is sent by email, and you can copy it too. It works for 7 days."
          : "Email is not available here: you copy the link and pass it on. It works for 7 days."}
      </Note>
    </DialogForm>
  );
}

/** Shows the link of an invitation once; the server cannot show it again. */
const InvitationLink = editDialog(
  ({ invitation }) => `Invitation for ${invitation.email}`,
  SentLink,
);

function SentLink({ edited: { invitation, link, mail }, onClose }: EditProps<SentInvitation>) {
  return (
    <Stack gap="md">
      <Text size="sm">{MAIL_WORDS[mail]}</Text>
      <CodeBlock code={link} label="Invitation link" />
      <Note>The link is shown only now. It opens the organization only to {invitation.email}.</Note>
      <Group justify="flex-end">
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  );
}

const MAIL_WORDS: Readonly<Record<SentInvitation["mail"], string>> = {
  sent: "The invitation was sent by email. You can pass on the link yourself too.",
  off: "Email is not available here. Copy the link and pass it on.",
  bound: "Enough invitations were sent by email today. Copy the link and pass it on.",
  failed: "The mail server did not take the email. Copy the link and pass it on.",
};
