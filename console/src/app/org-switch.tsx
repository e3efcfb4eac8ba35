import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Building2, MailOpen } from "lucide-react";
import { useState } from "react";

import { call } from "../api/client.ts";
import { useSession } from "../api/use-session.ts";
import { notifyFault } from "../ui/notice.ts";
import { MovedNote } from "./moved-note.tsx";
import shell from "./shell.module.css";

export function OrgSwitch({ onLeave }: { readonly onLeave: () => void }) {
  const { others, invitations } = useSession();
  const [isBusy, setBusy] = useState(false);
  if (others.length + invitations.length === 0) return null;
  async function change(org_id: string): Promise<void> {
    setBusy(true);
    try {
      await MovedNote.during(() =>
        call("POST /api/console/organizations/:org_id/switch", { params: { org_id } }),
      );
      globalThis.location.assign("/");
    } catch (fault) {
      setBusy(false);
      notifyFault(fault);
    }
  }
  return (
    <div role="group" aria-label="Change organization">
      {others.map(({ org_id: id, name }) => (
        <button
          key={id}
          type="button"
          className={shell.navLink}
          disabled={isBusy}
          onClick={() => void change(id)}
        >
          <Building2 size={16} aria-hidden />
          <Text size="sm" truncate>
            Go to {name}
          </Text>
        </button>
      ))}
      {invitations.map(({ invitation_id: id, org_name: name }) => (
        <Link key={id} to="/join" className={shell.navLink} onClick={onLeave}>
          <MailOpen size={16} aria-hidden />
          <Text size="sm" truncate>
            Invitation to {name}
          </Text>
        </Link>
      ))}
    </div>
  );
}
