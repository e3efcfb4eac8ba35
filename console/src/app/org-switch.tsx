import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Building2, MailOpen } from "lucide-react";
import { useState } from "react";

import { call } from "../api/client.ts";
import { useSession } from "../api/use-answer.ts";
import { Banner } from "../ui/banner.tsx";
import { CompactButton } from "../ui/buttons.tsx";
import { notifyFault } from "../ui/notice.ts";
import { MovedNote } from "./moved-note.tsx";
import shell from "./shell.module.css";

export function OrgSwitch({ onLeave }: { readonly onLeave: () => void }) {
  const { others, invitations } = useSession();
  const [isBusy, change] = useSwitch(() => globalThis.location.assign("/"));
  if (others.length + invitations.length === 0) return null;
  return (
    <div role="group" aria-label="Change organization">
      {others.map(({ org_id: id, name }) => (
        <button
          key={id}
          type="button"
          className={shell.navLink}
          disabled={isBusy}
          onClick={() => change(id)}
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

/**
 * Shown above a page if the link to it, for example in a mail, is about another organization of
 * this person. Only the person's click switches, because opening a link must change nothing.
 */
export function LinkedLine({ linked }: { readonly linked: string }) {
  const { org, others } = useSession();
  const [isBusy, change] = useSwitch(() => globalThis.location.reload());
  const meant = others.find(({ org_id: id }) => id === linked);
  if (meant === undefined || org === null) return null;
  return (
    <div role="alert">
      <Banner
        tone="warn"
        action={
          <CompactButton loading={isBusy} onClick={() => change(meant.org_id)}>
            Go to {meant.name}
          </CompactButton>
        }
      >
        This link is about {meant.name}. The page shows {org.name}.
      </Banner>
    </div>
  );
}

/** Switches the organization, then loads a page anew: no data of the old one may stay. */
function useSwitch(load: () => void): readonly [isBusy: boolean, change: (orgId: string) => void] {
  const [isBusy, setBusy] = useState(false);
  async function change(org_id: string): Promise<void> {
    setBusy(true);
    try {
      await MovedNote.during(() =>
        call("POST /api/console/organizations/:org_id/switch", { params: { org_id } }),
      );
      load();
    } catch (fault) {
      setBusy(false);
      notifyFault(fault);
    }
  }
  return [isBusy, (orgId) => void change(orgId)];
}
