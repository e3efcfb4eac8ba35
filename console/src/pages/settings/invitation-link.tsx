import { Button, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { SentInvitation } from "../../../../src/account/console-api/contract.ts";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { useLast } from "../keys/use-last.ts";

/** Shows the link of an invitation once; the server cannot show it again. */
export function InvitationLink(props: {
  readonly sent: SentInvitation | undefined;
  readonly onClose: () => void;
}): ReactNode {
  const shown = useLast(props.sent);
  return (
    <Dialog
      opened={props.sent !== undefined}
      onClose={props.onClose}
      title={`Invitation for ${shown?.invitation.email ?? ""}`}
    >
      {shown === undefined ? null : (
        <Stack gap="md">
          <Text size="sm">{MAIL_WORDS[shown.mail]}</Text>
          <CodeBlock code={shown.link} label="Invitation link" />
          <Text size="sm" c="dimmed">
            The link is shown only now. It opens the organization only to {shown.invitation.email}.
          </Text>
          <Group justify="flex-end">
            <Button onClick={props.onClose}>Done</Button>
          </Group>
        </Stack>
      )}
    </Dialog>
  );
}

const MAIL_WORDS: Readonly<Record<SentInvitation["mail"], string>> = {
  sent: "The invitation was sent by email. You can pass on the link yourself too.",
  off: "Email is not available here. Copy the link and pass it on.",
  bound: "Enough invitations were sent by email today. Copy the link and pass it on.",
  failed: "The mail server did not take the email. Copy the link and pass it on.",
};
