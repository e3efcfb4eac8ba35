import { Button, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";

import type { Member } from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { useSession } from "../../api/use-session.ts";
import { MovedNote } from "../../app/moved-note.ts";
import { ConfirmName } from "../../ui/confirm-name.tsx";

/** Offers to leave the organization. The only owner, who cannot leave, sees a note instead. */
export function LeaveOrganization({ members }: { readonly members: readonly Member[] }): ReactNode {
  const { org } = useSession();
  const [isOpen, setOpen] = useState(false);
  const leave = useChange("POST /api/console/leave");
  const owners = members.filter(({ role }) => role === "owner");
  if (owners.every(({ is_you: isYou }) => isYou)) {
    return (
      <Text size="sm" c="dimmed">
        You are the only owner, so you cannot leave. Make another member an owner first.
      </Text>
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
