import { CloseButton } from "@mantine/core";
import { useState, type ReactElement } from "react";

import { useSession } from "../api/use-session.ts";
import { Banner } from "../ui/banner.tsx";
import { MovedNote } from "./moved-note.ts";

/**
 * The note about a changed organization. It is read once per page load, and stays on every page
 * until the reader hides it.
 */
let moved = MovedNote.take(Date.now());

/** Explains above the page why it now shows another organization. */
export function MovedLine(): ReactElement | null {
  const { org, is_undecided: isUndecided } = useSession();
  const [shown, setShown] = useState(moved);
  if (shown === undefined || org === null) return null;
  const now = isUndecided ? "" : ` This page now shows ${org.name}.`;
  return (
    <div role="alert">
      <Banner
        tone="warn"
        action={
          <CloseButton
            size="sm"
            aria-label="Hide this notice"
            onClick={() => {
              moved = undefined;
              setShown(undefined);
            }}
          />
        }
      >
        {shown.isMember
          ? `Another tab of this browser has left ${shown.from}.`
          : `You are no longer a member of ${shown.from}.`}
        {now}
      </Banner>
    </div>
  );
}
