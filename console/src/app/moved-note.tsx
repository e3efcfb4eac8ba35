import { CloseButton } from "@mantine/core";
import { useState } from "react";

import { recallFields, remember } from "../ui/browser-memory.ts";
import { useSession } from "../api/use-answer.ts";
import { Banner } from "../ui/banner.tsx";

const NAME = "tm-moved";
/** A note older than this is ignored: the reload that should have shown it never finished. */
const KEPT_MS = 60_000;

interface Moved {
  /** The name of the organization that this tab showed before. */
  readonly from: string;
  /** False: the account was removed from the former organization. True: another tab switched. */
  readonly isMember: boolean;
}

let isExpected = false;

/**
 * Stores a note that explains why the page now shows another organization. The note is in this
 * tab's storage, because the page is then reloaded to clear everything of the former organization
 * from memory.
 */
export const MovedNote = {
  /** Runs an organization switch that this page itself started. Such a switch needs no note. */
  async during<T>(change: () => Promise<T>): Promise<T> {
    isExpected = true;
    try {
      return await change();
    } catch (fault) {
      isExpected = false;
      throw fault;
    }
  },

  get isExpected(): boolean {
    return isExpected;
  },

  keep(moved: Moved, nowMs: number): void {
    remember("sessionStorage", NAME, { ...moved, atMs: nowMs });
  },

  /** Reads and deletes the note. Undefined if no note of the last minute is stored. */
  take(nowMs: number): Moved | undefined {
    const { from, isMember, atMs } = recallFields("sessionStorage", NAME);
    remember("sessionStorage", NAME, undefined);
    const isFresh = typeof atMs === "number" && Math.abs(nowMs - atMs) <= KEPT_MS;
    if (!isFresh || typeof from !== "string" || typeof isMember !== "boolean") return undefined;
    return { from, isMember };
  },
};

/**
 * The note about a changed organization. It is read once per page load, and stays on every page
 * until the reader hides it.
 */
let moved = MovedNote.take(Date.now());

export function MovedLine() {
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
