import { Radio, Stack, Text, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { useQueryClient } from "@tanstack/react-query";

import { ROLES, ROLE_WORDS } from "../../../../src/kernel/core/roles.ts";
import type { RoleName, SentInvitation } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { refreshAnswers } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { DialogForm } from "../keys/form-dialog.tsx";
import { useSubmission } from "../keys/use-submission.ts";
import { InvitationLink } from "./invitation-link.tsx";

export function InviteDialog(props: {
  readonly opened: boolean;
  readonly canEmail: boolean;
  readonly onClose: () => void;
}): ReactNode {
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
      <InvitationLink sent={sent} onClose={close} />
    </>
  );
}

function InviteForm(props: {
  readonly canEmail: boolean;
  readonly onSent: (sent: SentInvitation) => void;
  readonly onCancel: () => void;
}): ReactNode {
  const client = useQueryClient();
  const submission = useSubmission();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<RoleName>("developer");
  const submit = (): void =>
    submission.run(async () => {
      const body = { email: email.trim(), role };
      const sent = await call("POST /api/console/invitations", { body });
      await refreshAnswers(client, ["GET /api/console/members"]);
      props.onSent(sent);
    });
  return (
    <DialogForm
      submission={submission}
      fields={["email"]}
      submitLabel="Invite"
      onSubmit={submit}
      onCancel={props.onCancel}
    >
      <TextInput
        label="Email"
        description="Only the person who signs in with this address can accept."
        type="email"
        {...controlled(email, setEmail)}
        error={fieldError(submission.fault, "email")}
        data-autofocus
      />
      <Radio.Group label="Role" value={role} onChange={setRole}>
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
      <Text size="sm" c="dimmed">
        {props.canEmail
          ? "The link is sent by email, and you can copy it too. It works for 7 days."
          : "Email is not available here: you copy the link and pass it on. It works for 7 days."}
      </Text>
    </DialogForm>
  );
}
