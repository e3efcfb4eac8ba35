import { Button } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useChange } from "../../api/use-answer.ts";
import { useSession } from "../../api/use-session.ts";
import { MovedNote } from "../../app/moved-note.ts";
import { ConfirmName } from "../../ui/confirm-name.tsx";

/** Leaves after the organization's name was typed; the last owner is refused. */
export function LeaveOrganization(): ReactNode {
  const { org } = useSession();
  const [isOpen, setOpen] = useState(false);
  const leave = useChange("POST /api/console/leave");
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
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
